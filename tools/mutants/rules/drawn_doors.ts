/**
 * Planted bugs of what worlds showed in which a person edits what a status names, and resources take over with consent.
 *
 * @module
 */
import { mutant, type RuleMutant } from "../rule.ts";

const facts = "statechart/facts.ts";
const learn = "statechart/learn.ts";
const verdicts = "statechart/verdicts.ts";

/** Of rule 5, S1, S3, S6, K4 and rule 11. */
export const DRAWN_DOORS: readonly RuleMutant[] = [
  mutant(
    "rule 5",
    "vanished id is given up",
    "an incarnation raised over an id that was seen to be gone opens no settle window, whatever was made meanwhile",
    learn,
    "isGivenUp",
    "removals[id] !== undefined && mutatedAt <= Math.max(...Object.values(removals))",
    "removals[id] === undefined || mutatedAt <= Math.max(...Object.values(removals))",
  ),
  mutant(
    "rule 5",
    "wiped removal settles at once",
    "where a recorded id is wiped, its removal of a moment ago opens no settle window",
    learn,
    "learnObject",
    "Math.max(next.mutatedAt, ...Object.values(next.removals))",
    "next.mutatedAt",
  ),
  mutant(
    "S1",
    "removal opens no window",
    "an absence is sure though another database's removal, which a list may not show yet, was asked for a moment ago",
    facts,
    "absenceSettledAt",
    "Math.max(k.mutatedAt, removed) + settleMs(view)",
    "k.mutatedAt + settleMs(view)",
  ),
  mutant(
    "S3",
    "tags of unknown outcome bar nothing",
    "a database is changed or deleted though another resource's adoption of it may still land",
    "operator/changes.ts",
    "Changes.turn",
    'kind !== "marks" && this.#isWithin(this.#retagging, id)',
    "false",
  ),
  mutant(
    "S3",
    "old lookup is recorded",
    "what a lookup found long ago is recorded without another look",
    "statechart/record_found.ts",
    "recordFound",
    "lookup !== undefined && view.now - lookup.sentAt > UNRECORDED_MS",
    "false",
  ),
  mutant(
    "S6",
    "ready without an id",
    "a resource whose id was taken out of its status stays ready by the last word",
    verdicts,
    "readiness",
    "k.object.status?.providerId !== undefined",
    "true",
  ),
  mutant(
    "S6",
    "ready by a list without an id",
    "a list's word of a database that no status names makes a resource ready",
    verdicts,
    "listedReadiness",
    "k.object.status?.providerId === undefined",
    "false",
  ),
  mutant(
    "K4",
    "nameless Secret is in order",
    "a Secret that names no provider is in order while no provider is known",
    "statechart/binding.ts",
    "isSecretInOrder",
    "view.provider !== undefined",
    "true",
  ),
  mutant(
    "rule 11",
    "failed read is forgotten",
    "where a read for an edit failed, its generation is judged by what was seen long before",
    "statechart/decide_observed.ts",
    "staleSpec",
    "edited || failed",
    "edited",
  ),
];
