/**
 * A recorded database that does not carry the CR's UID: edited statuses, lost tags (S2, S3, L2; rule 18), in virtual
 * time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { inWorld, type World } from "../support/world.ts";
import { assertQuiet, databaseOf, inStep, message, PERIOD } from "../support/fleet.ts";

const FOREIGN = { untagged: {}, "another's": { [TAG.uid]: "00000000-0000-4000-8000-00000000beef" } };

/** A resource whose status was edited to name a database that is not its own. */
async function misled(world: World, tags: Record<string, string>, spec: Partial<ExternalDatabaseSpec> = {}) {
  await inStep(world, "orders", spec);
  const own = databaseOf(world, "orders").id;
  const foreign = world.cloud.insert({ tags }).id;
  world.cluster.setStatus("default", "orders", { ...world.get("orders")!.status, providerId: foreign });
  return { own, foreign };
}

/** Reasons of the Events that say how the resource came by its database. */
function lives(world: World): string[] {
  return world.events.map((e) => e.reason)
    .filter((reason) => ["Created", "Recorded", "Adopted"].includes(reason));
}

function assertUntouched(world: World, id: string, tags: Record<string, string>) {
  assertEquals(world.cloud.get(id)?.tags, tags);
  assertEquals(world.effects().filter((e) => e.endsWith(id)), []);
}

for (const [whose, tags] of Object.entries(FOREIGN)) {
  for (const restart of [false, true]) {
    const when = restart ? ", after a restart" : "";
    Deno.test(`S2: a status that was edited to an ${whose} database is healed by what carries the UID${when}`, () =>
      inWorld({}, async (world) => {
        const first = world.start();
        const { own, foreign } = await misled(world, tags);
        if (restart) {
          first.crash();
          world.start();
        }
        const told = lives(world).length;
        await world.until("healed", () => world.get("orders")?.status?.providerId === own, 2 * PERIOD);
        await world.available("orders");
        assertEquals(lives(world).slice(told), ["Recorded"], "nothing was created");
        assertUntouched(world, foreign, tags);
        await assertQuiet(world, 2 * PERIOD);
      }));

    Deno.test(`S2: deleted with a status that names an ${whose} database, its own goes and the other stays${when}`, () =>
      inWorld({}, async (world) => {
        const first = world.start();
        await inStep(world);
        const own = databaseOf(world, "orders").id;
        const foreign = world.cloud.insert({ tags }).id;
        if (restart) first.crash();
        world.cluster.setStatus("default", "orders", {
          ...world.get("orders")!.status,
          providerId: foreign,
        });
        world.cluster.delete("default", "orders");
        if (restart) world.start();
        await world.until("orders is gone", () => world.get("orders") === undefined, 2 * PERIOD);
        assertEquals(world.cloud.get(own), undefined);
        assertUntouched(world, foreign, tags);
      }));
  }

  Deno.test(`rule 16: retained with a status that names an ${whose} database, its own is marked`, () =>
    inWorld({}, async (world) => {
      world.start();
      const { own, foreign } = await misled(world, tags, { deletionPolicy: "Retain" });
      world.cluster.delete("default", "orders");
      await world.until("orders is gone", () => world.get("orders") === undefined, 2 * PERIOD);
      assert(world.cloud.get(own)?.tags[TAG.retained] !== undefined);
      assertUntouched(world, foreign, tags);
    }));

  for (const end of ["is gone", "has its tags again"] as const) {
    Deno.test(`L2: a deletion that its ${whose} database holds up goes on once that ${end}`, () =>
      inWorld({}, async (world) => {
        world.start();
        await inStep(world);
        const { id, tags: before } = databaseOf(world, "orders");
        // One is in the operator's list still, the other is not.
        world.cloud.edit(id, { tags: whose === "untagged" ? {} : { ...before, ...tags } });
        world.cluster.delete("default", "orders");
        await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict");
        await assertQuiet(world, 4 * PERIOD);
        const { length } = world.cloud.ledger.calls({ verb: "get" });
        await world.run(4 * PERIOD);
        const reads = world.cloud.ledger.calls({ verb: "get" }).length - length;
        assert(reads <= 8, `${reads} reads in 20 minutes`);
        if (end === "is gone") world.cloud.remove(id);
        else world.cloud.edit(id, { tags: before });
        await world.until("orders is gone", () => world.get("orders") === undefined, 2 * PERIOD);
        assertEquals(world.cloud.get(id), undefined);
      }));
  }
}

for (const retained of [false, true]) {
  const what = retained ? "all but a retained mark" : "all its tags";
  Deno.test(`rule 18: a recorded database that lost ${what} gets them again when spec.providerId names it`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      const { id, tags } = databaseOf(world, "orders");
      world.cloud.edit(id, { tags: retained ? { [TAG.retained]: tags[TAG.uid]! } : {} });
      await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict", 2 * PERIOD);
      assertMatch(message(world, "orders"), new RegExp(`set spec.providerId to .*${id}`));
      world.cluster.edit("default", "orders", { providerId: id });
      await world.available("orders");
      assertEquals(databaseOf(world, "orders").tags, tags);
      assertEquals(world.get("orders")?.status?.adopted, undefined);
      await assertQuiet(world, 2 * PERIOD);
      world.cluster.delete("default", "orders");
      await world.until("orders is gone", () => world.get("orders") === undefined, 2 * PERIOD);
      assertEquals(world.cloud.get(id), undefined, "it is a created one still (rule 19)");
    }));
}

Deno.test("rule 18: a recorded database that carries another's UID is not taken back by spec.providerId", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id, tags } = databaseOf(world, "orders");
    world.cloud.edit(id, { tags: { ...tags, ...FOREIGN["another's"] } });
    world.cluster.edit("default", "orders", { providerId: id });
    await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict", 2 * PERIOD);
    await assertQuiet(world, 2 * PERIOD);
    assertEquals(world.cloud.get(id)?.tags[TAG.uid], FOREIGN["another's"][TAG.uid]);
  }));

Deno.test("S6: a recorded database that lost its tags is not given up for a copy that carries the UID", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id, tags } = databaseOf(world, "orders");
    world.cloud.insert({ tags });
    const { [TAG.uid]: _, ...stripped } = tags;
    world.cloud.edit(id, { tags: stripped });
    await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict", 2 * PERIOD);
    await world.run(2 * PERIOD);
    assertEquals(world.get("orders")?.status?.providerId, id);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
  }));
