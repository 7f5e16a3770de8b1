/**
 * The calls to one account in the last minute, by verb and by error class.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { MinuteCount, slotOf } from "./minute.ts";

/** Counts calls; there are a handful of verbs and of error classes. */
export class CallTally {
  readonly #clock: Clock;
  readonly #verbs = new Map<string, MinuteCount>();
  readonly #failures = new Map<string, MinuteCount>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a call that ended. */
  count(verb: string, outcome: string): void {
    const slot = slotOf(this.#clock);
    counter(this.#verbs, verb).count(slot);
    if (outcome !== "ok" && outcome !== "absent") counter(this.#failures, outcome).count(slot);
  }

  /** Calls in the last minute by verb. */
  calls(): Record<string, number> {
    return this.#sums(this.#verbs);
  }

  /** Calls in the last minute that failed, by error class; an absence is an answer. */
  failures(): Record<string, number> {
    return this.#sums(this.#failures);
  }

  #sums(counters: ReadonlyMap<string, MinuteCount>): Record<string, number> {
    const slot = slotOf(this.#clock);
    const sums: Record<string, number> = {};
    for (const [name, count] of counters) {
      const sum = count.lastMinute(slot);
      if (sum > 0) sums[name] = sum;
    }
    return sums;
  }
}

function counter(counters: Map<string, MinuteCount>, name: string): MinuteCount {
  let count = counters.get(name);
  if (count === undefined) counters.set(name, count = new MinuteCount());
  return count;
}
