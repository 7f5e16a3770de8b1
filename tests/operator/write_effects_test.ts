/** The effects that write to the CR alone: what they write, what they learn, and what they tell (rules 1, 2, 6, 7). */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase, ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { type JsonPatchOperation, KubeError, type KubeErrorKind } from "../../src/kube/port.ts";
import { finalize, record, reincarnate, release, report } from "../../src/operator/effects/writes.ts";
import { stepError } from "../../src/operator/effects/env.ts";
import { ProviderError, type ProviderErrorClass } from "../../src/providers/port.ts";
import type { StepError } from "../../src/statechart/step_error.ts";
import type { Decision } from "../../src/statechart/decision.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { learn } from "../../src/statechart/learn.ts";
import { ManualClock } from "../support/manual_clock.ts";
import {
  absent,
  condition,
  cr,
  db,
  deleting,
  inStep,
  known,
  NOW,
  seen,
  tags,
  UID,
} from "../statechart/support.ts";
import { type Answers, EffectRig, failing, run } from "./effect_rig.ts";

const BEGIN = new ManualClock();
const WALL = new Date(BEGIN.now()).toISOString().replace(".000Z", "Z");
const notFound = new KubeError("notFound", "no such resource");
const refusedAs = (kind: KubeErrorKind) => new KubeError(kind, `refused: ${kind}`);
const withoutStatus = (object: ExternalDatabase) =>
  ({ ...object, status: undefined }) as unknown as ExternalDatabase;

/** What a patch makes of a status. */
function written(status: ExternalDatabaseStatus, operations: readonly JsonPatchOperation[] = []) {
  const next: Record<string, unknown> = { ...status };
  for (const o of operations) {
    const field = o.path.replace("/status/", "");
    if (o.op === "add") next[field] = o.value;
    if (o.op === "remove") delete next[field];
  }
  return next;
}

/** Fields that a patch tests. */
function tested(operations: readonly JsonPatchOperation[] = []): readonly string[] {
  return operations.flatMap((o) => o.op === "test" ? [`${o.path} ${o.value}`] : []);
}

const fresh = cr({ meta: { finalizers: [], creationTimestamp: new Date(BEGIN.now()).toISOString() } });
const finalized = cr({ meta: { resourceVersion: "101" } });

Deno.test("rules 1, 2: the finalizer is written under the CR's UID and version, and what it proves is learned", async () => {
  const { patches, learned } = await run(finalize, known(fresh), { patched: finalized });
  assertEquals(patches, [[
    { op: "test", path: "/metadata/uid", value: UID },
    { op: "test", path: "/metadata/resourceVersion", value: "100" },
    { op: "add", path: "/metadata/finalizers", value: [FINALIZER] },
  ]]);
  assertEquals(learned, { object: finalized, finalizerWritten: true, finalizerWrittenOnNew: true });
});

Deno.test("rule 1: new is a CR that looks new and is younger than a minute", async () => {
  const isNew = async (object: ExternalDatabase) =>
    (await run(finalize, known(object), { patched: finalized })).learned.finalizerWrittenOnNew === true;
  const born = (ageMs: number) =>
    cr({ meta: { finalizers: [], creationTimestamp: new Date(BEGIN.now() - ageMs).toISOString() } });
  assertEquals(await isNew(born(59_999)), true);
  assertEquals(await isNew(born(60_000)), false);
  assertEquals(await isNew(cr({ meta: { finalizers: [] } })), true, "when it was born is not said");
  assertEquals(await isNew({ ...fresh, status: { state: "Pending" } }), false);
});

Deno.test("rule 5: a finalizer that another wrote first is known as such; what else a write meets is a failure", async () => {
  const k = known(fresh);
  const conflict = refusedAs("conflict");
  assertEquals((await run(finalize, k, { patched: conflict, read: finalized })).learned, {
    object: finalized,
    finalizerOfAnother: true,
  });
  const bare = { ...fresh, metadata: { ...fresh.metadata, resourceVersion: "101" } };
  const error = await failing(finalize, k, { patched: conflict, read: bare });
  assertEquals([error.errorClass, error.learned], ["conflict", { object: bare }]);
  assertEquals((await run(finalize, k, { patched: notFound })).learned, { gone: true });
  assertEquals((await failing(finalize, k, { patched: refusedAs("network") })).errorClass, "kubernetes");
  const there = await run(finalize, known(finalized));
  assertEquals([there.patches, there.learned], [[], { object: finalized }]);
});

