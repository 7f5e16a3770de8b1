/**
 * From a cloud's refusal (HTTP status and code of cloud-api.md) to the class that decides what happens next.
 *
 * @module
 */
import { ProviderError, type ProviderErrorClass } from "./port.ts";

/** The calls of the port. */
export type CallVerb = "info" | "get" | "list" | "create" | "modify" | "delete";

/** Longest wait that a cloud can ask for, in milliseconds (L3). */
export const MAX_RETRY_AFTER_MS = 300_000;
/** The wait after a 429 that names none or a useless one, in milliseconds. */
export const MIN_RETRY_AFTER_MS = 1_000;

/** Whether the verb changes something: then a lost answer leaves an unknown outcome. */
export function mutates(verb: CallVerb): boolean {
  return verb === "create" || verb === "modify" || verb === "delete";
}

/** The class of a call whose answer was lost, or came as a 5xx: `unknown` for a mutation, `retryable` for a read. */
export function lostClass(verb: CallVerb): ProviderErrorClass {
  return mutates(verb) ? "unknown" : "retryable";
}

/** What is known of a refusal. `code` is `undefined` when the body is not the contract's. */
export interface RefusalFacts {
  readonly verb: CallVerb;
  readonly status: number;
  readonly code: string | undefined;
}

/**
 * The class of a refusal.
 *
 * - 401 and 403 `Forbidden` (or without a code) are about the credentials: `unauthorised`. A 403 with another code,
 *   such as a quota or a policy, is about the request: `rejected`.
 * - 404 is `absent` only when the call named an id *and* the body says `NotFound`: a proxy's 404 page, or an account
 *   that is unknown, is never "does not exist" (S6, A3); those are `retryable`.
 * - A 409 of an unknown code is `unknown` for a create (look up through the settle window, S1; an `exists` would be
 *   looked for without end, were it "one operation at a time"), else `busy`.
 * - A redirect is refused: `retryable`, nothing took effect. 408 and 5xx may have taken effect.
 */
export function refusalClass({ verb, status, code }: RefusalFacts): ProviderErrorClass {
  if (status === 429) return "throttled";
  if (status === 401) return "unauthorised";
  if (status === 403) {
    return code === undefined || /^(forbidden|accessdenied|unauthori[sz]ed)$/i.test(code)
      ? "unauthorised"
      : "rejected";
  }
  if (status === 404) {
    const byId = verb === "get" || verb === "modify" || verb === "delete";
    return byId && code === "NotFound" ? "absent" : "retryable";
  }
  if (status === 409) return conflictClass(verb, code);
  if (status === 408 || status >= 500) return lostClass(verb);
  if (status >= 400) return "rejected";
  return status >= 300 ? "retryable" : lostClass(verb);
}

function conflictClass(verb: CallVerb, code: string | undefined): ProviderErrorClass {
  switch (code) {
    case "InvalidState":
      return "busy";
    case "IdempotencyMismatch":
    case "TokenUsed":
    case "AlreadyExists":
      return "exists";
    case "DeletionProtected":
    case "SnapshotExists":
    case "SnapshotFailed":
      return "rejected";
    default:
      return verb === "create" ? "unknown" : "busy";
  }
}

/** Milliseconds to wait after a 429, from `Retry-After` (seconds or an HTTP date), between 1 s and 5 min. `now` is wall milliseconds. */
export function retryAfterMs(header: string | null | undefined, now: number): number {
  const text = (header ?? "").trim();
  let ms: number;
  if (/^\d+(\.\d+)?$/.test(text)) ms = Number(text) * 1000;
  else ms = /[A-Za-z]/.test(text) ? Date.parse(text) - now : NaN;
  if (!Number.isFinite(ms)) {
    return text !== "" && /^\d+$/.test(text) ? MAX_RETRY_AFTER_MS : MIN_RETRY_AFTER_MS;
  }
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, ms));
}

/** What the action of a verb is called in messages. */
export const ACTIONS: Readonly<Record<CallVerb, string>> = {
  info: "Reading the provider's account",
  get: "Reading the database",
  list: "Listing databases",
  create: "Creating the database",
  modify: "Changing the database",
  delete: "Deleting the database",
};

// deno-lint-ignore no-control-regex -- control characters are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Text of a stranger made fit for a status and a log: control and direction characters escaped, at most `max` characters. */
export function printable(text: string, max = 300): string {
  const cut = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  const safe = cut.replace(UNPRINTABLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return safe.length > max ? `${safe.slice(0, max - 1)}…` : safe;
}

/** The error of a refusal. `retryAfter` is the header's value, `now` wall milliseconds. */
export function refusalError(
  facts: RefusalFacts & {
    readonly message: string | undefined;
    readonly retryAfter: string | null | undefined;
    readonly now: number;
  },
): ProviderError {
  const { verb, status, code, message, retryAfter, now } = facts;
  const errorClass = refusalClass(facts);
  const what = code === undefined ? `HTTP status ${status}` : printable(code, 64);
  const text = `${ACTIONS[verb]}: ${what}${message ? `: ${printable(message)}` : ""}`;
  return new ProviderError(errorClass, text, {
    ...(code === undefined ? {} : { code: printable(code, 64) }),
    // Where no time is named, the scheduler's own pause grows.
    ...(errorClass === "throttled" && retryAfter?.trim()
      ? { retryAfterMs: retryAfterMs(retryAfter, now) }
      : {}),
  });
}
