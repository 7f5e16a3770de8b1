/**
 * The operator's mind by table: final snapshots (rule 17), protection by the spec (D5), and resources that only observe
 * (D4).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { decide } from "../../src/statechart/decide.ts";
import type { ExternalState, Knowledge } from "../../src/statechart/knowledge.ts";
import { finalSnapshotName } from "../../src/statechart/snapshot.ts";
import { statusOf } from "../../src/statechart/status.ts";
import { absent, cr, type CrChange, db, deleting, inStep, known, NOW, seen, tags, view } from "./support.ts";
import { table } from "./decide_table.ts";

const lookup = (found: readonly ExternalState[], ageMs = 50) => ({ sentAt: NOW - ageMs, found });
const PLAIN = { account: "acct", clientTokens: true, readLagMs: 1_000, effectBoundMs: 10_000 };
const takes = { provider: { ...PLAIN, snapshots: true, deletionProtection: true } };
const NAME = finalSnapshotName(cr(), "db-1");
const said = { state: "Deleting" as const, removing: "db-1", finalSnapshot: NAME };
const dead = (spec: CrChange["spec"], status = inStep()) => deleting({ spec: { ...spec }, status });
const snapshot = { deletionPolicy: "Snapshot" as const };

/** What is known of a deletion that must write its snapshot's name now, and the database it is of. */
const UNNAMED: Readonly<Record<string, { readonly k: Knowledge; readonly id?: string }>> = {
  "rule 17: its name is written first": {
    k: known(dead(snapshot), { observation: seen() }),
  },
  "rule 17: also where only the snapshot is not named yet": {
    k: known(dead(snapshot, inStep({ state: "Deleting", removing: "db-1" })), { observation: seen() }),
  },
  "rule 17: however often that write fails": {
    k: known(dead(snapshot), { observation: seen(), attempts: { report: 9 } }),
  },
  "rule 17: a name of another database is none": {
    k: known(dead(snapshot, inStep({ ...said, finalSnapshot: finalSnapshotName(cr(), "db-2") })), {
      observation: seen(),
    }),
  },
  "D7: what failed later does": {
    k: known(dead(snapshot, inStep({ removing: "db-1" })), { observation: seen(db({ state: "Failed" })) }),
  },
  "S1: another that carries the UID is kept in a snapshot of its own": {
    k: known(dead(snapshot, inStep(said)), {
      observation: absent(),
      lookup: lookup([db({ id: "db-2" })]),
      removals: { "db-1": NOW - 60_000 },
    }),
    id: "db-2",
  },
};

for (const [what, { k, id = "db-1" }] of Object.entries(UNNAMED)) {
  Deno.test(`decide, final snapshots: ${what}`, () => {
    const { state, step, finalSnapshot } = decide(k, view(takes));
    const due = k.attempts.report === undefined ? "report" : step;
    assertEquals([state, step, finalSnapshot], ["Deleting", due, finalSnapshotName(cr(), id)]);
    assert(step !== "remove");
  });
}

table("final snapshots", {
  "rule 17: then it is deleted": {
    k: known(dead(snapshot, inStep(said)), { observation: seen() }),
    v: takes,
    is: "Deleting/remove",
  },
  "rule 17: a CRD that does not know the field does not make it a loop": {
    k: known(dead(snapshot, inStep({ state: "Deleting", removing: "db-1" })), {
      observation: seen(),
      reported: { text: `finalSnapshot: "${NAME}"`, resourceVersion: "100" },
    }),
    v: takes,
    is: "Deleting/remove",
  },
  "D7: a provider that takes none holds the deletion": {
    k: known(dead(snapshot), { observation: seen() }),
    is: "Deleting/idle",
    synced: "SnapshotUnsupported",
    message: /Delete or Retain/,
  },
  "D7: but not of what is gone already": {
    k: known(dead(snapshot, inStep(said)), { observation: absent(), lookup: lookup([]) }),
    is: "Deleting/release",
    cause: "deleted",
  },
  "D7: what failed before it was usable holds nothing": {
    k: known(dead(snapshot, inStep({ endpoint: undefined, removing: "db-1" })), {
      observation: seen(db({ state: "Failed" })),
    }),
    is: "Deleting/remove",
  },
});