const made: Knowledge = known(cr(), { lookup: { sentAt: NOW - 50, found: [db()] } });
const recording = (database = db()): { readonly decision: Partial<Decision> } => ({ decision: { database } });

Deno.test("rule 6: an id is recorded with all that is known, and told by an Event", async () => {
  const rig = new EffectRig();
  const patched = cr({ meta: { resourceVersion: "101" } });
  const bare = { ...made, object: withoutStatus(cr()) };
  const { patches, learned } = await rig.run(record, bare, { ...recording(), patched });
  assertEquals(tested(patches[0]), [`/metadata/uid ${UID}`, "/metadata/resourceVersion 100"]);
  const { conditions, ...status } = written({}, patches[0]);
  assertEquals(status, {
    state: "Available",
    providerId: "db-1",
    account: "acct",
    incarnation: 1,
    endpoint: "db-1.example:5432",
    providerState: "Available",
    observedGeneration: 1,
    observed: { engine: "postgres", version: "14.2", sizeGb: 20 },
  });
  assertEquals((conditions as { lastTransitionTime: string }[]).map((c) => c.lastTransitionTime), [
    WALL,
    WALL,
  ]);
  assertEquals(learned, {
    object: patched,
    recorded: true,
    account: "acct",
    observation: { kind: "present", database: db(), sentAt: NOW - 50 },
    duplicates: [],
  });
  assertEquals(rig.events, [{
    regarding: patched,
    type: "Normal",
    reason: "Created",
    action: "Create",
    note: 'Created the database "db-1" (postgres 14.2, 20 GiB)',
  }]);
  assertEquals(rig.told, [`heard ${NOW - 50}`]);
});

Deno.test("rule 6: what was read or answered of a database stays; what only a lookup or a decision named is an observation", async () => {
  const observation = async (change: Partial<Knowledge>) =>
    (await run(record, { ...made, ...change }, recording())).learned.observation;
  assertEquals(await observation({ observation: seen() }), undefined);
  const other = seen(db({ id: "db-2" }));
  assertEquals((await observation({ observation: other }))?.sentAt, NOW - 50);
  assertEquals((await observation({ observation: absent() }))?.sentAt, NOW - 50);
  assertEquals((await observation({ lookup: undefined }))?.sentAt, BEGIN.monotonic());
  const heard = async (change: Partial<Knowledge>) => {
    const rig = new EffectRig();
    await rig.run(record, { ...made, ...change }, recording());
    return rig.told;
  };
  assertEquals(await heard({ observation: seen() }), [`heard ${NOW - 100}`]);
  assertEquals(await heard({ observation: other }), [`heard ${NOW - 50}`]);
  assertEquals(await heard({ lookup: undefined }), [`heard ${BEGIN.monotonic()}`]);
});

Deno.test("S1: other live databases with the CR's UID are known as duplicates of the one that is recorded", async () => {
  const found = [
    db(),
    db({ id: "db-2" }),
    db({ id: "db-3", state: "Deleting" }),
    db({ id: "db-4", tags: tags({ [TAG.uid]: "another" }) }),
  ];
  assertEquals(
    (await run(record, { ...made, lookup: { sentAt: NOW, found } }, recording())).learned.duplicates,
    [
      "db-2",
    ],
  );
});

Deno.test("rule 19: what was adopted is told as adopted", async () => {
  const rig = new EffectRig();
  const taker = known(cr({ spec: { providerId: "db-1" } }), { observation: seen() });
  const { patches } = await rig.run(record, taker, recording());
  assertEquals(written({}, patches[0])["adopted"], true);
  assertEquals(rig.events.map((e) => [e.reason, e.action, e.note]), [
    ["Adopted", "Adopt", 'Adopted the database "db-1" (postgres 14.2, 20 GiB)'],
  ]);
});

Deno.test("A4: another stands in for a recorded database only where a read shows that that is not the CR's, or no more", async () => {
  const other = db({ id: "db-2" });
  const k = known(cr({ status: inStep() }), { lookup: { sentAt: NOW, found: [other] } });
  const note = 'Recorded the database "db-2", which carries this resource\'s UID, in place of "db-1"';
  for (const database of ["absent", db({ state: "Deleting" }), db({ tags: {} })] as const) {
    const rig = new EffectRig();
    const { patches } = await rig.run(record, k, { ...recording(other), database });
    assertEquals(written(inStep(), patches[0])["providerId"], "db-2");
    assertEquals(rig.events.map((e) => [e.reason, e.action, e.note]), [["Recorded", "Record", note]]);
  }
  const { patches, learned } = await run(record, k, recording(other));
  assertEquals([patches, learned], [[], { observation: { kind: "present", database: db(), sentAt: NOW } }]);
  const rig = new EffectRig();
  assertEquals((await rig.run(record, k, recording())).asked, [], "it is the recorded one itself");
  assertEquals(rig.events.map((e) => e.reason), ["Created"]);
});

