import { assert, assertEquals, assertRejects } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { Clock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { type DatabaseProvider, ProviderError } from "../../src/providers/port.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { VirtualClock } from "./virtual_clock.ts";

const SIGNAL = new AbortController().signal;
const OPTIONS = { signal: SIGNAL };

interface Stage {
  clock: VirtualClock;
  cloud: SimulatedCloud;
  provider: DatabaseProvider;
  create(uid: string, change?: Record<string, unknown>): ReturnType<DatabaseProvider["create"]>;
}

function stage(settings: Partial<CloudSettings> = {}, seed = 1): Stage {
  const clock = new VirtualClock();
  const cloud = new SimulatedCloud({ clock, random: seededRandom(seed), ...settings });
  const provider = createSimulatedProvider(cloud, { clock, timeoutMs: 5_000 });
  const create = (uid: string, change: Record<string, unknown> = {}) =>
    clock.until(provider.create({
      name: "orders",
      engine: "postgres",
      version: "14.2",
      sizeGb: 20,
      tags: { [TAG.uid]: uid },
      clientToken: `${uid}-1`,
      ...change,
    }, OPTIONS));
  return { clock, cloud, provider, create };
}

async function classOf(promise: Promise<unknown>): Promise<string> {
  const error = await assertRejects(() => promise, ProviderError);
  return error.errorClass + (error.code === undefined ? "" : ` ${error.code}`);
}

Deno.test("a database is provisioned, changed and deleted in its time", async () => {
  const { clock, cloud, provider, create } = stage();
  const made = await create("u1");
  assertEquals([made.state, made.endpoint], ["Provisioning", undefined]);
  assertEquals(await classOf(clock.until(provider.delete(made.id, OPTIONS))), "busy InvalidState");
  await clock.advance(6_000);
  const ready = await clock.until(provider.get(made.id, OPTIONS));
  assertEquals(ready.state, "Available");
  assert(ready.endpoint?.includes(":5432"));
  const changing = await clock.until(provider.modify(made.id, { sizeGb: 50 }, OPTIONS));
  assertEquals([changing.state, changing.sizeGb], ["Modifying", 20]);
  assertEquals(
    await classOf(clock.until(provider.modify(made.id, { sizeGb: 60 }, OPTIONS))),
    "busy InvalidState",
  );
  await clock.advance(3_000);
  assertEquals((await clock.until(provider.get(made.id, OPTIONS))).sizeGb, 50);
  await clock.until(provider.delete(made.id, OPTIONS));
  await clock.until(provider.delete(made.id, OPTIONS));
  assertEquals(cloud.get(made.id)?.state, "Deleting");
  await clock.advance(3_000);
  assertEquals(await classOf(clock.until(provider.get(made.id, OPTIONS))), "absent NotFound");
  assertEquals(cloud.ledger.effects({ uid: "u1" }).map((e) => e.kind), [
    "create",
    "modify",
    "delete",
    "gone",
  ]);
  assertEquals(clock.pending, 0);
});

Deno.test("a repeated create with the same token gives the first database, in whatever state", async () => {
  const { clock, cloud, provider, create } = stage();
  const first = await create("u1");
  assertEquals((await create("u1")).id, first.id);
  assertEquals(await classOf(create("u1", { sizeGb: 30 })), "exists IdempotencyMismatch");
  await clock.advance(6_000);
  assertEquals((await create("u1")).state, "Available");
  await clock.until(provider.delete(first.id, OPTIONS));
  assertEquals((await create("u1")).state, "Deleting");
  await clock.advance(3_000);
  assertEquals(await classOf(create("u1")), "exists TokenUsed");
  assertEquals(cloud.ledger.createEffects("u1").length, 1);
});

Deno.test("a token is forgotten after its memory, never before the effect bound", async () => {
  const { clock, cloud, create } = stage({ tokenMemoryMs: 1_000, effectBoundMs: 10_000 });
  const first = await create("u1");
  await clock.advance(9_000);
  assertEquals((await create("u1")).id, first.id);
  await clock.advance(11_000);
  assert((await create("u1")).id !== first.id);
  assertEquals(cloud.liveByUid().get("u1")?.length, 2);
});

Deno.test("a cloud without tokens makes a new database for each create", async () => {
  const { cloud, create } = stage({ clientTokens: false });
  await create("u1");
  await create("u1");
  assertEquals(cloud.ledger.createEffects("u1").length, 2);
});

Deno.test("a new database is missing from lists for the read lag, and never longer", async () => {
  const { clock, provider, create } = stage({ readLagMs: 1_000, latencyMs: 0 });
  await create("u1");
  const list = () => clock.until(provider.list({ ...OPTIONS, tags: { [TAG.uid]: "u1" } }));
  assertEquals((await list()).items.length, 0);
  await clock.advance(1_000);
  assertEquals((await list()).items.length, 1);
});

Deno.test("C1: a lost answer leaves the effect; a lost request leaves none", async () => {
  const { cloud, create } = stage();
  cloud.faults.loseAnswer("create");
  assertEquals(await classOf(create("u1")), "unknown");
  assertEquals(cloud.ledger.createEffects("u1").length, 1);
  cloud.faults.refuse("create", REFUSALS.unavailable);
  assertEquals(await classOf(create("u2")), "unknown Unavailable");
  assertEquals(cloud.ledger.createEffects("u2").length, 0);
  cloud.faults.refuse("create", REFUSALS.internalError, 1, "done");
  assertEquals(await classOf(create("u3")), "unknown InternalError");
  assertEquals(cloud.ledger.createEffects("u3").length, 1);
  await create("u4");
});

Deno.test("D2b: a late effect comes after the caller's time-out and within the effect bound", async () => {
  for (let seed = 0; seed < 20; seed++) {
    const { clock, cloud, create } = stage({ effectBoundMs: 60_000 }, seed);
    cloud.faults.lateEffect("create");
    const sent = clock.monotonic();
    assertEquals(await classOf(create("u1")), "unknown");
    assertEquals([cloud.ledger.createEffects("u1").length, cloud.pendingEffects()], [0, 1]);
    await clock.advance(60_000);
    const [effect] = cloud.ledger.createEffects("u1");
    assert(effect !== undefined && effect.at > sent && effect.at <= sent + 60_000);
  }
});

Deno.test("a call goes on when its caller leaves, and takes effect once", async () => {
  const { clock, cloud, provider } = stage({ latencyMs: 4_000, jitter: 0 });
  const abort = new AbortController();
  const body = {
    name: "x",
    engine: "mysql",
    version: "8",
    sizeGb: 1,
    tags: { [TAG.uid]: "u" },
    clientToken: "u-1",
  };
  const call = provider.create(body, { signal: abort.signal });
  call.catch(() => {}); // looked at below
  await clock.advance(1_000);
  abort.abort();
  assertEquals(await classOf(call), "unknown");
  assertEquals(cloud.ledger.createEffects().length, 0);
  await clock.advance(1_000);
  assertEquals(cloud.ledger.createEffects("u").length, 1);
  assertEquals(cloud.ledger.calls()[0]?.outcome, "aborted");
});

Deno.test("an answer shows the cloud as it was at the call's effect, however late it comes", async () => {
  const { clock, cloud, provider, create } = stage({ latencyMs: 1_000, jitter: 0 });
  const { id } = await create("u1");
  await clock.advance(6_000);
  const read = provider.get(id, OPTIONS);
  await clock.advance(600);
  cloud.edit(id, { sizeGb: 99 });
  assertEquals((await clock.until(read)).sizeGb, 20);
});

Deno.test("Q2: calls over the rate are throttled with a wait that suffices", async () => {
  const { clock, cloud, provider } = stage({ ratePerSecond: 1, burst: 2, latencyMs: 0 });
  await clock.until(provider.info(OPTIONS));
  await clock.until(provider.info(OPTIONS));
  const error = await assertRejects(() => clock.until(provider.info(OPTIONS)), ProviderError);
  assertEquals([error.errorClass, error.retryAfterMs], ["throttled", 1_000]);
  await clock.advance(error.retryAfterMs!);
  await clock.until(provider.info(OPTIONS));
  assertEquals(cloud.ledger.calls().map((c) => c.outcome), ["ok", "ok", "Throttled", "ok"]);
});

Deno.test("A2: another account is empty and knows no id of the first", async () => {
  const { clock, cloud, provider, create } = stage();
  const { id } = await create("u1");
  await clock.advance(6_000);
  cloud.configure({ account: "other" });
  assertEquals((await clock.until(provider.info(OPTIONS))).account, "other");
  assertEquals(await classOf(clock.until(provider.get(id, OPTIONS))), "absent NotFound");
  assertEquals((await clock.until(provider.list({ ...OPTIONS, tags: {} }))).items, []);
  cloud.configure({ account: "simulated" });
  assertEquals((await clock.until(provider.get(id, OPTIONS))).id, id);
});

Deno.test("A3: an account that answers 404 to everything never says that lists or creates are absent", async () => {
  const { clock, cloud, provider, create } = stage();
  const end = cloud.faults.outage(REFUSALS.notFound);
  assertEquals((await clock.until(provider.info(OPTIONS))).account, undefined);
  assertEquals(await classOf(clock.until(provider.list({ ...OPTIONS, tags: {} }))), "retryable NotFound");
  assertEquals(await classOf(create("u1")), "retryable NotFound");
  assertEquals(await classOf(clock.until(provider.get("db-1", OPTIONS))), "absent NotFound");
  end();
  await create("u1");
});

Deno.test("R2, R3: storage and minor version change by themselves once, and a shrink or downgrade is refused", async () => {
  const { clock, provider, create } = stage({ autogrowAfterMs: 10_000, minorUpgradeAfterMs: 20_000 });
  const { id } = await create("u1");
  await clock.advance(60_000);
  const now = await clock.until(provider.get(id, OPTIONS));
  assertEquals([now.sizeGb, now.version], [35, "14.3"]);
  assertEquals(
    await classOf(clock.until(provider.modify(id, { sizeGb: 20 }, OPTIONS))),
    "rejected InvalidParameter",
  );
  const lower = provider.modify(id, { version: "14.2" }, OPTIONS);
  assertEquals(await classOf(clock.until(lower)), "rejected InvalidParameter");
  await clock.until(provider.modify(id, { version: "15", sizeGb: 50 }, OPTIONS));
  await clock.advance(3_000);
  const then = await clock.until(provider.get(id, OPTIONS));
  assertEquals([then.sizeGb, then.version], [50, "15"]);
});

Deno.test("R6: values are reported in the cloud's own form, and stubborn fields never change", async () => {
  const { clock, provider, create } = stage({ engineCase: "upper", minorVersion: 2, stubborn: ["version"] });
  const made = await create("u1", { version: "14" });
  assertEquals([made.engine, made.version], ["POSTGRES", "14.2"]);
  await clock.advance(6_000);
  await clock.until(provider.modify(made.id, { version: "15" }, OPTIONS));
  await clock.advance(3_000);
  const now = await clock.until(provider.get(made.id, OPTIONS));
  assertEquals([now.version, now.state], ["14.2", "Available"]);
});

Deno.test("tags merge by key, null removes, and they alone do not leave Available", async () => {
  const { clock, provider, create } = stage();
  const { id } = await create("u1");
  const early = provider.modify(id, { tags: { a: "1" } }, OPTIONS);
  assertEquals(await classOf(clock.until(early)), "busy InvalidState");
  await clock.advance(6_000);
  const tagged = await clock.until(provider.modify(id, { tags: { a: "1", [TAG.uid]: null } }, OPTIONS));
  assertEquals([tagged.state, tagged.tags], ["Available", { a: "1" }]);
});

Deno.test("D5, D7: deletion protection and snapshots stand before a delete", async () => {
  const { clock, cloud, provider, create } = stage({ deletionProtection: true });
  const first = await create("u1");
  const second = await create("u2");
  await clock.advance(6_000);
  const remove = (id: string, finalSnapshot?: string) =>
    clock.until(provider.delete(id, { ...OPTIONS, finalSnapshot }));
  assertEquals(await classOf(remove(first.id)), "rejected DeletionProtected");
  cloud.edit(first.id, { protected: false });
  cloud.edit(second.id, { protected: false });
  cloud.faults.refuse("delete", REFUSALS.snapshotFailed);
  assertEquals(await classOf(remove(first.id, "snap")), "rejected SnapshotFailed");
  assertEquals(cloud.get(first.id)?.state, "Available");
  await remove(first.id, "snap");
  await remove(first.id, "snap");
  assertEquals(await classOf(remove(second.id, "snap")), "rejected SnapshotExists");
  assertEquals(cloud.snapshots().length, 1);
});

Deno.test("pages are complete and without repeats, with cursors", async () => {
  const { clock, cloud, provider } = stage({ latencyMs: 0 });
  const ids = Array.from({ length: 250 }, () => cloud.insert({ tags: { k: "=v&ü" } }).id);
  cloud.insert({ tags: { k: "other" } });
  const seen: string[] = [];
  let pageToken: string | undefined;
  let pages = 0;
  do {
    const page = await clock.until(provider.list({ ...OPTIONS, tags: { k: "=v&ü" }, pageToken }));
    seen.push(...page.items.map((d) => d.id));
    pageToken = page.nextPageToken;
    pages++;
  } while (pageToken !== undefined);
  assertEquals([pages, seen], [3, ids]);
});

Deno.test("provisioning can fail, storage can be full, and a person at the console can do anything", async () => {
  const { clock, cloud, provider, create } = stage({ provisionFailures: 1 });
  const { id } = await create("u1");
  await clock.advance(6_000);
  assertEquals((await clock.until(provider.get(id, OPTIONS))).state, "Failed");
  cloud.edit(id, { state: "Available", word: "storage-full" });
  const full = await clock.until(provider.get(id, OPTIONS));
  assertEquals([full.state, full.providerState], ["Available", "storage-full"]);
  await clock.until(provider.modify(id, { sizeGb: 40 }, OPTIONS));
  await clock.advance(3_000);
  assertEquals((await clock.until(provider.get(id, OPTIONS))).providerState, "Available");
  cloud.remove(id);
  assertEquals(await classOf(clock.until(provider.get(id, OPTIONS))), "absent NotFound");
  assertEquals(cloud.ledger.effects({ by: "console" }).map((e) => e.kind), ["change", "gone"]);
});

Deno.test("an operation that a person cut short does not end the next one", async () => {
  const { clock, cloud, provider, create } = stage({ modifyMs: 10_000, jitter: 0 });
  const { id } = await create("u1");
  await clock.advance(6_000);
  await clock.until(provider.modify(id, { sizeGb: 30 }, OPTIONS));
  await clock.advance(5_000);
  cloud.edit(id, { state: "Available" });
  await clock.until(provider.modify(id, { sizeGb: 40 }, OPTIONS));
  await clock.advance(6_000);
  assertEquals(cloud.get(id)?.state, "Modifying");
  await clock.advance(6_000);
  assertEquals([cloud.get(id)?.state, cloud.get(id)?.sizeGb], ["Available", 40]);
});

Deno.test("a slow call takes effect within the bound, however late its answer", async () => {
  const { clock, cloud, create } = stage({ effectBoundMs: 8_000 });
  cloud.faults.add({ fault: { delayMs: 60_000 } });
  assertEquals(await classOf(create("u1")), "unknown");
  await clock.advance(3_000);
  assertEquals(cloud.ledger.createEffects("u1").length, 1);
});

Deno.test("state is loaded with the time between counted, whatever the new process's monotonic clock says", async () => {
  const { clock, cloud, create } = stage({ provisionMs: 5_000, jitter: 0 });
  const { id } = await create("u1");
  const text = cloud.dump();
  await clock.advance(3_000);
  const later: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() - 900,
    setTimeout: (fn, ms) => clock.setTimeout(fn, ms),
    clearTimeout: (timer) => clock.clearTimeout(timer),
  };
  const next = new SimulatedCloud({ clock: later, random: seededRandom(9) });
  next.load(text);
  await clock.advance(1_900);
  assertEquals(next.get(id)?.state, "Provisioning");
  await clock.advance(200);
  assertEquals(next.get(id)?.state, "Available");
});

