/**
 * Adoption (behaviours A1, D8; rules 16, 18, 19), in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { inWorld, type World } from "../support/world.ts";
import { assertQuiet, databaseOf, fleet, inStep, message, PERIOD } from "../support/fleet.ts";

/** Retains a CR's database: the CR goes, the database stays. */
async function retained(world: World, name = "orders", spec: Partial<ExternalDatabaseSpec> = {}) {
  await inStep(world, name, { deletionPolicy: "Retain", ...spec });
  const { id } = databaseOf(world, name);
  world.cluster.delete("default", name);
  await world.until(`${name} is gone`, () => world.get(name) === undefined);
  assert(world.cloud.get(id)?.tags[TAG.retained] !== undefined);
  return id;
}

Deno.test("A1: retained and applied again with spec.providerId: one Event, one tag write, no other change", () =>
  inWorld({}, async (world) => {
    world.start();
    const id = await retained(world);
    const mark = world.cloud.ledger.mark();
    const events = world.events.length;
    const { uid } = world.cluster.create("default", "orders", { providerId: id }).metadata;
    await world.available("orders");
    const calls = world.cloud.ledger.mutatingCalls(mark);
    assertEquals(calls.map((c) => [c.verb, c.id]), [["modify", id]]);
    const { tags, sizeGb, version } = databaseOf(world, "orders");
    assertEquals([tags[TAG.uid], tags[TAG.retained], sizeGb, version], [uid, undefined, 20, "14.2"]);
    assertEquals(world.events.slice(events).filter((e) => e.reason === "Adopted").length, 1);
    assertEquals(world.get("orders")?.status?.adopted, true);
    await assertQuiet(world, 5 * PERIOD);
    world.cluster.delete("default", "orders"); // rule 19: Retain is what an adopted one defaults to
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.get(id)?.tags[TAG.retained], uid);
  }));

Deno.test("A1: an adopted database that differs is reported, and changed only with an explicit Repair", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert({ sizeGb: 20, version: "13.1" });
    world.cluster.create("default", "orders", { providerId: id, sizeGb: 50 });
    await world.until("reported", () => world.condition("orders", "Synced") === "False/DriftReported");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, 5 * PERIOD);
    assertEquals([databaseOf(world, "orders").sizeGb, databaseOf(world, "orders").version], [20, "13.1"]);
    world.cluster.edit("default", "orders", { driftPolicy: "Repair" });
    await world.until("repaired", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").id, id);
  }));

Deno.test("A1: adopted, its database deleted at the console is reported, never re-created", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert();
    await inStep(world, "orders", { providerId: id });
    world.cloud.remove(id);
    await world.until(
      "reported",
      () => world.condition("orders", "Synced") === "False/ExternalMissing",
      2 * PERIOD,
    );
    await world.run(5 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects(), []);
  }));

for (
  const [words, fault] of [
    ["is lost after its effect", { answer: "lost", effect: "done" }],
    ["is lost without effect", { answer: "lost", effect: "none" }],
    ["takes effect late", { answer: "lost", effect: "late" }],
    ["is refused as busy", { answer: { status: 409, code: "InvalidState", message: "busy" } }],
  ] as const
) {
  Deno.test(`rule 18: an adoption whose tag write ${words} ends in one adoption`, () =>
    inWorld({}, async (world) => {
      world.start();
      const { id } = world.cloud.insert();
      world.cloud.faults.add({ verbs: ["modify"], times: 1, fault });
      await inStep(world, "orders", { providerId: id });
      assertEquals(databaseOf(world, "orders").id, id);
      assertEquals(world.events.filter((e) => e.reason === "Adopted").length, 1);
      assertEquals(world.cloud.ledger.createEffects(), []);
      world.assertSafe();
    }));
}

Deno.test("rule 18: killed at any time of an adoption, it is carried through", async () => {
  for (let at = 0; at < 1_500; at += 50) {
    await inWorld({ latencyMs: 200 }, async (world) => {
      world.cluster.latencyMs = 20;
      const first = world.start();
      await world.run(500);
      const { id } = world.cloud.insert();
      world.cluster.create("default", "orders", { providerId: id });
      await world.run(at);
      first.crash();
      world.start();
      await world.available("orders");
      assertEquals(databaseOf(world, "orders").id, id);
      assertEquals(world.cloud.ledger.createEffects(), []);
      world.assertSafe();
    });
  }
});

Deno.test("rule 18: an id that the provider does not have is told, tried slowly, and found when it comes", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders", { providerId: "db-nowhere" });
    await world.until("told", () => world.condition("orders", "Synced") === "False/CreateFailed");
    assertMatch(message(world, "orders"), /db-nowhere/);
    await world.run(600_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    const { id } = world.cloud.insert();
    world.cluster.edit("default", "orders", { providerId: id });
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").id, id);
  }));

Deno.test("rule 18: a database that belongs to a living resource is not taken, and the message names it", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("default", "thief", { providerId: id });
    await world.until("refused", () => world.condition("thief", "Synced") === "False/Conflict");
    assertMatch(message(world, "thief"), new RegExp(`default/owner.*${tags[TAG.uid]}.*adopt-from`));
    assertEquals(world.condition("thief", "Ready"), "False/Conflict");
    await world.run(1_800_000);
    assertEquals(databaseOf(world, "owner").tags, tags);
    assertEquals(world.condition("owner", "Synced"), "True/Available");
  }));

