/** The effects that delete or keep a database, alone (rules 7, 9, 12, 13 and 16): what they learn, and what they tell. */
import { assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { discard, remove } from "../../src/operator/effects/remove.ts";
import { retain } from "../../src/operator/effects/retain.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { ExternalState, Knowledge } from "../../src/statechart/knowledge.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { cr, db, deleting, inStep, known, NOW, seen, tags, UID } from "../statechart/support.ts";
import { type Answers, EffectRig, failing, run } from "./effect_rig.ts";
import { doomed, last } from "./removing.ts";

/** What the rig's clock shows at first. */
const BEGIN = new ManualClock().monotonic();
const observed = (database = db()) => ({ kind: "present" as const, database, sentAt: NOW });
const gone = { kind: "absent" as const, id: "db-1", sentAt: BEGIN };
const foreign = db({ tags: tags({ [TAG.uid]: "another" }) });
const notFound = new KubeError("notFound", "no such resource");
const lost = new ProviderError("unknown", "no answer in time");

Deno.test("rule 9: a delete is told by an Event, and forgets what was cached of the database", async () => {
  const rig = new EffectRig();
  const read = last();
  const { sent, requests, learned } = await rig.run(remove, doomed, { read, database: db() });
  assertEquals([sent, requests], [["delete"], [["db-1"]]]);
  assertEquals(learned, { object: read, observation: undefined, removed: { id: "db-1", at: NOW } });
  assertEquals(rig.events, [{
    regarding: read,
    type: "Normal",
    reason: "Deleting",
    action: "Delete",
    note: 'Deleting the database "db-1"',
  }]);
  assertEquals(rig.told, [`present ${UID}`], "rule 10: it was read, whatever a list said");
  assertEquals(rig.lines, []);
  assertEquals((await run(remove, doomed, { database: db({ state: "Failed" }) })).sent, ["delete"]);
});

Deno.test("rule 9: what a delete reads is learned where nothing is sent", async () => {
  const cases: Record<string, Answers> = {
    "it carries another's UID": { database: foreign },
    "it is provisioning": { database: db({ state: "Provisioning" }) },
    "it is dying already": { database: db({ state: "Deleting" }) },
    "a pause was heard of meanwhile": { latest: known(last({ spec: { paused: true } })) },
    "it is gone from the cluster": { latest: { ...doomed, gone: true } },
  };
  for (const [words, answers] of Object.entries(cases)) {
    const rig = new EffectRig();
    const read = last();
    const { sent, learned } = await rig.run(remove, doomed, { read, ...answers });
    const observation = observed(answers.database as ExternalState | undefined);
    assertEquals([sent, learned, rig.events], [[], { object: read, observation }, []], words);
  }
});

Deno.test("rules 9, 13, 16: what may not be deleted is not read at the cloud, and its resource is learned", async () => {
  const cases: Record<string, ExternalDatabase> = {
    "it is kept": last({ spec: { deletionPolicy: "Retain" } }),
    "it is paused": last({ spec: { paused: true } }),
    "it is abandoned": last({ meta: { annotations: { [ANNOTATION.abandon]: UID } } }),
    "it lives": cr({ meta: { resourceVersion: "101" }, status: inStep() }),
  };
  for (const [words, read] of Object.entries(cases)) {
    const { asked, learned } = await run(remove, doomed, { read });
    assertEquals([asked, learned], [["resource"], { object: read }], words);
  }
  const read = last();
  const terminating = await run(remove, doomed, { read, crd: "terminating" });
  assertEquals([terminating.asked, terminating.learned], [["resource"], {
    object: read,
    crdTerminating: true,
  }]);
  assertEquals((await failing(remove, doomed, { crd: "unreadable" })).errorClass, "kubernetes");
  const none = await run(remove, doomed, { read: notFound });
  assertEquals([none.asked, none.learned], [["resource"], { gone: true }]);
});

Deno.test("rule 13: a delete that waited for its turn so long that the word of the CRD grew old is not sent", async () => {
  const rig = new EffectRig();
  let reads = 0;
  const crdState = () => reads++ === 0 ? Promise.resolve("established") : Promise.reject(notFound);
  Object.assign((rig.env.crd as unknown as { cluster: object }).cluster, { crdState });
  assertEquals((await rig.run(remove, doomed, { queuedMs: 10_001 })).sent, []);
});

Deno.test("rule 12: an absence that nobody asked for is counted, one that we asked for is not", async () => {
  const told = async (knowledge: Knowledge) => {
    const rig = new EffectRig();
    const { learned } = await rig.run(remove, knowledge, { database: "absent" });
    assertEquals(learned.observation, gone);
    return rig.told;
  };
  assertEquals(await told({ ...doomed, removingAtStart: undefined }), ["account", `absent ${UID}`, "round"]);
  assertEquals(await told({ ...doomed, removals: { "db-1": NOW } }), ["account"]);
  assertEquals(await told(doomed), ["account"], "an earlier process asked for it");
  const unrecorded = known(deleting());
  const rig = new EffectRig();
  await rig.run(remove, unrecorded, { read: last(), database: "absent" });
  assertEquals(rig.told, ["account", `absent ${UID}`, "round"], "the id that was read counts");
});

Deno.test("S1: of a superfluous database what a lookup said is put right, and the recorded one's observation stays", async () => {
  const second = db({ id: "db-2" });
  const dying = { ...second, state: "Deleting" as const };
  const read = last();
  const rig = new EffectRig();
  const removing = (answers: Answers, k: Knowledge = both) =>
    rig.run(remove, k, { read, decision: { database: second }, ...answers });
  const both: Knowledge = { ...doomed, lookup: { sentAt: 0, found: [db(), second] } };
  const seenDying = await removing({ database: dying });
  assertEquals([seenDying.sent, seenDying.learned], [[], {
    object: read,
    lookup: { sentAt: 0, found: [db(), dying] },
  }]);
  assertEquals((await removing({ database: dying }, doomed)).learned, { object: read });
  const absent = await removing({ database: "absent" });
  assertEquals([absent.sent, absent.learned], [[], { object: read, removed: { id: "db-2", at: BEGIN } }]);
  const sent = await removing({ database: second });
  assertEquals([sent.requests, sent.learned], [[["db-2"]], {
    object: read,
    observation: undefined,
    removed: { id: "db-2", at: NOW },
  }]);
  const superseded = await removing({ database: second, latest: known(last({ spec: { paused: true } })) });
  assertEquals(superseded.learned, { object: read });
  assertEquals(rig.told, [], "nothing is said of the recorded one");
});

Deno.test("S3: where no database is recorded or named there is none to delete", async () => {
  const read = { ...deleting(), status: undefined } as unknown as ExternalDatabase;
  const error = await failing(remove, doomed, { read });
  assertEquals(error.errorClass, "bug");
});

Deno.test("S2: the database of a CR that vanished while it was made is deleted, its id in the log; one that lives keeps its own", async () => {
  const vanished = known(cr(), {
    gone: true,
    bornHere: true,
    mayExist: true,
    named: false,
    observation: seen(),
  });
  const rig = new EffectRig();
  const { sent, learned } = await rig.run(remove, vanished, { read: notFound });
  assertEquals([sent, learned], [["delete"], { observation: undefined, removed: { id: "db-1", at: NOW } }]);
  assertEquals(rig.lines, [{
    level: "warn",
    message: "A resource vanished while its database was being made; the database is deleted",
    fields: { namespace: "default", name: "orders", uid: UID, providerId: "db-1" },
  }]);
  const found = { read: notFound, readAgain: last(), queuedMs: 10_001 };
  const late = await run(remove, vanished, found);
  assertEquals([late.sent, late.learned.foundAlive], [[], true]);
  assertEquals((await run(remove, vanished, { ...found, readAgain: notFound })).sent, ["delete"]);
  const alive = await run(remove, vanished);
  assertEquals([alive.sent, alive.asked, alive.learned], [[], ["resource"], { foundAlive: true }]);
  const absent = new EffectRig();
  assertEquals((await absent.run(remove, vanished, { read: notFound, database: "absent" })).sent, []);
  assertEquals(absent.told, ["account", "round"], "rule 12: it is past, and counts for nothing");
  const terminating = await run(remove, vanished, { read: notFound, crd: "terminating" });
  assertEquals([terminating.sent, terminating.learned], [[], { crdTerminating: true }]);
});

const failedStatus = { state: "Creating" as const, providerId: "db-1", incarnation: 1, removing: "db-1" };
const failed = db({ state: "Failed" });
const spoilt = known(cr({ status: failedStatus }), { observation: seen(failed) });

Deno.test("rule 7: what a removal of a failed database reads is learned, whether it is sent or not", async () => {
  const read = cr({ meta: { resourceVersion: "101" }, status: failedStatus });
  const sent = await run(discard, spoilt, { read, database: failed });
  assertEquals(sent.learned, { object: read, observation: undefined, removed: { id: "db-1", at: NOW } });
  const waiting = db({ state: "Provisioning" });
  for (
    const database of [waiting, db(), { ...failed, endpoint: "x:1" }, {
      ...foreign,
      state: "Failed" as const,
    }]
  ) {
    const { learned } = await run(discard, spoilt, { read, database });
    assertEquals(learned, { object: read, observation: observed(database) });
  }
  const paused = known(cr({ spec: { paused: true }, status: failedStatus }));
  const superseded = await run(discard, spoilt, { read, database: failed, latest: paused });
  assertEquals(superseded.learned, { object: read, observation: observed(failed) });
  assertEquals((await run(discard, spoilt, { read, database: "absent" })).learned, {
    object: read,
    observation: gone,
  });
});

Deno.test("rule 7: nothing is read at the cloud for a resource that is gone, dying, paused, or names no database", async () => {
  assertEquals((await run(discard, spoilt, { read: notFound })).learned, { gone: true });
  const bare = { ...cr(), status: undefined } as unknown as ExternalDatabase;
  const dying = deleting({ status: failedStatus });
  for (const read of [cr(), bare, dying, cr({ status: failedStatus, spec: { paused: true } })]) {
    const { asked, learned } = await run(discard, spoilt, { read });
    assertEquals([asked, learned], [["resource"], { object: read }]);
  }
});

Deno.test("design 6: a delete that failed is learned with what was read: done where it is gone, asked for where nobody answered", async () => {
  const read = last();
  const fails = async (refusal: Error) => {
    const error = await failing(remove, doomed, { read, refusal, slowMs: 20 });
    return [error.errorClass, error.learned];
  };
  const base = { object: read, observation: observed() };
  assertEquals(await fails(new ProviderError("busy", "no")), ["busy", base]);
  assertEquals(await fails(lost), ["unknown", { ...base, asked: { id: "db-1", at: BEGIN + 20 } }]);
  const absent = new ProviderError("absent", "gone");
  assertEquals((await run(remove, doomed, { read, refusal: absent, slowMs: 20 })).learned, {
    object: read,
    observation: undefined,
    removed: { id: "db-1", at: BEGIN + 20 },
  });
});

const spec = { deletionPolicy: "Retain" as const };
const kept = known(deleting({ spec, status: inStep() }), { observation: seen() });
const marked = db({ tags: tags({ [TAG.retained]: UID }) });

Deno.test("rule 16: every database that carries the UID is marked, and what the recorded one is was learned", async () => {
  const read = last({ spec });
  const rig = new EffectRig();
  const two: Knowledge = { ...kept, lookup: { sentAt: NOW, found: [db({ id: "db-2" }), foreign] } };
  const { requests, learned } = await rig.run(retain, two, { read });
  const tag = { tags: { [TAG.retained]: UID } };
  assertEquals(requests, [["db-2", tag], ["db-1", tag]]);
  assertEquals(learned, { object: read, observation: observed(), retained: true });
  assertEquals(rig.told, [`present ${UID}`]);
});

Deno.test("rule 16: what is marked, another's, dying or gone needs no mark, and all is done then", async () => {
  const read = last({ spec });
  for (const database of [marked, foreign, db({ state: "Deleting" })]) {
    const { sent, learned } = await run(retain, kept, { read, database });
    assertEquals([sent, learned], [[], { object: read, observation: observed(database), retained: true }]);
  }
  const rig = new EffectRig();
  const absent = await rig.run(retain, kept, { read, database: "absent" });
  assertEquals([absent.sent, absent.learned], [[], { object: read, observation: gone, retained: true }]);
  assertEquals(rig.told, ["account", `absent ${UID}`, "round"], "rule 12");
  const bare = { ...deleting({ spec }), status: undefined } as unknown as ExternalDatabase;
  const none = await run(retain, known(bare), { read: bare });
  assertEquals([none.asked, none.learned], [["resource"], {
    object: bare,
    observation: undefined,
    retained: true,
  }]);
  const unrecorded = { ...known(bare), lookup: { sentAt: NOW, found: [db()] } };
  const found = await run(retain, unrecorded, { read: bare });
  assertEquals([found.sent, found.learned.observation], [["modify"], undefined]);
});

Deno.test("rule 13: what goes with its CRD is kept and marked, whatever its policy", async () => {
  const ending = { ...doomed, crdTerminating: true };
  assertEquals((await run(retain, ending)).sent, ["modify"]);
  assertEquals((await run(retain, doomed)).learned, { object: doomed.object });
  assertEquals((await run(retain, kept, { read: notFound })).learned, { gone: true });
  const paused = last({ spec: { ...spec, paused: true } });
  assertEquals((await run(retain, kept, { read: paused })).learned, { object: paused });
  assertEquals((await run(retain, kept, { latest: known(paused) })).learned, { object: paused });
});

Deno.test("rule 16: a failed database that takes no tags is kept without; any other refusal is a failure", async () => {
  const busy = new ProviderError("busy", "not now");
  const read = last({ spec });
  assertEquals((await run(retain, kept, { read, database: failed, refusal: busy })).learned, {
    object: read,
    observation: observed(failed),
    retained: true,
  });
  for (const answers of [{ refusal: busy }, { database: failed, refusal: lost }]) {
    const error = await failing(retain, kept, { read, ...answers });
    assertEquals([error.errorClass, error.learned], [answers.refusal.errorClass, { object: read }]);
  }
});
