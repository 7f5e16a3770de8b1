import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, FINALIZER } from "../../src/api/constants.ts";
import { initialKnowledge, type Knowledge } from "../../src/statechart/knowledge.ts";
import { isNew } from "../../src/statechart/resource.ts";
import { isOlder } from "../../src/api/resource_version.ts";
import { fail, learn, succeed } from "../../src/statechart/learn.ts";
import { absent, cr, db, deleting, inStep, known, NOW, seen } from "./support.ts";

const rv = (resourceVersion: string, change: Parameters<typeof cr>[0] = {}) =>
  cr({ ...change, meta: { resourceVersion, ...change.meta } });

Deno.test("learn: resourceVersions are compared as numbers of any length; what is no number is newer", () => {
  assert(isOlder(rv("99"), rv("100")));
  assert(!isOlder(rv("100"), rv("99")));
  assert(!isOlder(rv("100"), rv("100")));
  assert(isOlder(rv("99999999999999999998"), rv("99999999999999999999")));
  assert(!isOlder(rv("abc"), rv("100")));
});

Deno.test("learn: an older copy and another UID's change nothing (W7)", () => {
  const k = known(rv("100"), { confirmed: true });
  assertEquals(learn(k, { object: rv("99", { spec: { sizeGb: 50 } }) }, NOW), k);
  assertEquals(learn(k, { object: rv("101", { meta: { uid: "another" } }) }, NOW), k);
});

Deno.test("L4: an answer of the API server that is older than what a watch has told since confirms that too", () => {
  const heard = learn(known(rv("100")), { object: rv("103"), heard: true }, NOW);
  const k = learn(heard, { object: rv("102") }, NOW);
  assertEquals([heard.confirmed, k.object.metadata.resourceVersion, k.confirmed], [false, "103", true]);
});

const failure = {
  effect: "create" as const,
  state: "Creating" as const,
  errorClass: "rejected",
  message: "no",
  delayMs: 600_000,
};
const troubled = () => fail(fail(known(rv("100")), failure, NOW), failure, NOW);

