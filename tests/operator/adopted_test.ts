/**
 * A database that was there before its resource stays one that was adopted, whatever spec and status say later (rule 19).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { inWorld } from "../support/world.ts";

for (const instead of ["another", "none"] as const) {
  Deno.test(`rule 19: a database whose tags were under way when the spec ceased to name it (${instead}) is not taken for one that was created`, () =>
    inWorld({ latencyMs: 1_000 }, async (world) => {
      world.start();
      await world.run(3_000);
      const { id } = world.cloud.insert();
      const other = world.cloud.insert().id;
      world.cluster.create("default", "orders", { providerId: id });
      await world.until(
        "its tags are being written",
        () => world.cloud.ledger.calls({ verb: "modify" }).length > 0,
        20_000,
        50,
      );
      world.cluster.edit("default", "orders", { providerId: instead === "another" ? other : undefined });
      await world.run(120_000);
      world.cluster.delete("default", "orders");
      await world.run(600_000);
      assert(
        world.cloud.get(id) !== undefined,
        "what was there before the resource was deleted: " + world.describe(),
      );
    }));
}

for (const late of ["killed", "wiped"] as const) {
  Deno.test(`rule 19: an adopted database that the spec names no more stays one when its record is lost (${late})`, () =>
    inWorld({ latencyMs: 500 }, async (world) => {
      const first = world.start();
      await world.run(3_000);
      const { id } = world.cloud.insert();
      world.cluster.create("default", "orders", { providerId: id });
      if (late === "killed") {
        await world.until("tagged", () => world.cloud.get(id)?.tags[TAG.uid] !== undefined, 20_000, 10);
        first.crash();
        assertEquals(world.get("orders")?.status?.providerId, undefined);
        world.cluster.edit("default", "orders", { providerId: undefined });
        world.start();
      } else {
        await world.available("orders");
        world.cluster.edit("default", "orders", { providerId: undefined });
        await world.run(10_000);
        world.cluster.setStatus("default", "orders", {});
      }
      world.cluster.delete("default", "orders");
      await world.run(600_000);
      assertEquals(world.get("orders"), undefined);
      assert(world.cloud.get(id) !== undefined, "it was deleted: " + world.describe());
    }));
}

Deno.test("S1, rule 18: a spec that names another database before the first adoption is recorded makes no two its own", () =>
  inWorld({}, async (world) => {
    world.start();
    await world.run(1_000);
    const [one, two] = [world.cloud.insert().id, world.cloud.insert().id];
    // The tags are written, and what reads them again does not get an answer.
    const heal = world.cloud.faults.add({
      verbs: ["get"],
      skip: 1,
      id: one,
      fault: { answer: { status: 503, code: "Unavailable", message: "later" } },
    });
    world.cluster.create("default", "orders", { providerId: one });
    await world.until("tagged", () => world.cloud.get(one)?.tags[TAG.uid] !== undefined, 30_000, 10);
    await world.run(1_000);
    world.cluster.edit("default", "orders", { providerId: two });
    await world.run(30_000);
    heal();
    await world.run(600_000);
    world.assertSafe();
  }));
