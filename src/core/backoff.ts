/**
 * Exponential back-off with full jitter (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/).
 *
 * @module
 */
import type { Random } from "./random.ts";

/** A back-off's shape, in milliseconds. */
export interface BackoffPolicy {
  /** Upper bound of the first wait. */
  readonly baseMs: number;
  /** Upper bound of every later wait. */
  readonly capMs: number;
}

/** min(cap, base × 2^attempt): the wait before try `attempt` + 1 where it is not to be random, in milliseconds. */
export function growingMs({ baseMs, capMs }: BackoffPolicy, attempt: number): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
}

/** The wait before try `attempt` + 1, in milliseconds: uniform between half and all of min(cap, base × 2^attempt), so it never hits zero. */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: Random): number {
  const bound = growingMs(policy, attempt);
  return bound / 2 + random.next() * (bound / 2);
}
