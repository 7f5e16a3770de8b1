/** Databases that are only observed are in nobody's books: no list shows them, and their absence says nothing (rule 12). @module */
import { assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";
import { assertQuiet, PERIOD } from "../support/fleet.ts";

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
