/**
 * Runs work until it ends or the process is asked to stop.
 *
 * @module
 */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Exit code after a second signal: 128 + SIGINT. */
const EXIT_AT_ONCE = 130;

/**
 * Runs `work` with a signal that aborts at the first SIGINT or SIGTERM; the work then drains and resolves. A second
 * one ends the process at once, for whoever does not want to wait.
 */
export async function untilSignal(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) Deno.exit(EXIT_AT_ONCE);
    stop.abort(new DOMException("The process was asked to stop", "AbortError"));
  };
  for (const name of SIGNALS) Deno.addSignalListener(name, onSignal);
  try {
    await work(stop.signal);
  } finally {
    for (const name of SIGNALS) Deno.removeSignalListener(name, onSignal);
  }
}
