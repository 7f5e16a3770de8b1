/**
 * The decision about what was seen while the account was not sure to be the one that holds the database (A2).
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import { hasAccountSpoken } from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import { ACCOUNT_WAIT_MS, type View } from "./view.ts";

/**
 * Waits until the account has said its name since `at`, when something was seen or missed; then `look` sees it again
 * between two words of the account.
 */
export function lookAgain(
  k: Knowledge,
  view: View,
  at: number,
  said: Pick<Decision, "state" | "ready" | "synced">,
  look: "confirm" | "lookup" = "confirm",
): Decision {
  return hasAccountSpoken(k, view, at)
    ? { ...said, step: look }
    : { ...said, step: "wait", waitMs: ACCOUNT_WAIT_MS };
}
