/**
 * Counts databases that turn absent together (rule 12): many at once mean a wrong account, a wrong region or an
 * outage far more often than that many deletions.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";

/** More absences within one period than the larger of these two are a mass absence. */
const MASS_COUNT = 3;
const MASS_FRACTION = 0.05;

/** Keeps who is absent, and who is held back because many are. */
export class AbsenceLedger {
  /** When each absent one was first missed, monotonic milliseconds. */
  readonly #absentSince = new Map<string, number>();
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

  /** A mass absence goes on. */
  get active(): boolean {
    return this.#held.size > 0;
  }

  /** Whether this UID is held back. */
  isHeld(uid: string): boolean {
    return this.#held.has(uid);
  }

  /** A database that ought to be there was not. */
  absent(uid: string): void {
    this.absentAll([uid]);
  }

  /** Databases that ought to be there were not; counted together. */
  absentAll(uids: readonly string[]): void {
    if (uids.length === 0) return;
    const now = this.options.clock.monotonic();
    for (const uid of uids) if (!this.#absentSince.has(uid)) this.#absentSince.set(uid, now);
    this.#count();
  }

  /** A database is there, its absence was confirmed by a person, or its CR is gone or going. */
  settled(uid: string): void {
    this.#absentSince.delete(uid);
    if (this.#held.delete(uid) && this.#held.size === 0) this.options.onChange(false, 0);
  }

  #count(): void {
    const { clock, periodMs, known, onChange } = this.options;
    const since = clock.monotonic() - periodMs;
    let together = 0;
    for (const at of this.#absentSince.values()) if (at >= since) together++;
    const limit = Math.max(MASS_COUNT, known() * MASS_FRACTION);
    if (!this.active && together <= limit) return;
    const before = this.#held.size;
    for (const uid of this.#absentSince.keys()) this.#held.add(uid);
    if (before === 0) onChange(true, this.#held.size);
  }
}
