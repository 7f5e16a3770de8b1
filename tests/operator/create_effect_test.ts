/** The create effect alone (rules 3 to 5): what it reads before, what it learns, and what it says when it is slow. */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { create } from "../../src/operator/effects/create.ts";
import { NotSentError } from "../../src/operator/gateway.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { cr, type CrChange, db, deleting, known, NOW, SETTLE, tags, UID } from "../statechart/support.ts";
import { type Answers, EffectRig, failing, run } from "./effect_rig.ts";

/** What the rig's clock shows at first. */
const BEGIN = new ManualClock().monotonic();
const newer = (change: CrChange = {}) => cr({ ...change, meta: { resourceVersion: "101", ...change.meta } });
const paused = newer({ meta: { resourceVersion: "102" }, spec: { paused: true } });
const k = known(cr());
const lookup = (...found: ReturnType<typeof db>[]) => ({ sentAt: NOW, found });

Deno.test("rule 3: a create in the same pass as the finalizer of a new CR reads nothing; ten seconds later it does", async () => {
  const proven = (provenAt: number): Knowledge => ({ ...k, provenNew: true, provenAt });
  assertEquals((await run(create, proven(BEGIN - 10_000))).asked, []);
  assertEquals((await run(create, proven(BEGIN - 10_001))).asked, ["resource", "lookup"]);
  assertEquals((await run(create, { ...proven(BEGIN), provenNew: false })).asked, ["resource", "lookup"]);
});

Deno.test("rules 3, 4: a create asks for what the CR asks for, under its tags and token, and its answer is kept", async () => {
  const answer = db({ state: "Provisioning" });
  const { requests, learned } = await run(create, k, { answer });
  const { engine, version, sizeGb } = k.object.spec;
  const request = { name: "orders", engine, version, sizeGb, tags: tags(), clientToken: `${UID}-1` };
  assertEquals(requests, [[request]]);
  assertEquals(learned, {
    object: undefined,
    observation: { kind: "present", database: answer, sentAt: NOW },
    create: { outcome: "answered", at: NOW },
    account: undefined,
    passwordSet: undefined,
  });
});

Deno.test("A2: a CR that is gone when its create is answered keeps the account that took it", async () => {
  let asked = 0;
  const latest = () => asked++ === 0 ? k : { ...k, gone: true };
  assertEquals((await run(create, k, { latest })).learned.account, "acct");
  const unsure = { accountSince: NOW + 1 };
  asked = 0;
  const unread = new ProviderError("retryable", "no");
  assertEquals((await run(create, k, { latest, view: unsure, database: unread })).learned.account, undefined);
});

Deno.test("rule 5: how a create ended is learned from its refusal, under the account that was last heard of", async () => {
  const outcome = async (refusal: Error, answers: Answers = {}) => {
    const rig = new EffectRig();
    const error = await rig.failing(create, k, { refusal, slowMs: 20, ...answers });
    const { learned, errorClass, cause } = error;
    assert(cause === refusal, "the cause is kept");
    return [errorClass, learned, rig.told];
  };
  const at = BEGIN + 20;
  const refused = new ProviderError("rejected", "no", { code: "Quota" });
  assertEquals(await outcome(refused), [
    "rejected",
    { object: undefined, create: { outcome: "refused", at, code: "Quota", under: "acct" } },
    [],
  ]);
  const unknown = { outcome: "unknown" as const, at, code: undefined, under: "acct" };
  assertEquals(await outcome(new ProviderError("unknown", "no answer")), [
    "unknown",
    { object: undefined, create: unknown },
    ["account"],
  ]);
  assertEquals(await outcome(new ProviderError("unknown", "no answer"), { view: { provider: undefined } }), [
    "unknown",
    { object: undefined, create: { ...unknown, under: undefined } },
    ["account"],
  ]);
  assertEquals(await outcome(new NotSentError("no lease")), [
    "retryable",
    { object: undefined, create: { outcome: "refused", at } },
    [],
  ]);
  assertEquals(await outcome(new Error("stopped")), [
    "unknown",
    { object: undefined, create: { outcome: "unknown", at, under: "acct" } },
    [],
  ]);
});

Deno.test("rule 3: what the read of a CR forbids is not looked up, nor sent, but learned", async () => {
  const cases: Record<string, ExternalDatabase> = {
    "an id is recorded": newer({ status: { providerId: "db-9" } }),
    "it is being deleted": deleting({ meta: { resourceVersion: "101" } }),
    "it is paused": paused,
    "its finalizer is gone": newer({ meta: { finalizers: [] } }),
    "another database is named": newer({ spec: { providerId: "db-9" } }),
    "its spec is not valid any more": newer({ spec: { sizeGb: -1 } }),
  };
  for (const [words, read] of Object.entries(cases)) {
    const { asked, learned } = await run(create, k, { read });
    assertEquals([asked, learned], [["resource"], { object: read }], words);
  }
  const gone = await run(create, k, { read: new KubeError("notFound", "no such resource") });
  assertEquals([gone.asked, gone.learned], [["resource"], { gone: true }]);
  const bare = { ...newer(), status: undefined } as unknown as ExternalDatabase;
  assertEquals((await run(create, k, { read: bare })).sent, ["create"]);
});

