/**
 * An idle resource costs nothing (behaviour R1), over models of cluster and cloud, in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { inWorld } from "../support/world.ts";
import { assertQuiet, databaseOf, inStep, modifies, PERIOD } from "../support/fleet.ts";

const POLLS = 20 * PERIOD;

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
        await assertQuiet(world, POLLS, words);
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
    await assertQuiet(world, POLLS);
    await first.stop();
    world.start();
    await assertQuiet(world, POLLS, "restarted");
    world.assertSafe();
  }));

Deno.test("R1: paused and released again, an idle resource tells of it once each", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { paused: true });
    await world.until("paused", () => world.condition("orders", "Synced") === "False/Paused");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, POLLS, "paused");
    world.cluster.edit("default", "orders", { paused: undefined });
    await world.available("orders");
    await assertQuiet(world, POLLS, "released");
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
