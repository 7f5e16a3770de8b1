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
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (this.#requested) woken.abort();
    try {
      await sleep(this.clock, Math.min(ms, this.distanceMs), signal);
      if (ms > this.distanceMs) {
        await sleep(this.clock, ms - this.distanceMs, AbortSignal.any([signal, woken.signal]));
      }
    } catch {
      // woken or stopped: the caller's loop tells which
    } finally {
      this.#wake = undefined;
    }
  }
}
