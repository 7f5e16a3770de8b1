/**
 * The cloud's databases with an index by tag, and how they are shown and listed.
 *
 * @module
 */
import type { CloudSettings } from "./settings.ts";
import type { CloudRecord, DatabaseView, PageView } from "./types.ts";
import { RefusalError } from "./types.ts";

/** Most items of a page. */
export const MAX_PAGE = 100;

/** Databases by id, in creation order, with an index by `key=value`. */
export class Store {
  readonly #records = new Map<string, CloudRecord>();
  readonly #byTag = new Map<string, Set<CloudRecord>>();

  /** All databases, in creation order. */
  all(): IterableIterator<CloudRecord> {
    return this.#records.values();
  }

  get(id: string): CloudRecord | undefined {
    return this.#records.get(id);
  }

  /** Puts a new database in. */
  add(record: CloudRecord): void {
    this.#records.set(record.id, record);
    for (const [key, value] of Object.entries(record.tags)) this.#index(key, value).add(record);
  }

  /** Takes a database out. */
  remove(record: CloudRecord): void {
    this.#records.delete(record.id);
    this.#unindex(record);
  }

  /** Replaces a database's tags. */
  setTags(record: CloudRecord, tags: Record<string, string>): void {
    this.#unindex(record);
    record.tags = tags;
    for (const [key, value] of Object.entries(tags)) this.#index(key, value).add(record);
  }

  /** Databases that carry all of `tags`, in creation order. */
  find(tags: readonly (readonly [string, string])[]): CloudRecord[] {
    if (tags.length === 0) return [...this.#records.values()];
    let smallest: Set<CloudRecord> | undefined;
    for (const [key, value] of tags) {
      const set = this.#byTag.get(`${key}=${value}`);
      if (set === undefined) return [];
      if (smallest === undefined || set.size < smallest.size) smallest = set;
    }
    return [...smallest!]
      .filter((r) => tags.every(([key, value]) => r.tags[key] === value))
      .sort((a, b) => a.seq - b.seq);
  }

  #index(key: string, value: string): Set<CloudRecord> {
    const word = `${key}=${value}`;
    let set = this.#byTag.get(word);
    if (set === undefined) this.#byTag.set(word, set = new Set());
    return set;
  }

  #unindex(record: CloudRecord): void {
    for (const [key, value] of Object.entries(record.tags)) {
      const word = `${key}=${value}`;
      const set = this.#byTag.get(word);
      set?.delete(record);
      if (set?.size === 0) this.#byTag.delete(word);
    }
  }
}

/** The databases of `account` that a list sent at `now` shows. Throws a {@linkcode RefusalError} for a bad token or limit. */
export function listPage(
  store: Store,
  settings: CloudSettings,
  options: {
    readonly account: string;
    readonly tags: readonly (readonly [string, string])[];
    readonly limit: number | undefined;
    readonly pageToken: string | undefined;
    readonly now: number;
  },
): PageView {
  const limit = options.limit ?? MAX_PAGE;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
    throw invalid(`limit must be a whole number from 1 to ${MAX_PAGE}, not ${limit}`);
  }
  const token = options.pageToken;
  if (token !== undefined && !/^\d{1,15}$/.test(token)) throw invalid("pageToken is not one of ours");
  const start = Number(token ?? 0);
  const items: CloudRecord[] = [];
  let passed = 0;
  let more = false;
  for (const record of store.find(options.tags)) {
    if (record.account !== options.account || record.listedFrom > options.now) continue;
    // A cursor names the last database shown; an offset only counts, so that pages shift.
    if (settings.shiftingPages ? passed++ < start : record.seq <= start) continue;
    if (items.length === limit) {
      more = true;
      break;
    }
    items.push(record);
  }
  const next = settings.shiftingPages ? start + items.length : items.at(-1)?.seq;
  return { items: items.map((r) => view(r, settings)), ...(more ? { nextPageToken: String(next) } : {}) };
}

/** A database as the API shows it. */
export function view(record: CloudRecord, settings: CloudSettings): DatabaseView {
  return {
    id: record.id,
    name: record.name,
    engine: record.engine,
    version: record.version,
    sizeGb: record.sizeGb,
    ...(record.usedGb === undefined ? {} : { usedGb: record.usedGb }),
    state: record.word ?? record.state,
    ...(record.endpoint === undefined ? {} : { endpoint: record.endpoint }),
    tags: { ...record.tags },
    createdAt: new Date(record.createdAt).toISOString(),
    updatedAt: new Date(record.updatedAt).toISOString(),
    ...(settings.showPending && record.pending !== undefined ? { pending: { ...record.pending } } : {}),
    ...(settings.protectable ? { deletionProtection: record.protected } : {}),
  };
}

/** 400 `InvalidParameter`. */
export function invalid(message: string): RefusalError {
  return new RefusalError({ status: 400, code: "InvalidParameter", message });
}

/** A 409. */
export function conflict(code: string, message: string): RefusalError {
  return new RefusalError({ status: 409, code, message });
}

/** 404 `NotFound`. */
export function notFound(id: string): RefusalError {
  return new RefusalError({ status: 404, code: "NotFound", message: `Database ${id} does not exist` });
}