const RESETS: Readonly<Record<string, Parameters<typeof cr>[0]>> = {
  "a new generation": { meta: { generation: 2 }, spec: { sizeGb: 50 } },
  "a deletion": { meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
  "the reconcile annotation": { meta: { annotations: { [ANNOTATION.reconcile]: "1" } } },
  "the adopt-from annotation": { meta: { annotations: { [ANNOTATION.adoptFrom]: "x" } } },
  "the confirm-absence annotation": { meta: { annotations: { [ANNOTATION.confirmAbsence]: "x" } } },
  "the abandon annotation": { meta: { annotations: { [ANNOTATION.abandon]: "x" } } },
};
for (const [what, change] of Object.entries(RESETS)) {
  Deno.test(`rule 23: ${what} resets back-off`, () => {
    const k = learn(troubled(), { object: rv("101", change) }, NOW);
    assertEquals([k.failure, k.failures, k.attempts], [undefined, {}, {}]);
    assertEquals(k.stimuli, 1);
  });
}

const KEEPS: Readonly<Record<string, Parameters<typeof cr>[0]>> = {
  "a label": { meta: { labels: { team: "a" } } },
  "a foreign annotation": { meta: { annotations: { "kubectl.kubernetes.io/last-applied": "{}" } } },
  "a finalizer": { meta: { finalizers: [FINALIZER, "other/finalizer"] } },
  "a status": { status: inStep() },
};
for (const [what, change] of Object.entries(KEEPS)) {
  Deno.test(`rule 23: ${what} does not reset back-off`, () => {
    const before = troubled();
    const k = learn(before, { object: rv("101", change) }, NOW);
    assertEquals(k.failures, before.failures);
    assertEquals([k.attempts.create, k.stimuli], [2, 0]);
    assertEquals(k.object.metadata.resourceVersion, "101");
  });
}

Deno.test("rule 23: the same reconcile value again resets nothing, and an acknowledged one asks for nothing", () => {
  const meta = { annotations: { [ANNOTATION.reconcile]: "1" } };
  let k = learn(known(rv("100")), { object: rv("101", { meta }) }, NOW);
  assertEquals(k.refreshSince, NOW);
  k = fail(k, failure, NOW);
  k = learn(k, { object: rv("102", { meta, status: inStep({ lastHandledReconcile: "1" }) }) }, NOW + 50);
  assertEquals([k.attempts.create, k.refreshSince], [1, NOW]);
  assertEquals(
    initialKnowledge(rv("102", { meta, status: inStep({ lastHandledReconcile: "1" }) }), NOW).refreshSince,
    undefined,
  );
  assertEquals(initialKnowledge(rv("102", { meta }), NOW).refreshSince, NOW, "a restart does not forget it");
});

Deno.test("rule 10: an observation sent before the answer of our last mutation is dropped", () => {
  const k = learn(known(cr({ status: inStep() })), {
    observation: { kind: "present", database: db({ state: "Modifying" }), sentAt: NOW },
    modify: { outcome: "answered", at: NOW + 20 },
  }, NOW + 20);
  assertEquals(k.mutatedAt, NOW + 20);
  const late = learn(k, { observation: { kind: "present", database: db(), sentAt: NOW + 19 } }, NOW + 40);
  assertEquals(late.observation, k.observation);
  assertEquals(late.lastReadAt, k.lastReadAt, "a dropped answer is no read");
  const next = learn(k, { observation: { kind: "present", database: db(), sentAt: NOW + 20 } }, NOW + 40);
  assertEquals(next.observation?.sentAt, NOW + 20);
});

Deno.test("rule 10: of two observations the one sent later stands, whichever comes last", () => {
  const k = learn(known(cr()), { observation: seen(db(), 10) }, NOW);
  assertEquals(learn(k, { observation: absent(20) }, NOW).observation, k.observation);
  assertEquals(learn(k, { observation: absent(5) }, NOW).observation?.kind, "absent");
});

Deno.test("S6: an error is never cached, and a read ends an outage", () => {
  let k = learn(known(cr({ status: inStep() })), { observation: seen() }, NOW);
  k = learn(k, { unreadable: { errorClass: "retryable", message: "500" } }, NOW);
  assertEquals(k.observation, seen());
  assertEquals(k.unreadable?.message, "500");
  k = learn(k, { observation: seen(db(), 0) }, NOW);
  assertEquals(k.unreadable, undefined);
});

Deno.test("rule 3: a finalizer write proves a resource new only if nothing else was ever seen", () => {
  const fresh = cr({ meta: { finalizers: [] } });
  assert(isNew(fresh));
  const written = { object: rv("101"), finalizerWrittenOnNew: true as const };
  const now = (object: typeof fresh, kept = {}) =>
    learn({ ...initialKnowledge(object, NOW, kept) }, written, NOW).provenNew;
  // The object comes first: what the write itself brought is not yet known as anything else.
  assertEquals(now(fresh), true);
  assertEquals(now(cr({ meta: { finalizers: [] }, status: inStep() })), false);
  assertEquals(now(fresh, { bornHere: false }), false);
  const stripped = learn(known(cr()), { object: rv("101", { meta: { finalizers: [] } }) }, NOW);
  assertEquals(learn(stripped, { ...written, object: rv("102") }, NOW).provenNew, false, "A4");
});

Deno.test("rule 5: a create of unknown outcome is remembered with its end, a refused one is not", () => {
  const after = (outcome: "answered" | "refused" | "unknown" | "exists", k: Knowledge = known(cr())) =>
    learn(k, { create: { outcome, at: NOW + 5, code: "TokenUsed" } }, NOW + 5);
  assertEquals(after("unknown").unknownSince, NOW + 5);
  assertEquals(after("exists").unknownSince, NOW + 5);
  assertEquals(after("exists").createExists, "TokenUsed");
  assertEquals(after("refused").unknownSince, undefined);
  assertEquals(after("refused", after("unknown")).unknownSince, NOW + 5, "a later refusal does not undo it");
  assertEquals(after("refused", after("exists")).createExists, undefined);
  for (const outcome of ["answered", "refused", "unknown", "exists"] as const) {
    const k = after(outcome, { ...known(cr()), provenNew: true, untouched: true });
    assertEquals([k.provenNew, k.untouched], [false, false]);
  }
});

Deno.test("rule 8: a modify of unknown outcome is remembered until one is answered", () => {
  let k = learn(known(cr()), { modify: { outcome: "unknown", at: NOW } }, NOW);
  assertEquals(k.modifyUnknownSince, NOW);
  k = learn(k, { modify: { outcome: "answered", at: NOW + 9 } }, NOW + 9);
  assertEquals([k.modifyUnknownSince, k.mutatedAt], [undefined, NOW + 9]);
});

Deno.test("dropped on delete: what was cached of a removed database says nothing any more", () => {
  const before = known(deleting({ status: inStep() }), {
    observation: seen(),
    lookup: { sentAt: NOW, found: [db()] },
  });
  const k = learn(before, { removed: { id: "db-1", at: NOW + 1 } }, NOW + 1);
  assertEquals([k.observation, k.lookup, k.removals["db-1"]], [undefined, undefined, NOW + 1]);
  const other = learn(before, { removed: { id: "db-2", at: NOW + 1 } }, NOW + 1);
  assertEquals(other.observation, before.observation);
  const asked = learn(before, { asked: { id: "db-1", at: NOW + 1 } }, NOW + 1);
  assertEquals([asked.observation, asked.removals["db-1"]], [before.observation, NOW + 1]);
});

Deno.test("rule 7: a raised incarnation forgets the last database, one that brings an id does not", () => {
  const before = known(rv("100", { status: inStep() }), {
    observation: absent(),
    lookup: { sentAt: NOW, found: [] },
    createExists: "TokenUsed",
    unlistedAt: NOW,
  });
  const k = learn(before, { object: rv("101", { status: { incarnation: 2 } }) }, NOW);
  assertEquals([k.observation, k.lookup, k.createExists, k.unlistedAt], [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  const moved = learn(before, {
    object: rv("101", { status: inStep({ incarnation: 2, providerId: "db-2" }) }),
  }, NOW);
  assertEquals(moved.observation, before.observation);
});

Deno.test("S1, rule 5: an id that a person takes away opens the settle window of the last create, change or removal", () => {
  const before = known(rv("100", { status: inStep() }), {
    observation: seen(),
    mutatedAt: NOW - 9_000,
    removals: { "db-1": NOW - 4_000 },
  });
  const wiped = (k: Knowledge) => learn(k, { object: rv("101", { status: {} }) }, NOW).unknownSince;
  assertEquals(wiped(before), NOW - 4_000);
  assertEquals(wiped({ ...before, removals: {} }), NOW - 9_000);
});

Deno.test("failures: each effect has its own; one that succeeds ends its own alone; a report's is told to nobody", () => {
  let k = fail(known(cr()), failure, NOW);
  k = fail(k, { ...failure, effect: "report", delayMs: 100 }, NOW);
  assertEquals(k.failure?.effect, "create");
  assertEquals([k.failures.create?.until, k.failures.report?.until], [NOW + 600_000, NOW + 100]);
  k = fail(k, { ...failure, effect: "lookup", delayMs: 1_000 }, NOW);
  assertEquals(k.failures.create?.until, NOW + 600_000);
  k = succeed(k, "lookup");
  assertEquals([k.failures.lookup, k.attempts.lookup, k.failure], [undefined, undefined, undefined]);
  assertEquals([k.failures.create?.attempt, k.attempts.create], [1, 1]);
  k = fail(k, failure, NOW + 600_000);
  assertEquals(k.failures.create?.attempt, 2);
});

Deno.test("transitional states: their age counts from the first read of them, and ends with them", () => {
  const read = (k: Knowledge, state: "Modifying" | "Available" | "Deleting", at: number) =>
    learn(k, { observation: { kind: "present", database: db({ state }), sentAt: at } }, at);
  let k = read(known(cr()), "Modifying", NOW);
  k = read(k, "Modifying", NOW + 500);
  assertEquals([k.transitionalSince, k.polls], [NOW, 2]);
  k = read(k, "Available", NOW + 1_000);
  assertEquals([k.transitionalSince, k.polls], [undefined, 0]);
  k = read(k, "Deleting", NOW + 2_000);
  assertEquals(k.transitionalSince, NOW + 2_000);
});

Deno.test("rule 24: a sleeper wakes with what it kept, and a crashed actor with less", () => {
  const kept = { bornHere: true, observation: seen(), mutatedAt: NOW - 5, lastReadAt: NOW - 9 };
  const k = initialKnowledge(cr({ status: inStep() }), NOW, kept);
  assertEquals([k.bornHere, k.observation, k.mutatedAt, k.lastReadAt], [true, seen(), NOW - 5, NOW - 9]);
  assertEquals(initialKnowledge(cr({ meta: { finalizers: [] } }), NOW, { bornHere: false }).untouched, false);
});

Deno.test("S2: a CR that was thought gone and is read alive is not new, and what was proven by its being new is not", () => {
  const lost = known(cr(), { gone: true, goneRead: true, bornHere: true, untouched: true });
  const alive = learn(lost, { foundAlive: true, object: rv("101") }, NOW);
  assertEquals([alive.gone, alive.goneRead, alive.bornHere, alive.untouched], [false, false, false, false]);
  const unread = learn(lost, { foundAlive: true }, NOW);
  assertEquals([unread.gone, unread.goneRead, unread.bornHere], [true, false, false]);
});

Deno.test("rule 10: only a change that was answered dates the cache; one of unknown outcome does not", () => {
  const k = known(cr({ status: inStep() }), { observation: seen() });
  const lost = learn(k, { modify: { outcome: "unknown", at: NOW } }, NOW);
  assertEquals([lost.mutatedAt, lost.modifyUnknownSince], [k.mutatedAt, NOW]);
  const answered = learn(lost, { modify: { outcome: "answered", at: NOW + 1 } }, NOW + 1);
  assertEquals([answered.mutatedAt, answered.modifyUnknownSince], [NOW + 1, undefined]);
});

Deno.test("S5: every deletion that was accepted is counted for its database", () => {
  let k = known(deleting({ status: inStep() }), { observation: seen() });
  for (const expected of [1, 2, 3]) {
    k = learn(k, { removed: { id: "db-1", at: NOW } }, NOW);
    assertEquals(k.removalTries, { "db-1": expected });
  }
  assertEquals(learn(k, { removed: { id: "db-2", at: NOW } }, NOW).removalTries, { "db-1": 3, "db-2": 1 });
});

Deno.test("rule 16: a mark counts for the database that was recorded when it was made", () => {
  const marked = known(deleting({ status: inStep() }), { retained: true });
  const next = (providerId: string) =>
    learn(
      marked,
      { object: deleting({ meta: { resourceVersion: "101" }, status: inStep({ providerId }) }) },
      NOW,
    );
  assertEquals([next("db-1").retained, next("db-2").retained], [true, false]);
});

Deno.test("W8: a cluster that went back makes an actor begin anew, with what the provider said and what it did itself", () => {
  const k: Knowledge = {
    ...known(rv("150", { status: inStep() }), { observation: seen() }),
    ...{ bornHere: true, untouched: true, provenNew: true, retained: true, goneRead: true, stimuli: 4 },
    ...{ mutatedAt: NOW - 20, lastReadAt: NOW - 10, modifyUnknownSince: NOW - 5, removals: { "db-1": NOW } },
  };
  const old = rv("120");
  const back = learn(k, { object: old, rewound: "150" }, NOW);
  assertEquals(back, {
    ...initialKnowledge(old, NOW),
    ...{
      bornHere: false,
      untouched: false,
      mayExist: true,
      unknownSince: NOW,
      goneRead: false,
      stimuli: 5,
      rewinds: 1,
    },
    ...{ observation: k.observation, mutatedAt: NOW - 20, lastReadAt: NOW - 10 },
    ...{ modifyUnknownSince: NOW - 5, account: "acct", passwordUnsure: true },
  });
  const named = learn(
    k,
    { object: rv("120", { status: inStep({ account: "other" }) }), rewound: "150" },
    NOW,
  );
  assertEquals([named.account, named.named], ["other", true]);
  assertEquals(
    learn(k, { object: rv("120"), rewound: "151" }, NOW).object,
    k.object,
    "it was left behind already",
  );
  const another = rv("120", { meta: { uid: "another" } });
  assertEquals(learn(k, { object: another, rewound: "150" }, NOW).object, k.object);
});
