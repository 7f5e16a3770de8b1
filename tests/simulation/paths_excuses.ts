/**
 * Transitions that the worlds of the paths test may or may not take, each with the reason: a moment that comes once in
 * some hundred worlds comes and goes with every change of the operator's timing. The pure machine takes all of them
 * (`tests/statechart/paths_test.ts`).
 *
 * @module
 */

/** Reasons by the name of the transition. */
export const RARE: Readonly<Record<string, string>> = {
  "Pending.reincarnate on external.listed → stays":
    "Needs a token that was used by a lost incarnation, a wiped status that the watch has not told of, and a list that shows the recorded database again within that one write; met by hand-made worlds, too rarely for every run.",
  "Pending.finalize on external.unreadable → stays":
    "Needs the very first write to last as long as two lists that fail, when no list was due; met once in some hundred worlds.",
  "Pending.reincarnate on external.unreadable → stays":
    "Needs such a token and such a status too, and two lists that fail within that one write.",
  "Pending.reincarnate on external.unlisted → stays":
    "Needs such a token and such a status too, and a list without the database within that one write.",
  "Creating.create on external.listed → stays":
    "Needs a wiped status that the watch has not told of and no observation: any list before the create leads to a record instead; met once in some hundred worlds.",
  "Drifted.confirm on external.listed → stays":
    "Needs a list that saw the database before it went and tells of it after a read by id missed it; met once in some hundred worlds.",
  "Drifted.reincarnate on external.listed → stays":
    "As above, and a person must have confirmed the absence, for else a whole list is waited for that began after it; met once in some hundred worlds.",
  "Pending.observe on object.changed [bringsDeletion] → Pending.deciding":
    "What only observes has no finalizer and goes at once; needs one that was managed before, and a wiped status.",
  "Pending.observe on object.changed [bringsEdit] → Pending.deciding":
    "Needs one that only observes, has said something of the generation before, and is edited within that one read; met in some runs of this test.",
  "Pending.observe on external.listed → stays":
    "Lists are told to resources that name their database; needs a wiped status that the watch has not told of.",
  "Pending.observe on external.unlisted → stays": "As above.",
  "Pending.observe on external.unreadable → stays": "As above.",
  "Pending.record on external.listed → stays": "As above.",
  "Pending.record on external.unlisted → stays": "As above.",
  "Pending.record on external.unreadable → stays": "As above.",
  "Pending.record on binding.changed → stays":
    "Needs one that only observes, was managed before and kept a Secret, and whose Secret changes within that one write.",
};