Deno.test("A2, rule 6: an id is recorded under the account that names itself after the database was seen", async () => {
  const provider = (account: string) => ({ account, clientTokens: true, readLagMs: 0, effectBoundMs: 0 });
  /** The account changes while it is waited for. */
  const account = async (answers: Answers, rig = new EffectRig()) => {
    let looks = 0;
    const view = () => ({ provider: provider(looks++ === 0 ? "acct" : "other") });
    const { learned, patches } = await rig.run(record, made, { ...recording(), view, ...answers });
    assertEquals(written({}, patches[0])["account"], learned.account);
    return learned.account;
  };
  assertEquals(await account({}), "other", "it is there too, so it was there");
  assertEquals(await account({ database: "absent" }), "acct");
  assertEquals(await account({ view: {}, database: "absent" }), "acct");
  const since = { accountSince: NOW - 50 };
  const rig = new EffectRig();
  assertEquals(await account({ view: since, database: "absent" }, rig), "acct");
  assertEquals(rig.lanes, ["create"], "it may have changed and changed back: a read tells");
  assertEquals(await account({ view: { provider: undefined } }), undefined);
});

Deno.test("rule 6: an account that is throttled holds no record up for more than ten seconds", async () => {
  const rig = new EffectRig();
  let done = false;
  const recorded = rig.run(record, made, { ...recording(), unheard: true }).then(() => done = true);
  await rig.clock.advance(9_999);
  assertEquals(done, false);
  await rig.clock.advance(1);
  await recorded;
  assertEquals(rig.events.length, 1);
  const end = new Error("stopped");
  assert(await assertRejects(() => run(record, made, { ...recording(), unheard: end })) === end);
});

Deno.test("S2: a record that was not answered may have landed, one that was refused did not", async () => {
  const asked = async (kind: KubeErrorKind) => {
    const read = cr({ meta: { resourceVersion: "101" } });
    const rig = new EffectRig();
    const error = await rig.failing(record, made, { ...recording(), patched: refusedAs(kind), read });
    assertEquals(rig.events, []);
    return [error.learned.recordAsked, error.learned.object === read];
  };
  for (const kind of ["server", "unavailable", "network", "timeout"] as const) {
    assertEquals(await asked(kind), [true, false], kind);
  }
  assertEquals(await asked("forbidden"), [undefined, false]);
  assertEquals(await asked("conflict"), [undefined, true]);
  const rig = new EffectRig();
  const gone = await rig.run(record, made, { ...recording(), patched: notFound });
  assertEquals([gone.learned.gone, gone.learned.account, rig.events], [true, "acct", []]);
  assertEquals((await failing(record, made)).errorClass, "bug", "nothing was decided");
});

const verdict = { status: "False", reason: "Conflict", message: "Someone else's" } as const;
const conflict: { readonly decision: Partial<Decision> } = {
  decision: { state: "Drifted", ready: verdict, synced: verdict },
};

Deno.test("L3: a throttled call is tried again when its answer says so, else in a second; no other says when", () => {
  const again = (errorClass: ProviderErrorClass, retryAfterMs?: number) => {
    const error = new ProviderError(errorClass, "no", retryAfterMs === undefined ? {} : { retryAfterMs });
    return (stepError(error) as StepError).retryAfterMs;
  };
  assertEquals(again("throttled", 30_000), 30_000);
  assertEquals(again("throttled"), 1_000);
  assertEquals(again("retryable", 30_000), undefined);
});