table("protection by the spec", {
  "D5: nothing is deleted": {
    k: known(dead({ deletionProtection: true }), { observation: seen() }),
    is: "Deleting/idle",
    synced: "DeletionProtected",
  },
  "D5: nor another that carries the UID": {
    k: known(dead({ deletionProtection: true }), {
      observation: absent(),
      lookup: lookup([db({ id: "db-2" })]),
      removals: { "db-1": NOW - 60_000 },
    }),
    is: "Deleting/wait",
    synced: "DeletionProtected",
  },
  "D5: what is gone is let go": {
    k: known(dead({ deletionProtection: true }, inStep({ removing: "db-1" })), {
      observation: absent(),
      lookup: lookup([]),
    }),
    is: "Deleting/release",
  },
  "D5: Retain deletes nothing": {
    k: known(dead({ deletionProtection: true, deletionPolicy: "Retain" }), { observation: seen() }),
    is: "Deleting/retain",
  },
  "D5: it is set at the provider": {
    k: known(cr({ spec: { deletionProtection: true }, status: inStep() }), {
      observation: seen(db({ deletionProtection: false })),
    }),
    is: "Drifted/modify",
    message: /deletionProtection false → true/,
  },
  "D5: what the spec does not speak of is left as it is": {
    k: known(cr({ status: inStep() }), { observation: seen(db({ deletionProtection: true })) }),
    is: "Available/idle",
  },
  "D5: a provider that knows none: the operator alone": {
    k: known(cr({ spec: { deletionProtection: true }, status: inStep() }), { observation: seen() }),
    is: "Available/idle",
    message: /operator alone/,
  },
});

const only = { managementPolicy: "ObserveOnly" as const, providerId: "db-9" };
const watched = (status: CrChange["status"], more: CrChange = {}) =>
  cr({ meta: { finalizers: [] }, spec: only, status: status ?? {}, ...more });
const state = inStep({ providerId: "db-9", adopted: true, observeOnly: true });
const theirs = (change: Partial<ExternalState> = {}) => db({ id: "db-9", tags: {}, ...change });

