/**
 * A wait that a request shortens: many requests make one, and two rounds keep a minimal distance whoever asks.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { sleep } from "../core/wait.ts";

/** What account watch and observer wait by between two rounds. */
export class Summons {
  #requested = false;
  #wake: (() => void) | undefined;

  /** `distanceMs` is the shortest wait, in milliseconds. */
  constructor(private readonly clock: Clock, private readonly distanceMs: number) {}

  /** Asks for the next round soon. */
  request(): void {
    this.#requested = true;
    this.#wake?.();
  }

  /** A round begins: it answers what was asked so far. */
  answer(): void {
    this.#requested = false;
  }

  /** Waits `ms` milliseconds, less when a round is requested, never less than the minimal distance; ends early, without an error, with the signal. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(this.clock, Math.min(ms, this.distanceMs), signal);
    } catch {
      return; // stopped: the caller's loop tells
    }
    if (ms > this.distanceMs && !this.#requested && !signal.aborted) {
      await this.#rest(ms - this.distanceMs, signal);
    }
  }

  /** Waits until the time is over, a round is requested or the signal aborts. */
  #rest(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.clock.clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#wake = undefined;
        resolve();
      };
      const timer = this.clock.setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
      this.#wake = end;
    });
  }
}
