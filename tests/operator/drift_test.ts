/**
 * Drift (behaviours R1–R8, Q4) over models of cluster and cloud, in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";

const PERIOD = 300_000;
const POLLS = 20 * PERIOD;

/** The database of a CR. */
function databaseOf(world: World, name: string) {
  const id = world.get(name)?.status?.providerId;
  const found = id === undefined ? undefined : world.cloud.get(id);
  assert(found !== undefined, `${name} has no database`);
  return found;
}

/** Asserts that `ms` pass without a mutating call, a write to the CR or an Event. */
async function assertQuiet(world: World, name: string, ms: number, words = "idle"): Promise<void> {
  const mark = world.cloud.ledger.mark();
  const { resourceVersion } = world.get(name)!.metadata;
  const events = world.events.length;
  await world.run(ms);
  assertEquals(world.cloud.ledger.mutatingCalls(mark), [], `${words}: mutating calls`);
  assertEquals(world.get(name)?.metadata.resourceVersion, resourceVersion, `${words}: writes`);
  assertEquals(world.events.length, events, `${words}: Events`);
}

/** The changes of size or version that took effect. */
const modifies = (world: World, since = 0) =>
  world.cloud.ledger.effects({ kind: "modify", by: "api", since }).map((e) => e.detail);

async function inStep(world: World, name = "orders", spec: Partial<ExternalDatabaseSpec> = {}) {
  world.cluster.create("default", name, spec);
  await world.available(name);
}

/** Each optional field with a value that asks for no change of the database. */
const OPTIONAL: Readonly<Record<string, (id: string) => Partial<ExternalDatabaseSpec>>> = {
  deletionPolicy: () => ({ deletionPolicy: "Retain" }),
  driftPolicy: () => ({ driftPolicy: "Report" }),
  onMissing: () => ({ onMissing: "Report" }),
  "pollInterval, shorter than the list's": () => ({ pollInterval: "10s" }),
  "pollInterval, longer": () => ({ pollInterval: "24h" }),
  providerId: (id) => ({ providerId: id }),
  "paused: false": () => ({ paused: false }),
};

for (const [field, value] of Object.entries(OPTIONAL)) {
  Deno.test(`R1: ${field}, set and unset on an idle resource, costs one write each and then nothing`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      const change = value(databaseOf(world, "orders").id);
      const unset = Object.fromEntries(Object.keys(change).map((key) => [key, undefined]));
      for (const [words, spec] of [["set", change], ["unset", unset]] as const) {
        const writes = world.cluster.writes.length;
        const generation = world.cluster.edit("default", "orders", spec).metadata.generation;
        await world.until(
          `${words} is observed`,
          () => world.get("orders")?.status?.observedGeneration === generation,
          5_000,
        );
        await world.run(1_000);
        assertEquals(world.cluster.writes.length, writes + 1, `${words}: one write for the generation`);
        await assertQuiet(world, "orders", POLLS, words);
        assertEquals(world.condition("orders", "Synced"), "True/Available");
      }
      assertEquals(modifies(world), []);
    }));
}

Deno.test("R1: all optional fields together, and a restart, cost nothing either", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await inStep(world, "orders", {
      deletionPolicy: "Delete",
      driftPolicy: "Repair",
      onMissing: "Recreate",
      pollInterval: "1m",
      paused: false,
    });
    await assertQuiet(world, "orders", POLLS);
    await first.stop();
    world.start();
    await assertQuiet(world, "orders", POLLS, "restarted");
    world.assertSafe();
  }));

Deno.test("R1: paused and released again, an idle resource tells of it once each", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { paused: true });
    await world.until("paused", () => world.condition("orders", "Synced") === "False/Paused");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, "orders", POLLS, "paused");
    world.cluster.edit("default", "orders", { paused: undefined });
    await world.available("orders");
    await assertQuiet(world, "orders", POLLS, "released");
  }));

