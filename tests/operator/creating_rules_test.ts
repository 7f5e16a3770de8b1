/**
 * What is found instead of created (S1, S3; A4; rules 4, 5 and 7).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import { assertWithin } from "../support/doomed.ts";
import { assertOneLife } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

Deno.test("S1: of two databases that carry its UID a resource without id takes the older, reports the other, creates none", () =>
  inWorld({}, async (world) => {
    world.cluster.create("default", "orders", {}, { finalizers: [FINALIZER] });
    const { uid } = world.get("orders")!.metadata;
    const tags = { [TAG.uid]: uid, [TAG.cluster]: "cluster-1", [TAG.managedBy]: "externaldatabase-operator" };
    const older = world.cloud.insert({ tags });
    await world.run(1_000);
    const newer = world.cloud.insert({ tags });
    world.start();
    await world.until(
      "the duplicate is told",
      () => world.condition("orders", "Synced") === "False/Duplicate",
      20_000,
    );
    assertEquals(world.get("orders")?.status?.providerId, older.id);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    assertStringIncludes(world.get("orders")?.status?.conditions?.[1]?.message ?? "", newer.id);
    await world.run(1_500_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    world.cloud.remove(newer.id);
    await world.until(
      "in step again",
      () => world.condition("orders", "Synced") === "True/Available",
      400_000,
    );
    assertWithin(world, { writes: 6, calls: 60, mutations: 0 });
  }));

Deno.test("S1: a recorded database is kept although an older one of its UID turns up", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const { metadata, status } = world.get("orders")!;
    world.cloud.insert({
      createdAt: 0,
      tags: {
        [TAG.uid]: metadata.uid,
        [TAG.cluster]: "cluster-1",
        [TAG.managedBy]: "externaldatabase-operator",
      },
    });
    await world.until(
      "the duplicate is told",
      () => world.condition("orders", "Synced") === "False/Duplicate",
      400_000,
    );
    assertEquals(world.get("orders")?.status?.providerId, status?.providerId);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
  }));

Deno.test("S3: a lookup that shows a stranger's database of the same name is no reason to take it", () =>
  inWorld({}, async (world) => {
    const foreign = world.cloud.insert({ name: "orders", tags: { [TAG.crName]: "orders" } });
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    assert(world.get("orders")?.status?.providerId !== foreign.id);
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.databases().map((d) => d.id), [foreign.id]);
  }));

Deno.test("Rule 4: a spec edited while the create's answer is lost becomes a modify, never a second create", async () => {
  for (const clientTokens of [true, false]) {
    await inWorld({ clientTokens, readLagMs: 5_000 }, async (world) => {
      world.start();
      world.cloud.faults.loseAnswer("create");
      world.cluster.create("default", "orders");
      await world.run(300);
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.available("orders");
      assertEquals(world.cloud.ledger.createEffects().length, 1);
      assertEquals(world.cloud.databases()[0]?.sizeGb, 50);
      assertWithin(world, { writes: 12, calls: 60, mutations: 6 });
    });
  }
});

Deno.test("Rule 4: a used-up token raises the incarnation once nothing can show any more", () =>
  inWorld({ readLagMs: 5_000 }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(200);
    first.crash();
    world.cloud.remove(world.cloud.databases()[0]!.id); // someone deletes what nobody knew of
    world.start();
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.databases().length, 1);
    assertWithin(world, { writes: 12, calls: 80, mutations: 6 });
  }));

Deno.test("Rule 7: a database that dies while it is looked for is waited out and never taken", () =>
  inWorld({ deleteMs: 60_000, clientTokens: true }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(200);
    first.crash();
    const lost = world.cloud.databases()[0]!.id;
    world.cloud.edit(lost, { state: "Available" });
    void world.cloud.call({ verb: "delete", id: lost }); // someone at the console
    world.start();
    await world.run(30_000);
    assertEquals(world.get("orders")?.status?.providerId, undefined);
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.databases().map((d) => d.id), [world.get("orders")?.status?.providerId]);
    assertWithin(world, { writes: 12, calls: 160, mutations: 5 });
  }));

Deno.test("Rule 7: three databases that fail before they were available are replaced with back-off, then it stops and says so", () =>
  inWorld({ provisionFailures: 1 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.until(
      "it gives up",
      () =>
        world.condition("orders", "Ready") === "False/ProvisioningFailed" &&
        world.get("orders")?.status?.provisioningFailures === 2 &&
        world.cloud.ledger.createEffects().length === 3,
      600_000,
    );
    await world.run(3_600_000);
    assertEquals(world.cloud.ledger.createEffects().length, 3);
    assertEquals(world.cloud.databases().length, 1);
    assertWithin(world, { writes: 24, calls: 200, mutations: 6 });
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("S1: two processes that overlap without a lease make one database of a new resource", async () => {
  for (const readLagMs of [0, 5_000]) {
    for (let apart = 0; apart <= 160; apart += 20) {
      await inWorld({ clientTokens: false, readLagMs, latencyMs: 100 }, async (world) => {
        world.cluster.latencyMs = 40;
        world.start();
        await world.run(100_000);
        world.cluster.create("default", "first");
        await world.run(apart);
        world.start();
        await world.run(apart);
        world.cluster.create("default", "second");
        await world.available("first", "second");
        await world.run(60_000);
        assertEquals(world.cloud.ledger.createEffects().length, 2, `${apart} ms apart`);
        world.assertSafe();
      });
    }
  }
});

Deno.test("A4, S1: a status that is wiped a second after the create, while lists lag, brings no second database", async () => {
  for (const wipeMs of [100, 1_000, 8_000]) {
    await inWorld({ clientTokens: false, readLagMs: 20_000, provisionMs: 500 }, async (world) => {
      world.start();
      await world.run(60_000);
      world.cluster.create("default", "orders");
      await world.run(wipeMs);
      world.cluster.setStatus("default", "orders", {});
      await assertOneLife(world, `wiped after ${wipeMs} ms`);
    });
  }
});

Deno.test("L1: an edited spec whose token made a database that is gone gets a new one", () =>
  inWorld({ readLagMs: 5_000 }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(200);
    first.crash();
    world.cloud.remove(world.cloud.databases()[0]!.id);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    world.start();
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.databases().map((d) => d.sizeGb), [50]);
    assertWithin(world, { writes: 12, calls: 80, mutations: 6 });
  }));
