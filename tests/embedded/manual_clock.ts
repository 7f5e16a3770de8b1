/**
 * A clock that stands until it is moved.
 *
 * @module
 */
import type { Clock } from "../../src/core/clock.ts";

/** A clock with the means to move it. */
export interface ManualClock extends Clock {
  /** Moves time on, firing what is due in order. */
  advance(ms: number): void;
  /** Timers that wait. */
  pending(): number;
}

/** A clock at a fixed time. */
export function manualClock(): ManualClock {
  let now = 0;
  let next = 1;
  const timers = new Map<number, { at: number; fn: () => void }>();
  return {
    now: () => Date.UTC(2026, 10, 29) + now,
    monotonic: () => now,
    setTimeout(fn, ms) {
      timers.set(next, { at: now + ms, fn });
      return next++;
    },
    clearTimeout: (id) => void timers.delete(id as number),
    pending: () => timers.size,
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const due = [...timers].filter(([, timer]) =>
          timer.at <= end
        ).sort(([i, a], [j, b]) => a.at - b.at || i - j)[0];
        if (due === undefined) {
          break;
        }
        timers.delete(due[0]);
        now = Math.max(now, due[1].at);
        due[1].fn();
      }
      now = end;
    },
  };
}