Deno.test("R1: the number of cloud calls of an idle fleet is one list a period, not one read a resource", () =>
  inWorld({}, async (world) => {
    world.start();
    const names = Array.from({ length: 40 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    await world.run(PERIOD);
    const mark = world.cloud.ledger.mark();
    await world.run(10 * PERIOD);
    const calls = world.cloud.ledger.calls({ since: mark });
    assertEquals(calls.filter((c) => c.verb === "get").length, 0);
    const lists = calls.filter((c) => c.verb === "list").length;
    assert(lists >= 9 && lists <= 11, `${lists} lists in ten periods`);
  }));

Deno.test("R2: a disk that grew by itself is told, not shrunk; a larger size and a version still work", () =>
  inWorld({ autogrowAfterMs: 60_000 }, async (world) => {
    world.start();
    await inStep(world);
    await world.until(
      "the growth is told",
      () => world.get("orders")?.status?.observed?.sizeGb === 35,
      700_000,
    );
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    await assertQuiet(world, "orders", POLLS);
    assertEquals(modifies(world), []);
    world.cluster.edit("default", "orders", { version: "15.1" });
    await world.until("version 15.1", () => databaseOf(world, "orders").version === "15.1");
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").sizeGb, 35);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(modifies(world), ['{"version":"15.1"}', '{"sizeGb":50}']);
  }));

Deno.test("R3: a newer minor that the cloud moved to is in step; a wanted upgrade is sent once; nothing is lowered", () =>
  inWorld({ minorUpgradeAfterMs: 60_000 }, async (world) => {
    world.start();
    await inStep(world);
    await world.until(
      "14.3 is told",
      () => world.get("orders")?.status?.observed?.version === "14.3",
      700_000,
    );
    await assertQuiet(world, "orders", POLLS);
    world.cluster.edit("default", "orders", { version: "14.3" }); // what is there already
    await world.until("observed", () => world.get("orders")?.status?.observedGeneration === 2);
    await assertQuiet(world, "orders", PERIOD);
    world.cluster.edit("default", "orders", { version: "15.0" });
    await world.until("15.0", () => databaseOf(world, "orders").version === "15.0");
    await world.available("orders");
    await assertQuiet(world, "orders", POLLS);
    assertEquals(modifies(world), ['{"version":"15.0"}']);
    world.cloud.edit(databaseOf(world, "orders").id, { version: "17.0" });
    await world.until(
      "17.0 is reported",
      () => world.condition("orders", "Synced") === "False/DriftNotRepairable",
      2 * PERIOD,
    );
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, "orders", POLLS);
    assertEquals(modifies(world).length, 1);
  }));

for (const showPending of [true, false]) {
  Deno.test(`R4: a change that takes two minutes to show, ${showPending ? "shown" : "not shown"} as pending, is sent once`, () =>
    inWorld({ modifyMs: 120_000, showPending }, async (world) => {
      world.start();
      await inStep(world, "orders", { pollInterval: "10s" });
      world.cluster.edit("default", "orders", { sizeGb: 50, version: "15.1" });
      await world.until("told", () => world.condition("orders", "Synced") === "False/Updating", 3_000);
      assertEquals(world.condition("orders", "Ready"), "True/Available");
      await world.run(60_000);
      assertEquals(databaseOf(world, "orders").sizeGb, 20, "reads still give the old value");
      await world.available("orders");
      await assertQuiet(world, "orders", PERIOD);
      assertEquals(modifies(world), ['{"sizeGb":50,"version":"15.1"}']);
      assertEquals(world.cloud.ledger.calls({ verb: "modify" }).length, 1);
    }));
}

Deno.test("R4: killed at any time of a change, it is sent once more at most, and never while it is under way", async () => {
  for (let at = 0; at < 5_000; at += 250) {
    await inWorld({ modifyMs: 3_000, latencyMs: 400 }, async (world) => {
      world.cluster.latencyMs = 20;
      const first = world.start();
      await inStep(world);
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.run(at);
      first.crash();
      world.start();
      await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
      await world.available("orders");
      assertEquals(modifies(world).length, 1, `killed after ${at} ms`);
    });
  }
});

Deno.test("R5: an engine that differs at the cloud is reported, not repaired, and other fields stay managed", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cloud.edit(id, { engine: "mysql" });
    await world.until(
      "reported",
      () => world.condition("orders", "Synced") === "False/ImmutableFieldChanged",
      2 * PERIOD,
    );
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, "orders", POLLS);
    assertEquals(modifies(world), []);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.until(
      "reported again",
      () => world.condition("orders", "Synced") === "False/ImmutableFieldChanged",
    );
    world.cloud.edit(id, { engine: "postgres" });
    await world.until("in step", () => world.condition("orders", "Synced") === "True/Available", 2 * PERIOD);
    assertEquals(databaseOf(world, "orders").id, id);
  }));

