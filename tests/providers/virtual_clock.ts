/**
 * A clock that a test turns by hand.
 *
 * @module
 */
import type { Clock, TimerId } from "../../src/core/clock.ts";

/** Wall time begins at 2026-01-01, monotonic time at 1,000 ms, so that nothing passes by mixing them up. */
export class VirtualClock implements Clock {
  #now = 1_000;
  #next = 1;
  readonly #timers = new Map<number, { at: number; fn: () => void }>();

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): TimerId {
    const id = this.#next++;
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), fn });
    return id;
  }

  clearTimeout(id: TimerId): void {
    this.#timers.delete(id as number);
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Turns the clock by `ms`, timer by timer, and lets promises settle between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter(([, t]) =>
        t.at <= end
      ).sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.#now = Math.max(this.#now, due[1].at);
      due[1].fn();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  /** Turns the clock until `promise` settles; throws when it has not after `limitMs`. */
  async until<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let done = false;
    const mark = () => {
      done = true;
    };
    promise.then(mark, mark);
    const end = this.#now + limitMs;
    await settle();
    while (!done && this.#now < end) {
      const next = Math.min(...[...this.#timers.values()].map((t) => t.at), end);
      await this.advance(Math.max(0, next - this.#now));
    }
    if (!done) throw new Error(`Waiting for a promise: not settled after ${limitMs} ms of virtual time`);
    return await promise;
  }
}

/** Lets what is ready in the microtask queue run, including web streams. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
