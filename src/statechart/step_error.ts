/**
 * How an effect fails, and how long it then waits (design.md 6).
 *
 * @module
 */
import { backoffMs, type BackoffPolicy, growingMs } from "../core/backoff.ts";
import type { Random } from "../core/random.ts";
import type { Learned } from "./learned.ts";
import type { Effect } from "./vocabulary.ts";

/**
 * What a failed effect means: a provider error's class, or
 * - `taken`: the database belongs to someone else
 * - `conflict`: a Kubernetes write met a newer object, which was read again
 * - `kubernetes`: a Kubernetes request failed
 * - `bug`: anything that is not an error of a known kind
 */
export type StepErrorClass =
  | "absent"
  | "throttled"
  | "busy"
  | "exists"
  | "unauthorised"
  | "retryable"
  | "unknown"
  | "rejected"
  | "taken"
  | "conflict"
  | "kubernetes"
  | "bug";

/** The error that effects reject with. What they learned before they failed is not lost. */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly learned: Learned;
  constructor(
    readonly errorClass: StepErrorClass,
    message: string,
    options: {
      readonly code?: string | undefined;
      readonly retryAfterMs?: number | undefined;
      readonly learned?: Learned | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.retryAfterMs = options.retryAfterMs;
    this.learned = options.learned ?? {};
  }

  /** The same failure, with other facts that were learned on the way. */
  knowing(learned: Learned): StepError {
    return this.#with({ learned });
  }

  /** The same failure, with the code of what went before it. */
  of(code: string): StepError {
    return this.#with({ code });
  }

  #with(change: { readonly learned?: Learned; readonly code?: string }): StepError {
    const { code, retryAfterMs, learned } = this;
    return new StepError(this.errorClass, this.message, {
      code,
      retryAfterMs,
      learned,
      ...change,
      cause: this,
    });
  }
}

const SECOND = 1_000;
/** Failed reads and deletes: the original design's 30 s. */
const READ: BackoffPolicy = { baseMs: SECOND, capMs: 30 * SECOND };
/** Failed creates and updates: the original design's 60 s. */
const WRITE: BackoffPolicy = { baseMs: SECOND, capMs: 60 * SECOND };
/** Needs a change by a person; still tried, slowly. */
const REJECTED: BackoffPolicy = { baseMs: 15 * SECOND, capMs: 600 * SECOND };
/** A newer object was read; the next write may well succeed. */
const CONFLICT: BackoffPolicy = { baseMs: 50, capMs: 30 * SECOND };
/** The longest that a `Retry-After` is heeded (L3). */
export const RETRY_AFTER_CAP_MS = 300 * SECOND;
/** So often in a row a `Retry-After` is believed; then the wait grows beyond what is asked (S5: "in a second" without end is a loop). */
const BELIEVED = 4;

/** The wait after failure number `attempt` (from 1) of an effect, in milliseconds. */
export function retryDelayMs(
  effect: Effect,
  errorClass: StepErrorClass,
  attempt: number,
  retryAfterMs: number | undefined,
  random: Random,
): number {
  if (retryAfterMs !== undefined) {
    const asked = Math.min(Math.max(retryAfterMs, 0), RETRY_AFTER_CAP_MS);
    const heeded = asked + random.next() * Math.max(250, asked / 10);
    return attempt <= BELIEVED
      ? heeded
      : Math.max(heeded, backoffMs(policy(effect, errorClass), attempt - BELIEVED, random));
  }
  return backoffMs(policy(effect, errorClass), attempt - 1, random);
}

/** Failures in a row from which on every wait of an effect has grown to its longest; told as one (L4). */
export const LAST_STEP = 9;

/**
 * The longest wait after failure number `attempt` of an effect, in milliseconds; that of the longest for
 * {@linkcode LAST_STEP} and later, so that it tells nothing new each time. `undefined`: another says how long.
 */
export function longestDelayMs(effect: Effect, errorClass: string, attempt: number): number | undefined {
  // An account that is throttled waits as its provider asks; an API server may ask for a wait too.
  if (errorClass === "throttled" || errorClass === "kubernetes" || errorClass === "conflict") {
    return undefined;
  }
  const { baseMs, capMs } = policy(effect, errorClass as StepErrorClass);
  return attempt >= LAST_STEP ? capMs : growingMs({ baseMs, capMs }, attempt - 1);
}

function policy(effect: Effect, errorClass: StepErrorClass): BackoffPolicy {
  switch (errorClass) {
    case "rejected":
    case "taken":
      return REJECTED;
    case "conflict":
      return CONFLICT;
    case "bug":
      return WRITE;
  }
  return effect === "create" || effect === "modify" || effect === "adopt" ||
      effect === "setPassword"
    ? WRITE
    : READ;
}
