/**
 * Planted bugs of the other doors by which a rule's situation comes in: each was found by a reader who tried to break a mend.
 *
 * @module
 */
import { mutant, type RuleMutant } from "../rule.ts";

const learn = "statechart/learn.ts";
const supervisor = "operator/supervisor.ts";
const writes = "operator/effects/writes.ts";

/** Of rules 5, 12, 14 and 16, and of S2, S3 and L4. */
export const DOORS: readonly RuleMutant[] = [
  mutant(
    "rule 5",
    "wiped id settles at once",
    "where a recorded id is wiped, what was done last for it opens no settle window",
    learn,
    "learnObject",
    "!raised",
    "false",
  ),
  mutant(
    "rule 5",
    "own record is another's life",
    "the record of one that only observes counts as a sign of another process",
    learn,
    "learn",
    "facts.finalizerWritten || facts.recorded || facts.reported !== undefined",
    "facts.finalizerWritten || facts.reported !== undefined",
  ),
  mutant(
    "L4",
    "older answer confirms nothing",
    "an answer of the API server that is older than a watch's word does not confirm the copy",
    learn,
    "learnObject",
    "!heard && object !== before",
    "!heard && object !== before && !isOlder(object, before)",
  ),
  mutant(
    "rule 12",
    "absences outlive resources",
    "what was counted as absent for a resource stays counted once it is gone",
    supervisor,
    "Supervisor.#forget",
    "this.#o.settled(uid);",
    "",
  ),
  mutant(
    "S2",
    "unlisted actors live",
    "only the actor of a released resource ends with a list that does not show it",
    supervisor,
    "Supervisor.onListed",
    "!isThere(keeper.object.metadata.uid)",
    "keeper.finished && !isThere(keeper.object.metadata.uid)",
  ),
  mutant(
    "design 7",
    "gone in a lost history",
    "that a resource was gone is learned though its cluster went back in time since",
    "operator/effects/mod.ts",
    "judged",
    "{ ...learned, object: undefined, reported: undefined, gone: undefined, crdTerminating: undefined }",
    "{ ...learned, object: undefined, reported: undefined }",
  ),
  mutant(
    "S3",
    "read anew and its own",
    "what a record reads anew while it only observes counts as the resource's own",
    writes,
    "record",
    "anew && { ...anew, onlyObserved: true }",
    "anew",
  ),
  mutant(
    "rule 16",
    "refused release is none",
    "a release that was refused and not read since surely has not landed",
    writes,
    "unansweredRelease",
    "!mayHaveLanded(error)",
    "!UNANSWERED.has(error.code)",
  ),
  mutant(
    "rule 14",
    "protection lifted late",
    "protection is lifted by what was read before a long wait",
    "operator/effects/remove.ts",
    "unprotect",
    "again.whenLate()",
    "Promise.resolve()",
  ),
];
