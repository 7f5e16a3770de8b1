/**
 * Runs work until it ends or the process is asked to stop.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Also asks for the end of what belongs to a terminal and would leave something behind when that is closed. */
export const OF_A_TERMINAL = [...SIGNALS, "SIGHUP"] as const;

/**
 * A signal that comes again within this time, in milliseconds, is the same one: in a terminal Ctrl-C reaches this process
 * and the task runner above it, which passes it on.
 */
const ECHO_MS = 1_000;

/** Exit code after a second signal: 128 + SIGINT. */
const EXIT_AT_ONCE = 130;

/**
 * Runs `work` with a signal that aborts at the first of `signals` (SIGINT, SIGTERM); the work then drains and resolves. A second
 * one, a second or more later, ends the process at once, for whoever does not want to wait.
 */
export async function untilSignal(
  clock: Clock,
  work: (signal: AbortSignal) => Promise<void>,
  signals: readonly Deno.Signal[] = SIGNALS,
): Promise<void> {
  const stop = new AbortController();
  let askedAt = Number.NEGATIVE_INFINITY;
  const onSignal = () => {
    const now = clock.monotonic();
    if (stop.signal.aborted) {
      if (now - askedAt > ECHO_MS) Deno.exit(EXIT_AT_ONCE);
      return;
    }
    askedAt = now;
    stop.abort(new DOMException("The process was asked to stop", "AbortError"));
  };
  for (const name of signals) Deno.addSignalListener(name, onSignal);
  try {
    await work(stop.signal);
  } finally {
    for (const name of signals) Deno.removeSignalListener(name, onSignal);
  }
}