Deno.test("S5: a report writes what is new, tells it, and is known by what it said; one that says nothing new writes nothing", async () => {
  const rig = new EffectRig();
  const patched = cr({
    meta: { resourceVersion: "101" },
    status: {
      conditions: [condition("Ready", "False", "Conflict"), condition("Synced", "False", "Conflict")],
    },
  });
  const k = known(cr({ status: inStep({ repair: [] }) }));
  const { patches, learned } = await rig.run(report, k, { ...conflict, patched });
  const status = written(inStep(), patches[0]);
  assertEquals(status["state"], "Drifted");
  assertEquals((status["conditions"] as { message: string }[]).map((c) => c.message), [
    "Someone else's",
    "Someone else's",
  ]);
  assertEquals(rig.events.map((e) => e.reason), ["Conflict"]);
  assertEquals([learned.object, learned.reported?.resourceVersion], [patched, "101"]);
  assert(/^conditions: .*Someone else's.*\nstate: "Drifted"$/s.test(learned.reported?.text ?? ""));
  const again = new EffectRig();
  const told = cr({ status: written(inStep(), patches[0]) as ExternalDatabaseStatus });
  const repeated = await again.run(report, known(told), conflict);
  assertEquals([repeated.patches, again.events], [[], []]);
  assertEquals(repeated.learned, { object: told, reported: { text: "", resourceVersion: "100" } });
});

Deno.test("rule 7: what does not hold any more is removed from the status", async () => {
  const status = inStep({ provisioningFailures: 1, removing: "db-1" });
  const { patches } = await run(report, known(cr({ status }), { observation: seen() }), conflict);
  const removed = (patches[0] ?? []).flatMap((o) => o.op === "remove" ? [o.path] : []);
  assertEquals(removed.toSorted(), ["/status/provisioningFailures", "/status/removing"]);
  const bare = await run(report, known(withoutStatus(cr())), conflict);
  assertEquals(written({}, bare.patches[0])["state"], "Drifted");
});

Deno.test("S5: a report of a resource that is gone tells nobody", async () => {
  const rig = new EffectRig();
  const { learned } = await rig.run(report, known(cr()), { ...conflict, patched: notFound });
  assertEquals([learned, rig.events], [{ gone: true }, []]);
});

Deno.test("C2: a status write that meets a newer object brings it, for the next decision", async () => {
  const read = cr({ meta: { resourceVersion: "101" } });
  for (const kind of ["conflict", "invalid"] as const) {
    const error = await failing(report, known(cr()), { ...conflict, patched: refusedAs(kind), read });
    assertEquals([error.errorClass, error.message, error.learned], ["conflict", `refused: ${kind}`, {
      object: read,
    }]);
    assert(error.cause instanceof KubeError);
    const gone = await run(report, known(cr()), { ...conflict, patched: refusedAs(kind), read: notFound });
    assertEquals(gone.learned, { gone: true });
    const unread = await failing(report, known(cr()), {
      ...conflict,
      patched: refusedAs(kind),
      read: refusedAs("network"),
    });
    assertEquals([unread.errorClass, unread.code], ["kubernetes", kind], "the write had its answer");
  }
});

Deno.test("L4, K4: what only a list or a watch showed is reported on under its version: a lagging server may have shown it (seed 98924)", async () => {
  const copy = cr({ meta: { resourceVersion: "101" } });
  const patched = async (knowledge: Knowledge) => tested((await run(report, knowledge)).patches[0]);
  const uid = `/metadata/uid ${UID}`;
  const heard = learn(known(cr()), { object: copy, heard: true }, NOW);
  assertEquals(await patched(heard), [uid, "/metadata/resourceVersion 101"]);
  assertEquals(await patched(learn(known(cr()), { object: copy }, NOW)), [uid], "an answer is no old copy");
  const later = learn(heard, { object: cr({ meta: { resourceVersion: "102" } }) }, NOW);
  assertEquals(await patched(later), [uid]);
});

/** The status after a lost database is let go. */
async function reborn(knowledge: Knowledge, answers: Answers = {}) {
  const rig = new EffectRig();
  const { patches } = await rig.run(reincarnate, knowledge, answers);
  const { conditions, ...status } = written(knowledge.object.status ?? {}, patches[0]);
  assertEquals((conditions as unknown[]).length, 2);
  return { status, events: rig.events, patch: patches[0] };
}

Deno.test("rule 7: a lost database is let go with all that was said of it, counted, and told", async () => {
  const full = inStep({ adopted: true, removing: "db-9", repair: [], losses: 2 });
  const { status, events, patch } = await reborn(known(cr({ status: full }), { observation: absent() }));
  assertEquals(tested(patch), [
    `/metadata/uid ${UID}`,
    "/metadata/resourceVersion 100",
    "/status/providerId db-1",
    "/status/incarnation 1",
  ]);
  assertEquals(status, {
    state: "Pending",
    account: "acct",
    incarnation: 2,
    observedGeneration: 1,
    losses: 1,
    lastLossTime: WALL,
  });
  assertEquals(events.map(({ regarding: _, ...event }) => event), [{
    type: "Warning",
    reason: "ExternalMissing",
    action: "Recreate",
    note: 'The database "db-1" is gone at the provider; creating another',
  }]);
});

Deno.test("rule 7: losses in a row are counted, up to what a status can hold", async () => {
  const losses = async (losses: number) => {
    const status = inStep({ losses, lastLossTime: WALL });
    return (await reborn(known(cr({ status })))).status["losses"];
  };
  assertEquals(await losses(2), 3);
  assertEquals(await losses(2 ** 31 - 1), 2 ** 31 - 1);
});

Deno.test("rule 7: one that failed and was removed counts as a failure, not as a loss, and was told before", async () => {
  const asked = { removals: { "db-1": NOW } };
  const first = await reborn(known(cr({ status: inStep() }), asked));
  assertEquals([first.status["provisioningFailures"], first.status["losses"], first.events], [
    1,
    undefined,
    [],
  ]);
  const again = await reborn(known(cr({ status: inStep({ provisioningFailures: 4 }) }), asked));
  assertEquals(again.status["provisioningFailures"], 5);
});

Deno.test("rule 7: where no database was named none is counted or told, nor for a resource that is gone", async () => {
  for (const object of [cr(), withoutStatus(cr())]) {
    const { status, events } = await reborn(known(object));
    assertEquals([status, events], [{ state: "Pending", incarnation: 2 }, []]);
  }
  const rig = new EffectRig();
  const lost = known(cr({ status: inStep() }), { observation: absent() });
  const { learned } = await rig.run(reincarnate, lost, { patched: notFound });
  assertEquals([learned, rig.events], [{ gone: true }, []]);
});

const ending = known(deleting({ meta: { finalizers: ["a/b", FINALIZER] }, status: inStep() }));

Deno.test("S4, D6: our finalizer alone is removed, where it is, and why is told", async () => {
  const rig = new EffectRig();
  const patched = deleting({ meta: { finalizers: ["a/b"], resourceVersion: "101" } });
  const { patches, learned } = await rig.run(release, ending, { patched, decision: { cause: "abandon" } });
  assertEquals(patches[0]?.slice(-2), [
    { op: "test", path: "/metadata/finalizers/1", value: FINALIZER },
    { op: "remove", path: "/metadata/finalizers/1" },
  ]);
  assertEquals(learned, { object: patched, released: true });
  assertEquals(rig.events.map((e) => e.reason), ["Abandoned"]);
  const plain = new EffectRig();
  await plain.run(release, ending, { patched });
  assertEquals(plain.events.map((e) => e.reason), ["Deleted"]);
  const rest = known(deleting({ meta: { finalizers: [] } }));
  const none = await plain.run(release, rest);
  assertEquals([none.patches, none.learned, plain.events.length], [[], { object: rest.object }, 1]);
});

Deno.test("rule 16: a release whose answer was lost is ours if a read shows that it landed, and is told then", async () => {
  const patched = refusedAs("timeout");
  const landed = deleting({ meta: { finalizers: ["a/b"], resourceVersion: "101" } });
  for (const [read, learned] of [[landed, { object: landed }], [notFound, { gone: true }]] as const) {
    const rig = new EffectRig();
    assertEquals((await rig.run(release, ending, { patched, read })).learned, {
      ...learned,
      released: true,
    } as unknown);
    assertEquals(rig.events.length, 1);
  }
  const fails = async (read: ExternalDatabase | KubeError, refusal = patched) => {
    const rig = new EffectRig();
    const error = await rig.failing(release, ending, { patched: refusal, read });
    assertEquals([error.errorClass, error.message, rig.events], ["kubernetes", refusal.message, []]);
    return error.learned;
  };
  const still = deleting({ meta: { resourceVersion: "101" } });
  assertEquals(await fails(still), { object: still });
  assertEquals(await fails(refusedAs("network")), { releaseAsked: true });
  assertEquals(await fails(landed, refusedAs("forbidden")), {}, "it was refused: nothing is read");
  const rig = new EffectRig();
  assertEquals((await rig.run(release, ending, { patched: notFound })).learned, {
    gone: true,
    released: true,
  });
  assertEquals(rig.events.length, 1);
});
