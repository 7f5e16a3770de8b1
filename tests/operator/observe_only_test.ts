/** Databases that are only observed are in nobody's books: no list shows them, and their absence says nothing (rule 12). @module */
import { assert, assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";
import { assertQuiet, inStep, PERIOD } from "../support/fleet.ts";

Deno.test("rule 12: databases that are only observed, which no list shows, are no mass absence, also when they go together", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const names = [..."abcdef"];
    const ids = names.map((name) => world.cloud.insert({ name }).id);
    names.forEach((name, n) =>
      world.cluster.create("default", name, { managementPolicy: "ObserveOnly", providerId: ids[n] })
    );
    await world.available(...names);
    await world.run(2 * PERIOD);
    assertEquals(operator.absences.active, false, "while they are there");
    await assertQuiet(world, 3 * PERIOD);
    for (const id of ids) world.cloud.remove(id);
    await world.until(
      "told",
      () => names.every((name) => world.condition(name, "Synced") === "False/ExternalMissing"),
      3 * PERIOD,
    );
    assertEquals(operator.absences.active, false, "when they are gone");
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    assertEquals(world.lines.filter((l) => l.level === "error"), []);
  }));

Deno.test("L1: what was only observed a moment ago is adopted at once: nothing was ever created", () =>
  inWorld({ readLagMs: 60_000 }, async (world) => {
    world.start();
    await world.run(1_000);
    await inStep(world, "first", { deletionPolicy: "Retain" });
    const id = world.get("first")!.status!.providerId!;
    world.cluster.delete("default", "first");
    await world.until("released", () => world.get("first") === undefined);
    world.cluster.create("default", "orders", { providerId: id, managementPolicy: "ObserveOnly" });
    await world.until("observed", () => world.get("orders")?.status?.observeOnly === true, 10_000);
    world.cluster.edit("default", "orders", { managementPolicy: "Full" });
    const begun = world.clock.monotonic();
    await world.until(
      "adopted",
      () => world.cloud.get(id)?.tags["db.my.domain/uid"] === world.get("orders")!.metadata.uid,
      300_000,
      100,
    );
    const took = world.clock.monotonic() - begun;
    assert(took < 5_000, `it took ${took} ms`);
  }));

Deno.test("D8: what only observes shows nothing of a database that has come to be another namespace's", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: 30_000 });
    await world.run(2_000);
    const { id } = world.cloud.insert();
    world.cluster.create("default", "look", { providerId: id, managementPolicy: "ObserveOnly" });
    await world.until("shown", () => world.condition("look", "Ready") === "True/Available", 30_000);
    world.cluster.create("other", "owner", { providerId: id, driftPolicy: "Repair" });
    await world.until("owned", () => world.cluster.read("other", "owner")?.status?.providerId === id, 30_000);
    await world.until("hidden", () => world.condition("look", "Synced") === "False/Conflict", 90_000);
    world.cluster.edit("other", "owner", { sizeGb: 77 });
    await world.run(180_000);
    assert(
      !JSON.stringify(world.get("look")?.status).includes("77"),
      JSON.stringify(world.get("look")?.status),
    );
  }));
