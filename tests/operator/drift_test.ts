/**
 * What differs and what is done about it (behaviours R2, R3, R5, R7, R8), in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { inWorld } from "../support/world.ts";
import { assertQuiet, databaseOf, inStep, message, modifies, PERIOD } from "../support/fleet.ts";

const POLLS = 20 * PERIOD;

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
    await assertQuiet(world, POLLS);
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
    await assertQuiet(world, POLLS);
    world.cluster.edit("default", "orders", { version: "14.3" }); // what is there already
    await world.until("observed", () => world.get("orders")?.status?.observedGeneration === 2);
    await assertQuiet(world, PERIOD);
    world.cluster.edit("default", "orders", { version: "15.0" });
    await world.until("15.0", () => databaseOf(world, "orders").version === "15.0");
    await world.available("orders");
    await assertQuiet(world, POLLS);
    assertEquals(modifies(world), ['{"version":"15.0"}']);
    world.cloud.edit(databaseOf(world, "orders").id, { version: "17.0" });
    await world.until(
      "17.0 is reported",
      () => world.condition("orders", "Synced") === "False/DriftNotRepairable",
      2 * PERIOD,
    );
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, POLLS);
    assertEquals(modifies(world).length, 1);
  }));

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
    await assertQuiet(world, POLLS);
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
    await assertQuiet(world, POLLS);
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
    await assertQuiet(world, POLLS);
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
    await assertQuiet(world, POLLS);
    assertEquals(modifies(world), []);
    world.cluster.edit("default", "orders", { driftPolicy: "Repair" });
    await world.until("repaired", () => databaseOf(world, "orders").sizeGb === 50);
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
    await assertQuiet(world, 3 * PERIOD);
    world.cloud.edit(id, { endpoint: "standby.example:5432" });
    await world.until(
      "the endpoint is told",
      () => world.get("orders")?.status?.endpoint === "standby.example:5432",
      1.2 * PERIOD,
    );
    await assertQuiet(world, 3 * PERIOD);
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
    await assertQuiet(world, POLLS);
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
    await assertQuiet(world, POLLS);
    world.cloud.edit(id, { state: "Available" });
    await world.until("in step", () => world.condition("orders", "Ready") === "True/Available", 2 * PERIOD);
    assertEquals(databaseOf(world, "orders").id, id);
  }));

Deno.test("a word for upkeep that the operator knows is waited out, and the database serves all the while", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cloud.edit(id, { word: "backing-up" });
    const mark = world.cloud.ledger.mark();
    await world.run(2 * PERIOD);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    world.cloud.edit(id, { word: undefined });
    await world.run(2 * PERIOD);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    assertEquals(world.get("orders")?.status?.providerState, "Available");
  }));

for (const word of ["Stopped", "rebooting"]) {
  Deno.test(`S6: a database that is "${word}", which nobody knows, is not called ready, is left alone, and heals by itself`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      const { id, endpoint } = databaseOf(world, "orders");
      world.cloud.edit(id, { word });
      const mark = world.cloud.ledger.mark();
      await world.until(
        "told",
        () => world.condition("orders", "Ready") === "Unknown/Unreadable",
        2 * PERIOD,
      );
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.run(2 * PERIOD);
      assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
      assertEquals(world.condition("orders", "Ready"), "Unknown/Unreadable");
      assertEquals(world.condition("orders", "Synced"), "Unknown/Unreadable");
      assertStringIncludes(message(world, "orders", "Ready"), `"${id}" is "${word}"`);
      const { status } = world.get("orders")!;
      assertEquals([status?.providerState, status?.endpoint], [word, endpoint]);
      world.cloud.edit(id, { word: undefined });
      await world.available("orders");
      assertEquals(databaseOf(world, "orders").sizeGb, 50);
    }));
}