Deno.test("state survives a process: databases, tokens, and what was still to happen", async () => {
  const { clock, cloud, create } = stage();
  const first = await create("u1");
  cloud.faults.lateEffect("create", 1, 5_000);
  await assertRejects(() => create("u2"), ProviderError);
  const text = cloud.dump();
  await clock.advance(3_000);
  const next = new SimulatedCloud({ clock, random: seededRandom(9) });
  next.load(text);
  const provider = createSimulatedProvider(next, { clock });
  await clock.advance(7_000);
  assertEquals(next.get(first.id)?.state, "Available");
  assertEquals(next.liveByUid().get("u2")?.length, 1);
  const body = { name: "orders", engine: "postgres", version: "14.2", sizeGb: 20 };
  const again = provider.create({ ...body, tags: { [TAG.uid]: "u1" }, clientToken: "u1-1" }, OPTIONS);
  assertEquals((await clock.until(again)).id, first.id);
});

Deno.test("the same seed gives the same cloud", async () => {
  const run = async () => {
    const { clock, cloud, create } = stage({ loseAnswers: 0.3, failBefore: 0.2, lateEffects: 0.2 }, 42);
    for (let i = 0; i < 30; i++) await create(`u${i}`).catch(() => {});
    await clock.advance(60_000);
    return JSON.stringify([cloud.ledger.calls(), cloud.ledger.effects()]);
  };
  assertEquals(await run(), await run());
});
