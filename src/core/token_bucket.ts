/**
 * A limit of so many a second, of which some may come at once.
 *
 * @module
 */

/** The limit; it may change while it holds. */
export interface Rate {
  /** How many a second; 0 or less means no limit. */
  readonly ratePerSecond: number;
  /** How many at once after a time without any. */
  readonly burst: number;
}

/** A token bucket. */
export class TokenBucket {
  #tokens: number;
  #at: number;

  /** `monotonic`: milliseconds that never run backwards. */
  constructor(private readonly rate: Rate, private readonly monotonic: () => number) {
    this.#tokens = rate.burst;
    this.#at = monotonic();
  }

  /** Takes one: `undefined` when it may pass, else the whole seconds after which one may. */
  take(): number | undefined {
    const { ratePerSecond: rate, burst } = this.rate;
    if (rate <= 0) return undefined;
    const now = this.monotonic();
    this.#tokens = Math.min(Math.max(1, burst), this.#tokens + (now - this.#at) / 1000 * rate);
    this.#at = now;
    if (this.#tokens < 1) return Math.max(1, Math.ceil((1 - this.#tokens) / rate));
    this.#tokens--;
    return undefined;
  }
}
