/**
 * Waits that end: every promise the operator awaits has a deadline and a signal.
 *
 * @module
 */
import type { Clock } from "./clock.ts";

/** A wait went past its deadline. The work may still go on and take effect. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  /** `action` names what was waited for; `ms` is the deadline in milliseconds. */
  constructor(readonly action: string, readonly ms: number) {
    super(`${action}: no answer within ${ms} ms`);
  }
}

/** Resolves after `ms` milliseconds of `clock`; rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clock.clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Resolves once the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** What {@linkcode withDeadline} needs. */
export interface DeadlineOptions {
  readonly clock: Clock;
  /** The deadline in milliseconds. */
  readonly ms: number;
  /** What is waited for, for the error's text. */
  readonly action: string;
  /** Ends the wait early. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` with a signal that aborts at the deadline or with `options.signal`, and settles at that moment even
 * if `work` ignores its signal. Rejects with {@linkcode DeadlineError} or the outer signal's reason.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, action, signal } = options;
  if (signal?.aborted) throw signal.reason;
  const inner = new AbortController();
  let timer: unknown;
  let onAbort: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    const stop = (reason: unknown) => {
      inner.abort(reason);
      reject(reason);
    };
    timer = clock.setTimeout(() => stop(new DeadlineError(action, ms)), ms);
    onAbort = () => stop(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work(inner.signal), ended]);
  } finally {
    clock.clearTimeout(timer);
    if (onAbort) signal?.removeEventListener("abort", onAbort);
  }
}