Deno.test("rule 5: what a lookup shows stops a create, and so does one before the settle window's end", async () => {
  const read = newer();
  const found = await run(create, k, { read, found: [db()] });
  assertEquals([found.sent, found.learned], [[], { object: read, lookup: lookup(db()) }]);
  const early = await run(create, k, { read, view: { settleSince: NOW - SETTLE + 1 } });
  assertEquals([early.sent, early.learned], [[], { object: read, lookup: lookup() }]);
  assertEquals((await run(create, k, { read, view: { settleSince: NOW - SETTLE } })).sent, ["create"]);
});

Deno.test("rule 5, A2: after a create of unknown outcome only its own account, heard before and after, can say that nothing came of it", async () => {
  const unsure: Knowledge = { ...k, unknownSince: 0, unknownUnder: "acct" };
  const other = { account: "other", clientTokens: true, readLagMs: 1_000, effectBoundMs: 10_000 };
  const read = newer();
  const heard = [`heard ${BEGIN - 1_000}`, `heard ${NOW}`];
  const rig = new EffectRig();
  assertEquals((await rig.run(create, unsure, { read })).sent, ["create"]);
  assertEquals(rig.told, heard);
  const certain = new EffectRig();
  assertEquals((await certain.run(create, k, { read })).sent, ["create"]);
  assertEquals(certain.told, [], "no other need be heard");
  for (
    const view of [{ accountAt: NOW - 1 }, { accountWords: [] }, { provider: undefined, accountAt: NOW }]
  ) {
    const error = await failing(create, unsure, { read, view });
    assertEquals([error.errorClass, error.learned], ["retryable", { object: read, lookup: lookup() }]);
  }
  const left = (sentAt: number) => ({ provider: other, accountLeft: { account: "acct", sentAt } });
  const elsewhere = await run(create, unsure, { read, view: left(0) });
  assertEquals([elsewhere.sent, elsewhere.learned], [[], { object: read, lookup: lookup() }]);
  assertEquals((await run(create, unsure, { read, view: left(-1) })).sent, ["create"], "nobody can tell");
});

Deno.test("L4: a create that is slow says so once, in words that a person understands, and its answer brings what was written", async () => {
  const patched = newer({ meta: { resourceVersion: "102" } });
  const { patches, learned } = await run(create, k, { slowMs: 2_500, patched });
  assertEquals(patches.length, 1);
  const said = JSON.stringify(patches[0]);
  assert(/Ready.*has not answered yet.*Synced.*has not answered yet/.test(said), said);
  assertEquals(learned.object, patched);
  const refusal = new ProviderError("rejected", "no");
  assertEquals((await failing(create, k, { slowMs: 2_500, patched, refusal })).learned.object, patched);
  const rig = new EffectRig();
  const quick = await rig.run(create, k, { slowMs: 999 });
  assertEquals([quick.patches, quick.learned.object, rig.clock.pending], [[], undefined, 0]);
});

Deno.test("L4: a slow create of a CR that is going says nothing", async () => {
  for (const latest of [known(deleting()), { ...k, gone: true }]) {
    let asked = 0;
    assertEquals(
      (await run(create, k, { latest: () => asked++ === 0 ? k : latest, slowMs: 2_000 })).patches,
      [],
    );
  }
});

Deno.test("rule 14: what the report of a queued create shows keeps it from being sent, however the report ended", async () => {
  const told = await run(create, k, { queuedMs: 2_000, patched: paused });
  assertEquals([told.sent, told.learned], [[], { object: paused }]);
  const rig = new EffectRig();
  let writes = 0;
  const cluster = {
    ...rig.env.cluster,
    get: () => Promise.resolve(writes === 0 ? newer() : paused),
    patchStatus: () => {
      writes++;
      return Promise.reject(new KubeError("conflict", "changed meanwhile"));
    },
  };
  const refused = await rig.run(
    (env, input, signal) => create({ ...env, cluster }, input, signal),
    k,
    { queuedMs: 2_000 },
  );
  assertEquals([refused.sent, refused.learned, writes], [[], { object: paused }, 1]);
});

Deno.test("rule 14: a create that was queued for more than ten seconds reads the CR again as its turn comes", async () => {
  const proven: Knowledge = { ...k, provenNew: true, provenAt: BEGIN };
  const queued = (queuedMs: number, read?: Answers["read"]) =>
    run(create, proven, { queuedMs, patched: newer(), ...(read === undefined ? {} : { read }) });
  const soon = await queued(10_000, deleting());
  assertEquals([soon.asked, soon.sent], [[], ["create"]]);
  const late = await queued(10_001);
  assertEquals([late.asked, late.sent], [["resource"], ["create"]]);
  const meta = { generation: 2, resourceVersion: "102" };
  for (const changed of [deleting({ meta }), newer({ meta })]) {
    const { sent, learned } = await queued(10_001, changed);
    assertEquals(sent, []);
    assertEquals(learned.object?.metadata.generation, 2);
  }
  const none = await queued(10_001, new KubeError("notFound", "no such resource"));
  assertEquals([none.sent, none.learned], [[], { gone: true }]);
});

Deno.test("L4: a report of a slow create that fails is logged, and the create goes on", async () => {
  const rig = new EffectRig();
  const patched = new KubeError("network", "no route");
  const { sent, learned } = await rig.run(create, k, { queuedMs: 2_000, patched });
  assertEquals([sent, learned.object], [["create"], undefined]);
  assertEquals(rig.lines, [{
    level: "debug",
    message: "Failed to report a slow create",
    fields: { namespace: "default", name: "orders", error: "no route" },
  }]);
});
