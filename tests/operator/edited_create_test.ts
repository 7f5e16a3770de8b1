/**
 * A spec that is edited while its create waits for its turn: what was never made is made as it is asked for now (L1).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";

Deno.test("L1, rule 4: an engine that is edited before the create is sent is the one that is created", () =>
  inWorld({}, async (world) => {
    world.start({ concurrency: 1 });
    await world.run(1_000);
    // The account's one call at a time takes long.
    world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { delayMs: 8_000 } });
    world.cluster.create("default", "first");
    await world.run(500);
    world.cluster.create("default", "orders");
    await world.until("begun", () => world.get("orders")?.metadata.finalizers !== undefined, 5_000, 10);
    await world.run(500);
    assertEquals(world.get("orders")?.status?.providerId, undefined);
    world.cluster.edit("default", "orders", { engine: "mysql", version: "8.0" });
    await world.run(120_000);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    assertEquals(world.cloud.databases().map((d) => [d.name, d.engine]).toSorted(), [
      ["first", "postgres"],
      ["orders", "mysql"],
    ]);
  }));
