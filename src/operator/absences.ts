/**
 * Counts databases that turn absent together (rule 12): many at once mean a wrong account, a wrong region or an
 * outage far more often than that many deletions.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { isObserveOnly } from "../statechart/facts.ts";

/** More absences within one period than the larger of these two are a mass absence. */
const MASS_COUNT = 3;
const MASS_FRACTION = 0.05;

/** Keeps who is absent, and who is held back because many are. */
export class AbsenceLedger {
  /** When each absent one was first missed, monotonic milliseconds, and whether a read by id said so. */
  readonly #absent = new Map<string, { readonly since: number; readonly byId: boolean }>();
  readonly #held = new Set<string>();

  constructor(
    private readonly options: {
      readonly clock: Clock;
      /** The period within which absences count as "together", in milliseconds. */
      readonly periodMs: number;
      /** How many databases the account is known to hold. */
      readonly known: () => number;
      /** Told when a mass absence begins or ends, with the number held back. */
      readonly onChange: (active: boolean, held: number) => void;
    },
  ) {}

  #overAt = Number.NEGATIVE_INFINITY;

  /** When the last mass absence ended, monotonic milliseconds; −Infinity when there was none. */
  get overAt(): number {
    return this.#overAt;
  }

  /** A mass absence goes on. */
  get active(): boolean {
    return this.#held.size > 0;
  }

  /** How many are held back. */
  get held(): number {
    return this.#held.size;
  }

  /** Whether this UID is held back. */
  isHeld(uid: string): boolean {
    return this.#held.has(uid);
  }

  /** A database that ought to be there was not, as a read by id says. */
  absent(uid: string): void {
    const since = this.#absent.get(uid)?.since ?? this.options.clock.monotonic();
    this.#absent.set(uid, { since, byId: true });
    this.#count();
  }

  /** Databases that ought to be there were not on a list; counted together. */
  absentAll(uids: readonly string[]): void {
    if (uids.length === 0) return;
    const since = this.options.clock.monotonic();
    for (const uid of uids) if (!this.#absent.has(uid)) this.#absent.set(uid, { since, byId: false });
    this.#count();
  }

  /**
   * A database is there. Where a list alone had missed it, it never was absent (rule 10: lists lag), and those that are
   * left may be few enough to be no mass absence at all; after a read by id had missed it, all must come back.
   */
  present(uid: string): void {
    const missed = this.#absent.get(uid);
    this.settled(uid);
    if (!this.active || missed === undefined || missed.byId || this.#absent.size > this.#limit()) return;
    this.#held.clear();
    this.#over();
  }

  /** An absence was confirmed by a person, or the CR is gone. */
  settled(uid: string): void {
    this.#absent.delete(uid);
    if (this.#held.delete(uid) && this.#held.size === 0) this.#over();
  }

  #over(): void {
    this.#overAt = this.options.clock.monotonic();
    this.options.onChange(false, 0);
  }

  #limit(): number {
    return Math.max(MASS_COUNT, this.options.known() * MASS_FRACTION);
  }

  #count(): void {
    const { clock, periodMs, onChange } = this.options;
    const from = clock.monotonic() - periodMs;
    let together = 0;
    for (const { since } of this.#absent.values()) if (since >= from) together++;
    if (!this.active && together <= this.#limit()) return;
    const before = this.#held.size;
    // What was missed long before is not of these: it need not come back for the mass absence to end.
    for (const [uid, { since }] of this.#absent) if (since >= from) this.#held.add(uid);
    if (before === 0) onChange(true, this.#held.size);
  }
}

/** Whether a database of this CR ought to show in a complete list; one that is only observed bears none of the tags. */
export function isExpected(object: ExternalDatabase): boolean {
  const { metadata, status } = object;
  return !isObserveOnly(object) && status?.observeOnly !== true && status?.providerId !== undefined &&
    status.endpoint !== undefined &&
    metadata.deletionTimestamp === undefined;
}
