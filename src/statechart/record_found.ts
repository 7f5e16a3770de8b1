/**
 * What is done with what a lookup found by its tags.
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { UNRECORDED_MS, type View } from "./view.ts";

/**
 * Records it. Where the lookup is so old that another resource may have adopted it since, as its record was refused or
 * nothing asked for it, it is looked up anew (S3).
 */
export function recordFound(
  { lookup }: Knowledge,
  view: View,
  database: ExternalState,
): Pick<Decision, "step" | "database"> {
  const old = lookup !== undefined && view.now - lookup.sentAt > UNRECORDED_MS;
  return old ? { step: "lookup" } : { step: "record", database };
}