table("observe-only", {
  "a new one is looked at, without a finalizer": { k: known(watched({})), is: "Pending/observe" },
  "what was seen is recorded": {
    k: known(watched({}), { observation: seen(theirs()) }),
    is: "Pending/record",
    id: "db-9",
  },
  "what was only looked at is not recorded by one that manages now: its own is looked for, then it is adopted":
    {
      k: known(cr({ spec: { providerId: "db-9" } }), {
        observation: { kind: "present", database: theirs(), sentAt: NOW, onlyObserved: true },
      }),
      is: "Pending/lookup",
    },
  "nor does the deletion of one that manages now record it": {
    k: known(deleting({ spec: { providerId: "db-9" } }), {
      observation: { kind: "present", database: theirs(), sentAt: NOW, onlyObserved: true },
    }),
    is: "Deleting/lookup",
  },
  "what is not there is looked for again in a period": {
    k: known(watched({}), { observation: absent(1_000, "db-9") }),
    is: "Pending/wait",
    synced: "ExternalMissing",
  },
  "what was named before is not what was seen": {
    k: known(watched({}), { observation: absent(100, "db-8") }),
    is: "Pending/observe",
  },
  "D8: what is another namespace's is not recorded": {
    k: known(watched({}), {
      observation: seen(theirs({ tags: tags({ [TAG.uid]: "someone", [TAG.namespace]: "other" }) })),
    }),
    is: "Pending/wait",
    synced: "Conflict",
  },
  "in step": {
    k: known(watched(state), { observation: seen(theirs()) }),
    is: "Available/idle",
    synced: "Available",
  },
  "drift is reported, whatever driftPolicy says": {
    k: known(watched(state, { spec: { ...only, driftPolicy: "Repair" } }), {
      observation: seen(theirs({ sizeGb: 10 })),
    }),
    is: "Drifted/idle",
    synced: "DriftReported",
  },
  "another engine is drift too": {
    k: known(watched(state), { observation: seen(theirs({ engine: "mysql" })) }),
    is: "Drifted/idle",
    synced: "DriftReported",
    message: /mysql/,
  },
  "R7: what is gone is never made anew": {
    k: known(watched(state, { spec: { ...only, onMissing: "Recreate" } }), {
      observation: absent(100, "db-9"),
    }),
    is: "Drifted/idle",
    synced: "ExternalMissing",
  },
  "a list that misses it is the reason for a read": {
    k: known(watched(state), { observation: seen(theirs()), unlistedAt: NOW - 50 }),
    is: "Available/observe",
  },
  "failed": {
    k: known(watched(state), { observation: seen(theirs({ state: "Failed" })) }),
    is: "Drifted/idle",
    synced: "DatabaseFailed",
  },
  "D4: its deletion leaves all as it is, though nothing answers": {
    k: known(deleting({ spec: only, status: state })),
    v: { provider: undefined },
    is: "Deleting/release",
    cause: "observeOnly",
  },
  "D4: also where its spec is not valid": {
    k: known(deleting({ spec: { managementPolicy: "ObserveOnly", sizeGb: -1 }, status: state })),
    is: "Deleting/release",
    cause: "observeOnly",
  },
  "D4: a paused one waits": {
    k: known(deleting({ spec: { ...only, paused: true }, status: state }), { observation: seen(theirs()) }),
    is: "Deleting/idle",
    synced: "Paused",
  },
  "D4: a policy of another build is met by nothing": {
    k: known(deleting({ spec: { managementPolicy: "Look" as "Full" }, status: inStep() }), {
      observation: seen(),
    }),
    is: "Deleting/idle",
    synced: "InvalidSpec",
  },
  "A1: to be managed it gets its finalizer first": {
    k: known(watched(state, { spec: { providerId: "db-9" } })),
    is: "Pending/finalize",
  },
  "A1: then what carries its UID is looked for": {
    k: known(cr({ spec: { providerId: "db-9" }, status: state }), { observation: seen(theirs()) }),
    is: "Drifted/lookup",
  },
  "A1: then it is adopted": {
    k: known(cr({ spec: { providerId: "db-9" }, status: state }), {
      observation: seen(theirs()),
      lookup: lookup([]),
    }),
    is: "Pending/adopt",
  },
  "A1: one that was retained is adopted too": {
    k: known(cr({ spec: { providerId: "db-9" }, status: state }), {
      observation: seen(theirs({ tags: tags({ [TAG.uid]: "before", [TAG.retained]: "before" }) })),
      lookup: lookup([]),
    }),
    is: "Pending/adopt",
  },
  "A1: not while an earlier create may bring another": {
    k: known(cr({ spec: { providerId: "db-9" }, status: state }), {
      observation: seen(theirs()),
      lookup: lookup([]),
      unknownSince: NOW - 1_000,
    }),
    is: "Pending/wait",
  },
  "D8: deleted before it was adopted, it leaves what was never its own": {
    k: known(deleting({ spec: { providerId: "db-9", deletionPolicy: "Delete" }, status: state }), {
      observation: seen(theirs()),
      lookup: lookup([]),
    }),
    is: "Deleting/release",
    cause: "observeOnly",
  },
});

Deno.test("The status shows what is observed, and nothing of what is another namespace's", () => {
  const shown = known(watched({ providerId: "db-9" }), { observation: seen(theirs()) });
  assertEquals(statusOf(shown, decide(shown, view())).endpoint, "db-1.example:5432");
  const hidden = known(watched({ providerId: "db-9" }), {
    observation: seen(theirs({ tags: tags({ [TAG.uid]: "someone", [TAG.namespace]: "other" }) })),
  });
  assertEquals(statusOf(hidden, decide(hidden, view())).endpoint, undefined);
});

Deno.test("A deletion that takes no snapshot does not name one", () => {
  const k = known(dead({ deletionPolicy: "Delete" }, inStep(said)), { observation: seen() });
  assertEquals(statusOf(k, decide(k, view())).finalSnapshot, undefined);
});