Deno.test("rule 18: adopt-from consents, at once, and the former owner lets go of it", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("default", "heir", { providerId: id });
    await world.until("refused", () => world.condition("heir", "Synced") === "False/Conflict");
    await world.run(60_000);
    world.cluster.annotate("default", "heir", { [ANNOTATION.adoptFrom]: tags[TAG.uid]! });
    await world.until("adopted", () => world.get("heir")?.status?.providerId === id, 5_000);
    await world.available("heir");
    await world.until(
      "the former owner says so",
      () => world.condition("owner", "Synced") === "False/Conflict",
      2 * PERIOD,
    );
    world.cluster.edit("default", "owner", { sizeGb: 99 });
    await world.run(2 * PERIOD);
    assertEquals(world.cloud.get(id)?.sizeGb, 20);
    assertEquals(world.cloud.ledger.createEffects().length, 1, "the former owner makes no other");
  }));

Deno.test("rule 18: a wrong adopt-from consents to nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("default", "thief", { providerId: id }, {
      annotations: { [ANNOTATION.adoptFrom]: "00000000-0000-4000-8000-999999999999" },
    });
    await world.until("refused", () => world.condition("thief", "Synced") === "False/Conflict");
    await world.run(60_000);
    assertEquals(world.cloud.get(id)?.tags, tags);
  }));

Deno.test("rule 18: the database of a resource of this cluster that is gone is free; of another cluster it is not", () =>
  inWorld({}, async (world) => {
    world.start();
    const orphan = (cluster: string) =>
      world.cloud.insert({
        tags: {
          [TAG.uid]: "00000000-0000-4000-8000-00000000dead",
          [TAG.crName]: "lost",
          [TAG.namespace]: "default",
          [TAG.cluster]: cluster,
        },
      }).id;
    const here = orphan("cluster-1"), there = orphan("cluster-2");
    world.cluster.create("default", "finder", { providerId: here });
    world.cluster.create("default", "stranger", { providerId: there });
    await world.available("finder");
    await world.until("refused", () => world.condition("stranger", "Synced") === "False/Conflict");
    assertEquals(world.cloud.get(there)?.tags[TAG.uid], "00000000-0000-4000-8000-00000000dead");
  }));

Deno.test("rule 18: while the owner cannot be read, nothing is taken", () =>
  inWorld({}, async (world) => {
    const { KubeError } = await import("../../src/kube/port.ts");
    world.cluster.fault = ({ verb, key }) => {
      if (verb === "get" && key?.name === "lost") {
        throw new KubeError("server", "etcd is down", { status: 500 });
      }
    };
    world.start();
    const { id } = world.cloud.insert({
      tags: {
        [TAG.uid]: "00000000-0000-4000-8000-00000000dead",
        [TAG.crName]: "lost",
        [TAG.namespace]: "default",
        [TAG.cluster]: "cluster-1",
      },
    });
    world.cluster.create("default", "finder", { providerId: id });
    await world.run(120_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    world.cluster.fault = () => {};
    await world.available("finder");
  }));

Deno.test("D8: two name the same database; the loser says so, never mutates, and its deletion touches nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert();
    await inStep(world, "first", { providerId: id });
    const { tags } = databaseOf(world, "first");
    world.cluster.create("default", "second", { providerId: id, deletionPolicy: "Delete", sizeGb: 99 });
    await world.until("refused", () => world.condition("second", "Synced") === "False/Conflict");
    assertMatch(message(world, "second"), /default\/first/);
    const mark = world.cloud.ledger.mark();
    await world.run(1_800_000);
    world.cluster.delete("default", "second");
    await world.until("second is gone", () => world.get("second") === undefined);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assertEquals(databaseOf(world, "first").tags, tags);
    assertEquals(world.condition("first", "Ready"), "True/Available");
  }));

Deno.test("D8: applied together, one wins, and a restart in between changes nothing of it", async () => {
  for (let at = 0; at < 1_000; at += 100) {
    await inWorld({ latencyMs: 200 }, async (world) => {
      const process = world.start();
      await world.run(500);
      const { id } = world.cloud.insert();
      for (const name of ["a", "b"]) {
        world.cluster.create("default", name, { providerId: id, deletionPolicy: "Delete" });
      }
      await world.run(at);
      process.crash();
      world.start();
      const settled = (name: string) => world.condition(name, "Synced");
      await world.until(
        "one wins",
        () => [settled("a"), settled("b")].toSorted().join() === "False/Conflict,True/Available",
        3 * PERIOD,
      );
      const loser = settled("a") === "False/Conflict" ? "a" : "b";
      world.cluster.delete("default", loser);
      await world.run(2 * PERIOD);
      assert(world.cloud.get(id) !== undefined, "the loser's deletion touches nothing");
      assertEquals(world.cloud.databases().length, 1);
    });
  }
});

Deno.test("rule 16: a retained database that is gone lets its resource go, one or a few at a time", () =>
  inWorld({}, async (world) => {
    world.start();
    const names = await fleet(world, 5, { deletionPolicy: "Retain" });
    world.cloud.remove(databaseOf(world, names[0]!).id);
    world.cluster.delete("default", names[0]!);
    await world.until("it is gone", () => world.get(names[0]!) === undefined, PERIOD);
  }));