for (const engineCase of ["lower", "upper", "title"] as const) {
  Deno.test(`R6: a cloud that writes the engine in ${engineCase} case and completes the version shows no difference`, () =>
    inWorld({ engineCase, minorVersion: 2 }, async (world) => {
      world.start();
      await inStep(world, "orders", { engine: "PostgreSQL", version: "14" });
      assertEquals(databaseOf(world, "orders").version, "14.2");
      await assertQuiet(world, "orders", POLLS);
    }));
}

Deno.test("R6: a repair that did not stick three times stops, says so, and is tried again after hours", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    const stopped = () => world.condition("orders", "Synced") === "False/DriftNotRepairable";
    await world.until("it stops", stopped);
    assertEquals(modifies(world).length, 3);
    assertEquals(world.get("orders")?.status?.repair?.[0]?.attempts, 3);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, "orders", 3 * 3_600_000);
    await world.run(2 * 3_600_000);
    assertEquals(modifies(world).length, 4, "one more after four hours");
    await world.until("it stops again", stopped);
    await world.run(24 * 3_600_000);
    const tries = modifies(world).length;
    assert(tries >= 9 && tries <= 11, `${tries} tries in some thirty hours`);
  }));

Deno.test("R6: a restart does not forget the count, nor do ten", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    let process = world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("it stops", () => world.condition("orders", "Synced") === "False/DriftNotRepairable");
    for (let n = 0; n < 10; n++) {
      process.crash();
      process = world.start();
      await world.run(60_000);
      assertEquals(world.condition("orders", "Synced"), "False/DriftNotRepairable");
    }
    assertEquals(modifies(world).length, 3);
  }));

Deno.test("R6: one that dies in the middle of its three tries goes on counting", () =>
  inWorld({ stubborn: ["sizeGb"], modifyMs: 4_000 }, async (world) => {
    let process = world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until(
      "the second try is told",
      () => world.get("orders")?.status?.repair?.[0]?.attempts === 2,
    );
    process.crash();
    process = world.start();
    await world.until("it stops", () => world.condition("orders", "Synced") === "False/DriftNotRepairable");
    assertEquals(modifies(world).length, 3);
  }));

Deno.test("R6: an edit and a changed reconcile value bring another try, a label does not", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    const stopped = () => world.condition("orders", "Synced") === "False/DriftNotRepairable";
    await world.until("it stops", stopped);
    world.cluster.meta("default", "orders", { labels: { team: "a" } });
    await world.run(60_000);
    assertEquals(modifies(world).length, 3);
    world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "1" });
    await world.run(60_000);
    assertEquals([modifies(world).length, world.get("orders")?.status?.lastHandledReconcile], [4, "1"]);
    assert(stopped());
    world.cluster.edit("default", "orders", { onMissing: "Report" });
    await world.run(60_000);
    assertEquals(modifies(world).length, 5);
    world.cluster.edit("default", "orders", { sizeGb: 60 }); // another wish counts anew
    await world.run(60_000);
    assertEquals(modifies(world).filter((d) => d === '{"sizeGb":60}').length, 3);
    world.cloud.configure({ stubborn: [] });
    world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "2" });
    await world.available("orders");
    assertEquals([databaseOf(world, "orders").sizeGb, world.get("orders")?.status?.repair], [60, undefined]);
    await assertQuiet(world, "orders", POLLS);
  }));

