/**
 * A share of the event loop: what is made for those who look on is made one after the other, and after each the loop is
 * others' for as long as that took. So however many ask, they take half of it at most.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { sleep } from "../core/wait.ts";

/** Half of the event loop. */
export class Share {
  readonly #clock: Clock;
  #free: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does `work` when its turn comes; resolves and rejects as it does. Its turn lasts until it is done. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    let took = 0;
    const turn = this.#free.then(async () => {
      const begun = this.#clock.monotonic();
      try {
        return await work();
      } finally {
        took = this.#clock.monotonic() - begun;
      }
    });
    const rest = () => took < 1 ? undefined : sleep(this.#clock, took);
    this.#free = turn.then(rest, rest);
    return turn;
  }
}
