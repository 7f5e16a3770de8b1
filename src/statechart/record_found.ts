/**
 * What is done with what a lookup found by its tags.
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import type { Said } from "./decide_removal.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { UNRECORDED_MS, type View } from "./view.ts";
import type { TopState } from "./vocabulary.ts";

/**
 * Records it, in the state `recording`. Where the lookup is so old that another resource may have adopted it since, as its
 * record was refused or nothing asked for it, it is looked up anew, in the state of `said` (S3).
 */
export function recordFound(
  { lookup }: Knowledge,
  view: View,
  database: ExternalState,
  said: Said,
  recording: TopState = "Creating",
): Decision {
  const old = lookup !== undefined && view.now - lookup.sentAt > UNRECORDED_MS;
  return old ? { ...said, step: "lookup" } : { ...said, state: recording, step: "record", database };
}
