/**
 * How many calls the operator may make (S5): by the minute, and for one database.
 *
 * @module
 */

const MINUTE = 60_000;
/** Cloud calls and cluster requests that the operator makes in one minute at most, for each resource and besides. */
const CALLS_A_MINUTE = { each: 250, besides: 200 } as const;
/** Mutating calls for one database in one minute at most: a loop that does not help shows here long before. */
const MUTATIONS_A_MINUTE = 40;

/** Counts calls by the minute. */
export class Budget {
  readonly #mutations = new Map<string, number>();
  #minute = -1;
  #count = 0;
  /** The most resources that were there in this minute: a cluster that is restored may have fewer at once. */
  #most = 1;
  #exceeded: string | undefined;

  /** Counts a call; `resources` says how many there are. */
  count(time: number, resources: () => number): void {
    this.#turn(time);
    if (++this.#count % 100 !== 0) return;
    this.#most = Math.max(this.#most, resources());
    const limit = CALLS_A_MINUTE.each * this.#most + CALLS_A_MINUTE.besides;
    if (this.#count > limit) {
      this.#exceeded ??= `${this.#count} calls in one minute for ${this.#most} resources`;
    }
  }

  /** Counts a mutating call for `target`. */
  mutation(time: number, verb: string, target: string): void {
    this.#turn(time);
    const n = (this.#mutations.get(target) ?? 0) + 1;
    this.#mutations.set(target, n);
    if (n > MUTATIONS_A_MINUTE) {
      this.#exceeded ??= `${n} mutating calls, the last a ${verb}, in one minute for ${target}`;
    }
  }

  /** What was spent too much, if anything. */
  get exceeded(): string | undefined {
    return this.#exceeded;
  }

  #turn(time: number): void {
    const minute = Math.floor(time / MINUTE);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#count = 0;
    this.#most = 1;
    this.#mutations.clear();
  }
}
