/**
 * What the cloud remembers of itself for tests: each call, and each change that really happened. Oracles read it.
 *
 * @module
 */
import type { Verb } from "./types.ts";

/** One call. `at` and `effectAt` are monotonic milliseconds of the cloud's clock. */
export interface CallEntry {
  readonly seq: number;
  readonly at: number;
  readonly verb: Verb;
  /** Who called, where the caller says so. */
  readonly caller: string | undefined;
  /** The id asked for, or of the database that a create made or found. */
  id: string | undefined;
  /** The UID tag in a create, else that of the database. */
  uid: string | undefined;
  readonly clientToken: string | undefined;
  /** Tags in a create or modify, and the filter of a list. */
  readonly tags: Readonly<Record<string, string | null>> | undefined;
  /** What the caller got: `ok`, the cloud's error code, `lost`, `aborted` (it went first), or `pending`. */
  outcome: string;
  /** What became of the call in the cloud: `none` (read, or failed before), `pending`, `done`, `replayed` (by token), `refused`. */
  effect: "none" | "pending" | "done" | "replayed" | "refused";
  effectAt: number | undefined;
  /** When the caller had its answer. */
  answeredAt: number | undefined;
}

/** One change that happened. */
export interface Effect {
  readonly seq: number;
  /** Monotonic milliseconds of the cloud's clock. */
  readonly at: number;
  /** `gone` is the end of a deletion; `change` is what the cloud did by itself or a person at its console. */
  readonly kind: "create" | "modify" | "delete" | "gone" | "change";
  /** Who did it: a caller of the API, the cloud itself, or a person at its console. */
  readonly by: "api" | "cloud" | "console";
  readonly id: string;
  readonly uid: string | undefined;
  readonly account: string;
  readonly caller: string | undefined;
  readonly clientToken: string | undefined;
  /** Tags after the change. */
  readonly tags: Readonly<Record<string, string>>;
  /** Fields that changed, for people. */
  readonly detail: string;
}

/** Bounded records of calls and effects. */
export class Ledger {
  readonly #calls: CallEntry[] = [];
  readonly #effects: Effect[] = [];
  readonly #open = new Map<number, CallEntry>();
  #seq = 0;
  #dropped = 0;

  /** `bound` is the number of entries kept of each kind. */
  constructor(private readonly bound = 200_000) {}

  /** Entries that were dropped for the bound; an oracle must find 0. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Records that a call was sent. */
  open(entry: Omit<CallEntry, "seq" | "outcome" | "effectAt" | "answeredAt">): CallEntry {
    const record: CallEntry = {
      ...entry,
      seq: ++this.#seq,
      outcome: "pending",
      effectAt: undefined,
      answeredAt: undefined,
    };
    this.#push(this.#calls, record);
    if (record.effect === "pending") this.#open.set(record.seq, record);
    return record;
  }

  /** The entry of a call whose effect is still to come; forgets it. */
  take(seq: number): CallEntry | undefined {
    const entry = this.#open.get(seq);
    this.#open.delete(seq);
    return entry;
  }

  /** Records a change. */
  effect(effect: Omit<Effect, "seq">): void {
    this.#push(this.#effects, { ...effect, seq: ++this.#seq });
  }

  #push<T>(list: T[], item: T): void {
    list.push(item);
    if (list.length > this.bound * 1.1) {
      this.#dropped += list.length - this.bound;
      list.splice(0, list.length - this.bound);
    }
  }

  /** Calls in order, those sent after `since` (a sequence number). */
  calls(filter: { readonly verb?: Verb; readonly uid?: string; readonly since?: number } = {}): CallEntry[] {
    return this.#calls.filter((c) =>
      (filter.verb === undefined || c.verb === filter.verb) &&
      (filter.uid === undefined || c.uid === filter.uid) && c.seq > (filter.since ?? 0)
    );
  }

  /** Calls that asked for a change (S5 and R1 count them). */
  mutatingCalls(since = 0): CallEntry[] {
    return this.#calls.filter((c) =>
      c.seq > since && (c.verb === "create" || c.verb === "modify" || c.verb === "delete")
    );
  }

  /** Changes in order, those after `since`. */
  effects(
    filter: {
      readonly kind?: Effect["kind"];
      readonly uid?: string;
      readonly by?: Effect["by"];
      readonly since?: number;
    } = {},
  ): Effect[] {
    return this.#effects.filter((e) =>
      (filter.kind === undefined || e.kind === filter.kind) &&
      (filter.uid === undefined || e.uid === filter.uid) &&
      (filter.by === undefined || e.by === filter.by) && e.seq > (filter.since ?? 0)
    );
  }

  /** The databases that the API made, for one UID or all. */
  createEffects(uid?: string): Effect[] {
    return this.effects({ kind: "create", by: "api", ...(uid === undefined ? {} : { uid }) });
  }

  /** Sequence number of the last entry: a mark to ask `since`. */
  mark(): number {
    return this.#seq;
  }

  /** Forgets everything that is not in flight. */
  clear(): void {
    this.#calls.length = 0;
    this.#effects.length = 0;
    this.#dropped = 0;
  }
}
