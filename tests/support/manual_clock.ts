/**
 * A clock that stands still until a test moves it, event by event: timers fire in the order of their due time, ties
 * in the order of their creation, and between two timers all microtasks run, so that a timer set by the effect of
 * another one (a chain) still fires within the same `advance`.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock, TimerId } from "../../src/core/clock.ts";
import { MAX_TIMER_MS } from "../../src/core/clock.ts";

interface Timer {
  readonly order: number;
  readonly due: number;
  readonly fn: () => void;
}

/** What a {@linkcode ManualClock} starts from. */
export interface ManualClockOptions {
  /** Wall time at the start, in milliseconds since the Unix epoch. @default 1_760_000_000_000 */
  readonly now?: number;
  /** Monotonic time at the start, in milliseconds. @default 1_000 */
  readonly monotonic?: number;
}

/** Lets every microtask and every already completed I/O callback run: one turn of the event loop. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A {@linkcode Clock} that a test owns. */
export class ManualClock implements Clock {
  #monotonic: number;
  #wallOffset: number;
  #order = 0;
  readonly #timers = new Map<number, Timer>();

  constructor(options: ManualClockOptions = {}) {
    this.#monotonic = options.monotonic ?? 1_000;
    this.#wallOffset = (options.now ?? 1_760_000_000_000) - this.#monotonic;
  }

  now(): number {
    return this.#monotonic + this.#wallOffset;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimeout(fn: () => void, ms: number): TimerId {
    const order = ++this.#order;
    const wait = Math.min(Math.max(0, Number.isNaN(ms) ? 0 : ms), MAX_TIMER_MS);
    this.#timers.set(order, { order, due: this.#monotonic + wait, fn });
    return order;
  }

  clearTimeout(id: TimerId): void {
    this.#timers.delete(id as number);
  }

  /** Timers that are set and have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Monotonic time of the next timer, or `undefined` when none is set. */
  get nextDue(): number | undefined {
    return this.#next()?.due;
  }

  /** Moves the wall clock alone by `ms` (may be negative), as a step of NTP does. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Moves both clocks by `ms` without firing a timer, as a process sees that was frozen; what is due fires at the next `advance`. */
  freeze(ms: number): void {
    this.#monotonic += ms;
  }

  /** Moves both clocks by `ms`, fires what falls due on the way, and lets all microtasks run after each timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let next = this.#next(); next && next.due <= end; next = this.#next()) {
      this.#timers.delete(next.order);
      this.#monotonic = Math.max(this.#monotonic, next.due);
      next.fn();
      await settle();
    }
    this.#monotonic = Math.max(this.#monotonic, end);
  }

  /** Fires the next timer, however far away, and moves the clocks to it; `false` when none is set. */
  async step(): Promise<boolean> {
    await settle();
    const next = this.#next();
    if (!next) return false;
    await this.advance(Math.max(0, next.due - this.#monotonic));
    return true;
  }

  /**
   * Advances in steps of `stepMs` until `condition` holds. Throws when it does not within `limitMs` of clock time,
   * naming `what`.
   */
  async until(what: string, condition: () => boolean, limitMs = 600_000, stepMs = 100): Promise<void> {
    const end = this.#monotonic + limitMs;
    await settle();
    while (!condition()) {
      if (this.#monotonic >= end) throw new Error(`${what}: not within ${limitMs} ms of the manual clock`);
      await this.advance(stepMs);
    }
  }

  #next(): Timer | undefined {
    let best: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (!best || timer.due < best.due || (timer.due === best.due && timer.order < best.order)) best = timer;
    }
    return best;
  }
}
