/**
 * Watches the process itself: how late the event loop is, measured on the injected monotonic clock.
 *
 * @module
 */
import type { Clock, TimerId } from "../core/clock.ts";

/** How often the event loop is looked at, in milliseconds. */
export const LOOP_TICK_MS = 500;

/** A running measurement; {@linkcode LoopMonitor.stop} ends its timer. */
export interface LoopMonitor {
  /** How late the last tick came, in milliseconds; grows while the next one is overdue. */
  lagMs(): number;
  /** From now on `told` hears of the lag at each tick, in milliseconds. */
  onTick(told: (lagMs: number) => void): void;
  stop(): void;
}

/** Starts to measure; one timer of {@linkcode LOOP_TICK_MS}. */
export function startLoopMonitor(clock: Clock): LoopMonitor {
  let last = 0;
  let told: (lagMs: number) => void = () => {};
  let due = clock.monotonic() + LOOP_TICK_MS;
  let timer: TimerId = clock.setTimeout(tick, LOOP_TICK_MS);

  function tick(): void {
    last = Math.max(0, clock.monotonic() - due);
    told(last);
    due = clock.monotonic() + LOOP_TICK_MS;
    timer = clock.setTimeout(tick, LOOP_TICK_MS);
  }
  const overdue = () => Math.max(0, clock.monotonic() - due);

  return {
    lagMs: () => Math.max(last, overdue()),
    onTick: (listener) => void (told = listener),
    stop: () => clock.clearTimeout(timer),
  };
}