Deno.test("R6: one stubborn field does not hold another back", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("it stops", () => world.condition("orders", "Synced") === "False/DriftNotRepairable");
    world.cluster.edit("default", "orders", { version: "15.0" });
    await world.until("15.0", () => databaseOf(world, "orders").version === "15.0");
    await world.until(
      "it stops again",
      () => world.condition("orders", "Synced") === "False/DriftNotRepairable",
    );
    assert(modifies(world).length <= 6, modifies(world).join());
    await assertQuiet(world, "orders", 3_600_000);
  }));

Deno.test("R7: a database deleted at the console is confirmed missing, told, and re-created once", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cloud.remove(id);
    await world.until("told", () => world.events.some((e) => e.reason === "ExternalMissing"), 2 * PERIOD);
    await world.until("another id", () => {
      const now = world.get("orders")?.status?.providerId;
      return now !== undefined && now !== id;
    });
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.ledger.createEffects().length, 2);
    assertEquals(databaseOf(world, "orders").tags[TAG.incarnation], "2");
    const reads = world.cloud.ledger.calls({ verb: "get" }).filter((c) => c.id === id);
    assert(reads.some((c) => c.outcome === "NotFound"), "the absence was read by id");
    const lookups = world.cloud.ledger.calls({ verb: "list" }).filter((c) => c.tags?.[TAG.uid] !== undefined);
    assert(lookups.length > 0, "and by tag");
    world.assertSafe();
    await assertQuiet(world, "orders", POLLS);
  }));

Deno.test("R7: right after a restart the settle window holds the new database back", () =>
  inWorld({ readLagMs: 20_000, effectBoundMs: 30_000 }, async (world) => {
    const first = world.start();
    await inStep(world);
    await world.run(60_000);
    first.crash();
    world.cloud.remove(databaseOf(world, "orders").id);
    const from = world.clock.monotonic();
    world.start();
    await world.until("re-created", () => world.cloud.ledger.createEffects().length === 2, 2 * PERIOD);
    assert(world.clock.monotonic() - from >= 50_000, `after ${world.clock.monotonic() - from} ms`);
    await world.available("orders");
    world.assertSafe();
  }));

Deno.test("R7: where only a report is wanted nothing is created, and one that comes back is in step again", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "orders", { onMissing: "Report" });
    const { id, ...record } = databaseOf(world, "orders");
    world.cloud.remove(id);
    await world.until(
      "reported",
      () => world.condition("orders", "Synced") === "False/ExternalMissing",
      2 * PERIOD,
    );
    assertEquals(world.condition("orders", "Ready"), "False/ExternalMissing");
    await world.run(30_000);
    await assertQuiet(world, "orders", POLLS);
    assertEquals(world.cloud.ledger.createEffects().length, 1);
    world.cluster.edit("default", "orders", { onMissing: "Recreate" });
    await world.available("orders");
    assertEquals(world.cloud.ledger.createEffects().length, 2);
    assert(record.tags[TAG.uid] !== undefined);
    world.assertSafe();
  }));

Deno.test("R7: a database that dies at the provider is told at once and replaced when it is gone", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cloud.edit(id, { state: "Deleting" });
    await world.until(
      "told",
      () => world.condition("orders", "Ready") === "False/ExternalMissing",
      2 * PERIOD,
    );
    await world.run(PERIOD);
    assertEquals(world.cloud.ledger.createEffects().length, 1, "not while it is there");
    world.cloud.remove(id);
    await world.available("orders");
    assertEquals(world.cloud.ledger.createEffects().length, 2);
    world.assertSafe();
  }));

