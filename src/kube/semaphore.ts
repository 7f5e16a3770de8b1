/**
 * Bounds how many requests are in flight: HTTP/1 has no cap of its own, and an API server's priority levels do.
 *
 * @module
 */

/** First come, first served. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs `work` in a slot. Rejects with the signal's reason when it aborts before there is one. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#acquire(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.values().next();
      if (next.done) this.#free++;
      else {
        this.#waiting.delete(next.value);
        next.value();
      }
    }
  }

  #acquire(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.#free > 0) {
        this.#free--;
        return resolve();
      }
      const onAbort = () => {
        this.#waiting.delete(take);
        reject(signal.reason);
      };
      const take = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#waiting.add(take);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
