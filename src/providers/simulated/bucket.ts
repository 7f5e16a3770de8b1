/**
 * The cloud's rate limit.
 *
 * @module
 */
import type { CloudSettings } from "./settings.ts";

/** A token bucket. */
export class Bucket {
  #tokens: number;
  #at: number;

  constructor(private readonly settings: CloudSettings, private readonly monotonic: () => number) {
    this.#tokens = settings.burst;
    this.#at = monotonic();
  }

  /** Takes one call: `undefined` when it may pass, else the whole seconds after which one may. */
  take(): number | undefined {
    const { ratePerSecond: rate, burst } = this.settings;
    if (rate <= 0) return undefined;
    const now = this.monotonic();
    this.#tokens = Math.min(Math.max(1, burst), this.#tokens + (now - this.#at) / 1000 * rate);
    this.#at = now;
    if (this.#tokens < 1) return Math.max(1, Math.ceil((1 - this.#tokens) / rate));
    this.#tokens--;
    return undefined;
  }
}