Deno.test("R8: with driftPolicy Report drift is shown in condition and Event, and nothing is sent", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "orders", { driftPolicy: "Report" });
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("reported", () => world.condition("orders", "Synced") === "False/DriftReported");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    const event = world.events.find((e) => e.reason === "DriftReported");
    assertMatch(event?.note ?? "", /sizeGb 20 → 50/);
    await assertQuiet(world, "orders", POLLS);
    assertEquals(modifies(world), []);
    world.cluster.edit("default", "orders", { driftPolicy: "Repair" });
    await world.until("repaired", () => databaseOf(world, "orders").sizeGb === 50);
  }));

Deno.test("Q4: a change refused because the database is busy is no error, and is sent when its turn comes", () =>
  inWorld({ modifyMs: 20_000 }, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.edit(databaseOf(world, "orders").id, { state: "Modifying" }); // the provider's own upkeep
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(10_000);
    assertEquals(world.condition("orders", "Synced"), "False/Updating");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    world.cloud.edit(databaseOf(world, "orders").id, { state: "Available" });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(world.events.filter((e) => e.type === "Warning"), []);
    assertEquals(modifies(world).length, 1);
  }));

Deno.test("Q4: busy between the read and the change is no error either", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.faults.refuse("modify", { status: 409, code: "InvalidState", message: "It is Modifying" }, 3);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(modifies(world).length, 1);
    const synced = world.events.map((e) => e.reason);
    assert(!synced.includes("UpdateFailed"), synced.join());
  }));

Deno.test("an edit while a change is under way follows it, and only the last wish is sent", () =>
  inWorld({ modifyMs: 30_000 }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.run(5_000);
    for (const sizeGb of [35, 40, 50]) {
      world.cluster.edit("default", "orders", { sizeGb });
      await world.run(2_000);
    }
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(modifies(world), ['{"sizeGb":30}', '{"sizeGb":50}']);
    const refused = world.cloud.ledger.calls({ verb: "modify" }).filter((c) => c.effect === "refused");
    assertEquals(refused, [], "none was sent into a change under way");
  }));

Deno.test("an edit that comes while the change's request is queued or on its way is never answered with the old wish alone", async () => {
  for (let at = 0; at <= 1_000; at += 50) {
    await inWorld({ latencyMs: 400 }, async (world) => {
      world.start();
      await inStep(world);
      world.cluster.edit("default", "orders", { sizeGb: 30 });
      await world.run(at);
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
      await world.available("orders");
      assertEquals(world.get("orders")?.status?.observedGeneration, 3);
      assert(modifies(world).length <= 2);
    });
  }
});

Deno.test("a wish taken back before the change was sent sends nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.faults.outage(REFUSALS.unavailable, 20_000);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(10_000);
    world.cluster.edit("default", "orders", { sizeGb: 20 });
    await world.until("in step", () => world.get("orders")?.status?.observedGeneration === 3, 60_000);
    await world.available("orders");
    assertEquals(modifies(world), []);
  }));

for (
  const [words, fault] of [
    ["whose answer is lost", { answer: "lost", effect: "done" }],
    ["that fails with 500 after its effect", { answer: REFUSALS.internalError, effect: "done" }],
    ["that takes effect late", { answer: "lost", effect: "late" }],
    ["that is answered late", { delayMs: 9_000 }],
    ["that is never answered", { answer: "stall", effect: "done" }],
  ] as const
) {
  Deno.test(`rule 8: a change ${words} is not sent again once it took effect`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      world.cloud.faults.add({ verbs: ["modify"], times: 1, fault });
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
      await world.until("told", () => world.get("orders")?.status?.observedGeneration === 2);
      await world.available("orders");
      await assertQuiet(world, "orders", PERIOD);
      assertEquals(modifies(world), ['{"sizeGb":50}']);
      assertEquals(world.cloud.ledger.calls({ verb: "modify" }).length, 1);
    }));
}

