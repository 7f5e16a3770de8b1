/**
 * What a soak counts.
 *
 * @module
 */

/** Counts by name. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string, n = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + n);
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  get total(): number {
    return [...this.#counts.values()].reduce((a, b) => a + b, 0);
  }

  toString(): string {
    if (this.#counts.size === 0) return "none";
    return [...this.#counts].sort(([a], [b]) => a < b ? -1 : 1).map(([name, n]) => `${name} ${n}`).join(", ");
  }
}

/** The figures of a run. */
export interface Figures {
  /** Faults by kind. */
  readonly faults: Tally;
  /** Kills of the operator, and those that hit a mutating call in flight. */
  readonly hits: { kills: number; withCalls: number; callsInFlight: number };
  /** What users did, by kind, and how the API server answered. */
  readonly deeds: Tally;
  readonly answers: Tally;
  /** Calls that the cloud got, by verb and outcome; those that were not looked at before a kill of the cloud are missing. */
  readonly calls: Tally;
  readonly effects: Tally;
}

/** Figures that are all zero. */
export function noFigures(): Figures {
  return {
    faults: new Tally(),
    hits: { kills: 0, withCalls: 0, callsInFlight: 0 },
    deeds: new Tally(),
    answers: new Tally(),
    calls: new Tally(),
    effects: new Tally(),
  };
}
