/**
 * The fleet as it was last told: the JSON of each row, what the rows count up to, and which of them may be another now.
 *
 * Only what changed is made anew, once for all who read it.
 *
 * @module
 */
import { safeJson } from "../../core/text.ts";
import { type FleetRow, saysMost } from "../fleet.ts";
import type { FleetSummary } from "./types.ts";
import type { FleetView } from "./view.ts";

/** What was told of one row. */
interface Told {
  readonly json: string;
  readonly state: string;
  readonly reason: string;
  readonly className: string;
  readonly attention: boolean;
}

/** Rows that are new or another, as JSON, and the UIDs of those that went. */
export interface Changes {
  readonly changed: readonly string[];
  readonly gone: readonly string[];
  /** UIDs that were looked at, also where the row is as it was. */
  readonly touched: ReadonlySet<string>;
}

/** Rows and counts. */
export class FleetBook {
  readonly #view: FleetView;
  readonly #told = new Map<string, Told>();
  readonly #states = new Counter();
  readonly #reasons = new Counter();
  readonly #classes = new Counter();
  readonly #attention = new Counter();
  #dirty = new Set<string>();
  readonly #end: () => void;

  /** Begins with the whole fleet; `onDirty` is told at the first change after each {@linkcode take}. */
  constructor(view: FleetView, onDirty: () => void) {
    this.#view = view;
    for (const row of view.rows()) this.#tell(row);
    const mark = (uid: string) => {
      this.#dirty.add(uid);
      if (this.#dirty.size === 1) onDirty();
    };
    this.#end = view.listen({ changed: mark, gone: mark });
  }

  /** Something may be another than it was told. */
  get dirty(): boolean {
    return this.#dirty.size > 0;
  }

  /** Resources. */
  get size(): number {
    return this.#told.size;
  }

  /** Looks at up to `limit` of the rows that may be another. */
  take(limit: number): Changes {
    const changed: string[] = [];
    const gone: string[] = [];
    let touched = this.#dirty;
    if (touched.size > limit) {
      touched = new Set();
      for (const uid of this.#dirty) {
        if (touched.size >= limit) break;
        touched.add(uid);
        this.#dirty.delete(uid);
      }
    } else this.#dirty = new Set();
    for (const uid of touched) {
      const row = this.#view.row(uid);
      if (row === undefined) {
        if (this.#forget(uid)) gone.push(uid);
      } else {
        const json = this.#tell(row);
        if (json !== undefined) changed.push(json);
      }
    }
    return { changed, gone, touched };
  }

  /** The JSON of every row as it is now, in pieces; what was not told yet is told later again. */
  *rows(): Iterable<string> {
    for (const [uid, { json }] of this.#told) {
      if (!this.#dirty.has(uid)) yield json;
    }
    for (const uid of this.#dirty) {
      const row = this.#view.row(uid);
      if (row !== undefined) yield safeJson(row);
    }
  }

  /** The fleet as a whole; `at` is wall time, RFC 3339. */
  summary(at: string): FleetSummary {
    const { phase, orphans, accounts, configurations, flow } = this.#view.whole();
    return {
      at,
      phase,
      total: this.#told.size,
      states: this.#states.counts(),
      reasons: this.#reasons.counts(),
      classes: this.#classes.counts(),
      attention: this.#attention.counts(),
      orphans,
      accounts,
      configurations,
      flow,
    };
  }

  /** Listens no more. */
  close(): void {
    this.#end();
  }

  /** Notes a row; its JSON where it is another than before. */
  #tell(row: FleetRow): string | undefined {
    const json = safeJson(row);
    if (this.#told.get(row.uid)?.json === json) return undefined;
    this.#forget(row.uid);
    const told: Told = {
      json,
      state: row.state,
      reason: saysMost(row),
      className: row.className ?? "",
      attention: row.attention ?? false,
    };
    this.#told.set(row.uid, told);
    this.#count(told, 1);
    return json;
  }

  #forget(uid: string): boolean {
    const told = this.#told.get(uid);
    if (told === undefined) return false;
    this.#told.delete(uid);
    this.#count(told, -1);
    return true;
  }

  #count({ state, reason, className, attention }: Told, by: 1 | -1): void {
    this.#states.add(state, by);
    this.#reasons.add(reason, by);
    this.#classes.add(className, by);
    if (attention) this.#attention.add(reason, by);
  }
}

class Counter {
  readonly #counts = new Map<string, number>();

  add(key: string, by: number): void {
    const next = (this.#counts.get(key) ?? 0) + by;
    if (next === 0) this.#counts.delete(key);
    else this.#counts.set(key, next);
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