Deno.test("rule 8: a change that was lost without effect is sent again after the effect bound", () =>
  inWorld({ effectBoundMs: 30_000 }, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.faults.add({ verbs: ["modify"], times: 1, fault: { answer: "lost", effect: "none" } });
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    const [first, second, ...more] = world.cloud.ledger.calls({ verb: "modify" });
    assertEquals(more, []);
    assert(
      (second?.at ?? 0) - (first?.at ?? 0) >= 30_000,
      `after ${(second?.at ?? 0) - (first?.at ?? 0)} ms`,
    );
  }));

Deno.test("a refused change says the provider's words, is tried slowly, and is woken by an edit", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const mend = world.cloud.faults.add({
      verbs: ["modify"],
      fault: { answer: { status: 400, code: "InvalidParameter", message: "There is no version 15.99" } },
    });
    world.cluster.edit("default", "orders", { version: "15.99" });
    await world.until("told", () => world.condition("orders", "Synced") === "False/UpdateFailed");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    const message = world.get("orders")?.status?.conditions?.find((c) => c.type === "Synced")?.message;
    assertMatch(message ?? "", /There is no version 15\.99/);
    await world.run(3_600_000);
    const tries = world.cloud.ledger.calls({ verb: "modify" }).length;
    assert(tries <= 20, `${tries} tries in an hour`);
    mend();
    world.cluster.edit("default", "orders", { version: "15.9" });
    await world.until("15.9", () => databaseOf(world, "orders").version === "15.9", 5_000);
    await world.available("orders");
  }));

Deno.test("what a person changes at the console is put right within one period, again and again", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "orders", { sizeGb: 50 });
    const { id } = databaseOf(world, "orders");
    for (let n = 1; n <= 3; n++) {
      world.cloud.edit(id, { sizeGb: 20, version: "13.0" });
      await world.until("put right", () => {
        const now = databaseOf(world, "orders");
        return now.sizeGb === 50 && now.version === "14.2";
      }, 1.2 * PERIOD);
      assertEquals(modifies(world).length, n);
      await world.run(5 * 3_600_000);
    }
    await world.available("orders");
  }));

Deno.test("a changed endpoint is told within one period; tags that the cloud adds are no news", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id, tags } = databaseOf(world, "orders");
    world.cloud.edit(id, { tags: { ...tags, "aws:cost": "7" } });
    await assertQuiet(world, "orders", 3 * PERIOD);
    world.cloud.edit(id, { endpoint: "standby.example:5432" });
    await world.until(
      "the endpoint is told",
      () => world.get("orders")?.status?.endpoint === "standby.example:5432",
      1.2 * PERIOD,
    );
    await assertQuiet(world, "orders", 3 * PERIOD);
  }));

Deno.test("S3: a database whose UID tag was taken away is reported, not touched, and taken on again when it is back", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id, tags } = databaseOf(world, "orders");
    const { [TAG.uid]: _, ...stripped } = tags;
    world.cloud.edit(id, { tags: stripped });
    await world.until("reported", () => world.condition("orders", "Synced") === "False/Conflict", 2 * PERIOD);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(60_000);
    await assertQuiet(world, "orders", POLLS);
    assertEquals(modifies(world), []);
    world.cloud.edit(id, { tags });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50, 2 * PERIOD);
    await world.available("orders");
    world.assertSafe();
  }));

Deno.test("a failed database that was in use is reported and never replaced", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cloud.edit(id, { state: "Failed" });
    await world.until(
      "told",
      () => world.condition("orders", "Ready") === "False/DatabaseFailed",
      2 * PERIOD,
    );
    await assertQuiet(world, "orders", POLLS);
    world.cloud.edit(id, { state: "Available" });
    await world.until("in step", () => world.condition("orders", "Ready") === "True/Available", 2 * PERIOD);
    assertEquals(databaseOf(world, "orders").id, id);
  }));

Deno.test("a word that the operator does not know is waited out, and told as the provider's own", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cloud.edit(id, { word: "rebooting" });
    const mark = world.cloud.ledger.mark();
    await world.run(2 * PERIOD);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    world.cloud.edit(id, { word: undefined });
    await world.run(2 * PERIOD);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    assertEquals(world.get("orders")?.status?.providerState, "Available");
  }));
