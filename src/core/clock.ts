/**
 * Time as the operator sees it: one injected object, so that a simulation can own every wait.
 *
 * Nothing outside this module and `main.ts` reads the ambient clock or sets an ambient timer.
 *
 * @module
 */

/** A pending timer; its content belongs to the clock that made it. */
export type TimerId = unknown;

/** Wall time, monotonic time and timers. XState takes the same object as its actor clock. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch; may jump. Only for what people and other programs read. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary origin; never jumps back. Every duration is measured with it. */
  monotonic(): number;
  /** Calls `fn` once after `ms` milliseconds. Longer waits than 2^31−1 ms are cut to that (they would fire at once). */
  setTimeout(fn: () => void, ms: number): TimerId;
  /** Cancels a timer; unknown and fired timers are ignored. */
  clearTimeout(id: TimerId): void;
}

/** The longest timer that platforms take, in milliseconds: above it `setTimeout` fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, Math.min(Math.max(0, ms), MAX_TIMER_MS)),
  clearTimeout: (id) => clearTimeout(id as ReturnType<typeof setTimeout>),
};
