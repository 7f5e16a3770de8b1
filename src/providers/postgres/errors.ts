/**
 * From what a server or a connection says to the class that decides what happens next.
 *
 * @module
 */
import { DeadlineError } from "../../core/wait.ts";
import { ACTIONS, lostClass, printable } from "../classify.ts";
import { ProviderError, type ProviderErrorClass } from "../port.ts";
import type { Call } from "./call.ts";
import type { DatabaseId } from "./names.ts";

/** The SQLSTATE of an error that a server sent, or `undefined`. Severities are translated by the server: not used. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** The session is over: shutdown, crash, time-outs of idle sessions, connection exceptions. What was sent may have happened. */
function endsSession(state: string): boolean {
  return /^(57P0[1-5]|25P0[34]|08...|58000|58030)$/.test(state);
}

/** Whether the server refused the statement and the session lives on: that statement had no effect. */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && !endsSession(state);
}

/** Classes by SQLSTATE; the first pattern that fits (PostgreSQL's manual, appendix A). */
const CLASSES: readonly (readonly [RegExp, ProviderErrorClass])[] = [
  [/^(42P04|42710|23505)$/, "exists"], // duplicate database, duplicate object, the race of the two
  [/^28...$/, "unauthorised"],
  [/^(55006|55P03)$/, "busy"], // object in use, lock not available
  [/^XX000$/, "retryable"], // "tuple concurrently updated"
  [/^57014$/, "retryable"], // cancelled by the statement time-out: rolled back
  [/^(53...|57P0.|08...|40...|25006)$/, "retryable"], // resources, starting or stopping, serialisation, a standby
];

/** What helps against a code, where anything does. */
const HINTS: Readonly<Record<string, string>> = {
  "42501": "see the grants in docs/providers.md",
  "2BP01": "the role owns objects or privileges outside its database; reassign or drop them",
  "55006": "a replication slot, a prepared transaction or a session that may not be ended uses the database",
};

/** The class of a refusal by `state`; `rejected` where nothing else is known to help. */
export function refusalClassOf(state: string): ProviderErrorClass {
  return CLASSES.find(([pattern]) => pattern.test(state))?.[1] ?? "rejected";
}

/**
 * Any error of a call as what the port allows; what `beforeSend` threw stays as it is. A mutation that was handed over
 * and not refused by a definite answer is `unknown`; before that, nothing happened: `retryable`.
 */
export function asProviderError(call: Call, error: unknown): unknown {
  if (error instanceof ProviderError || call.isFence(error)) return error;
  const action = ACTIONS[call.verb];
  const lost = call.sent ? lostClass(call.verb) : "retryable";
  if (error instanceof DeadlineError) {
    return new ProviderError(lost, error.message, { code: "Timeout", cause: error });
  }
  if (call.signal.aborted) {
    const when = call.sent ? "given up" : "given up before it was sent";
    return new ProviderError(lost, `${action}: ${when}`, { code: "Aborted", cause: error });
  }
  const state = sqlState(error);
  if (state !== undefined && error instanceof Error) {
    const hint = HINTS[state];
    const text = `${action}: ${printable(error.message)}${hint === undefined ? "" : ` (${hint})`}`;
    const ended = endsSession(state);
    return new ProviderError(ended ? lost : refusalClassOf(state), text, { code: state, cause: error });
  }
  const why = error instanceof Error ? printable(error.message, 160) : "no reason given";
  const what = call.sent ? "the connection broke" : "no connection";
  return new ProviderError(lost, `${action}: ${what} (${why})`, {
    code: call.sent ? "ConnectionLost" : "Unreachable",
    cause: error,
  });
}

/** The error for an id that the server does not have. */
export function absent(id: DatabaseId, action: string): ProviderError {
  return new ProviderError("absent", `${action}: the server has no database "${printable(id.name)}"`, {
    code: "NotFound",
  });
}
