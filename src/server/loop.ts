/**
 * Watches the process itself: how late the event loop is, measured on the injected monotonic clock.
 *
 * prom-client's default metrics are not used: under Deno its event-loop lag missed a block of 200 ms and its memory
 * gauge read 0.
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
  /** The worst lag since this was last asked, in milliseconds. */
  takeMaxLagMs(): number;
  stop(): void;
}

/** Starts to measure; one timer of {@linkcode LOOP_TICK_MS}. */
export function startLoopMonitor(clock: Clock): LoopMonitor {
  let last = 0;
  let max = 0;
  let due = clock.monotonic() + LOOP_TICK_MS;
  let timer: TimerId = clock.setTimeout(tick, LOOP_TICK_MS);

  function tick(): void {
    last = Math.max(0, clock.monotonic() - due);
    max = Math.max(max, last);
    due = clock.monotonic() + LOOP_TICK_MS;
    timer = clock.setTimeout(tick, LOOP_TICK_MS);
  }
  const overdue = () => Math.max(0, clock.monotonic() - due);

  return {
    lagMs: () => Math.max(last, overdue()),
    takeMaxLagMs() {
      const worst = Math.max(max, overdue());
      max = 0;
      return worst;
    },
    stop: () => clock.clearTimeout(timer),
  };
}
