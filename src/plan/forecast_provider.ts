/**
 * A provider as it would be: reads are the real one's, with what the plan has foreseen laid over them; a change is
 * written down and foreseen, and never sent.
 *
 * @module
 */
import { OPERATOR_NAME, TAG } from "../api/constants.ts";
import {
  type CallOptions,
  type CreateRequest,
  type Database,
  type DatabasePage,
  type DatabaseProvider,
  type ListOptions,
  type ModifyRequest,
  ProviderError,
  type ProviderInfo,
} from "../providers/port.ts";
import { readOnlyProvider } from "./read_only.ts";
import type { FieldChange, PlannedAction } from "./types.ts";

/** Beginning of the ids of databases that are yet to be made; no cloud's id has a space. */
const FORESEEN = "to be made ";

/** The id as a plan tells it: `null` for a database that is yet to be made. */
export function toldId(id: string): string | null {
  return id.startsWith(FORESEEN) ? null : id;
}

/** Pages of the list of all databases that are read ahead: beyond them each is read by itself. */
const MAX_PAGES = 1_000;

/** One account, as it would be. */
export class ForecastProvider implements DatabaseProvider {
  readonly name: string;
  readonly #real: DatabaseProvider;
  readonly #tell: (action: PlannedAction) => void;
  /** What the real provider said, by id; `undefined` is absent. */
  readonly #said = new Map<string, Promise<Database>>();
  readonly #changed = new Map<string, Database>();
  readonly #removed = new Set<string>();
  #made = 0;

  constructor(real: DatabaseProvider, tell: (action: PlannedAction) => void) {
    this.#real = readOnlyProvider(real);
    this.name = real.name;
    this.#tell = tell;
  }

  /** Reads all databases of a cluster at once, as the operator's own list does, so that not each need be read alone. */
  async readAhead(clusterId: string, options: CallOptions): Promise<void> {
    const tags = { [TAG.cluster]: clusterId, [TAG.managedBy]: OPERATOR_NAME };
    let pageToken: string | undefined;
    for (let n = 0; n < MAX_PAGES; n++) {
      const page = await this.#real.list({
        ...options,
        tags,
        ...(pageToken === undefined ? {} : { pageToken }),
      });
      for (const database of page.items) this.#said.set(database.id, Promise.resolve(database));
      pageToken = page.nextPageToken;
      if (pageToken === undefined) return;
    }
  }

  info(options: CallOptions): Promise<ProviderInfo> {
    return this.#real.info(options);
  }

  async get(id: string, options: CallOptions): Promise<Database> {
    if (this.#removed.has(id)) throw new ProviderError("absent", `Reading the database: "${id}" is gone`);
    const changed = this.#changed.get(id);
    if (changed !== undefined) return changed;
    let said = this.#said.get(id);
    if (said === undefined) {
      said = this.#real.get(id, options);
      this.#said.set(id, said);
      said.catch(() => {}); // told to whoever awaits it
    }
    return await said;
  }

  async list(options: ListOptions): Promise<DatabasePage> {
    const page = await this.#real.list(options);
    const items = page.items.filter((d) => !this.#removed.has(d.id)).map((d) => this.#changed.get(d.id) ?? d);
    const listed = new Set(items.map((d) => d.id));
    const matches = (d: Database) =>
      Object.entries(options.tags).every(([key, value]) => d.tags[key] === value);
    const foreseen = page.nextPageToken === undefined
      ? [...this.#changed.values()].filter((d) => !listed.has(d.id) && matches(d))
      : [];
    return { ...page, items: [...items.filter(matches), ...foreseen] };
  }

  create(request: CreateRequest, options: CallOptions): Promise<Database> {
    options.beforeSend?.();
    const { name, engine, version, sizeGb, tags } = request;
    const database: Database = {
      id: `${FORESEEN}${++this.#made}`,
      name,
      engine,
      version,
      sizeGb,
      state: "Provisioning",
      providerState: "Provisioning",
      tags,
      createdAt: "1970-01-01T00:00:00Z",
    };
    this.#changed.set(database.id, database);
    this.#tell({ action: "create", id: null, engine, version, sizeGb, why: "" });
    return Promise.resolve(database);
  }

  async modify(id: string, request: ModifyRequest, options: CallOptions): Promise<Database> {
    const before = await this.get(id, options);
    options.beforeSend?.();
    const { version, sizeGb, deletionProtection, password } = request;
    const changes = changesOf(before, request);
    const tags: Record<string, string> = { ...before.tags };
    for (const [key, value] of Object.entries(request.tags ?? {})) {
      if (value === null) delete tags[key];
      else tags[key] = value;
    }
    const under = version !== undefined || sizeGb !== undefined;
    const after: Database = {
      ...before,
      tags,
      ...(deletionProtection === undefined ? {} : { deletionProtection }),
      ...(under
        ? {
          state: "Modifying",
          providerState: "Modifying",
          pending: {
            ...(version === undefined ? {} : { version }),
            ...(sizeGb === undefined ? {} : { sizeGb }),
          },
        }
        : {}),
    };
    this.#changed.set(id, after);
    const told = toldId(id);
    if (request.tags?.[TAG.uid] !== undefined) this.#tell({ action: "adopt", id: told, why: "" });
    if (request.tags?.[TAG.retained]) this.#tell({ action: "retain", id: told, why: "" });
    if (changes.length > 0) this.#tell({ action: "modify", id: told, changes, why: "" });
    if (password !== undefined) this.#tell({ action: "password", id: told, why: "" });
    return after;
  }

  async delete(
    id: string,
    options: CallOptions & { readonly finalSnapshot?: string | undefined },
  ): Promise<void> {
    await this.get(id, options);
    options.beforeSend?.();
    this.#removed.add(id);
    this.#changed.delete(id);
    this.#tell({ action: "delete", id: toldId(id), finalSnapshot: options.finalSnapshot ?? null, why: "" });
  }
}

function changesOf(before: Database, request: ModifyRequest): FieldChange[] {
  const changes: FieldChange[] = [];
  if (request.sizeGb !== undefined) {
    changes.push({ field: "sizeGb", from: before.sizeGb, to: request.sizeGb });
  }
  if (request.version !== undefined) {
    changes.push({ field: "version", from: before.version, to: request.version });
  }
  const { deletionProtection: to } = request;
  if (to !== undefined) {
    changes.push({ field: "deletionProtection", from: before.deletionProtection ?? null, to });
  }
  return changes;
}
