/**
 * A `spec.providerId` that is set while a create is in flight (S1, S2; rules 18 and 19), in virtual time.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { inWorld, type World } from "../support/world.ts";
import { databaseOf, message, PERIOD } from "../support/fleet.ts";

/** A resource whose create is in flight, and what its spec names meanwhile. */
async function namedDuringCreate(world: World): Promise<{ readonly other: string }> {
  const other = world.cloud.insert().id;
  world.cluster.create("default", "orders");
  await world.until("the create is sent", () => world.cloud.ledger.calls({ verb: "create" }).length === 1);
  assertEquals(world.get("orders")?.status?.providerId, undefined);
  world.cluster.edit("default", "orders", { providerId: other });
  return { other };
}

Deno.test("rule 18: a database that was created is not called adopted because spec.providerId was set meanwhile", () =>
  inWorld({ latencyMs: 2_000 }, async (world) => {
    world.start();
    const { other } = await namedDuringCreate(world);
    await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict");
    const { id } = databaseOf(world, "orders");
    assertEquals([id === other, world.get("orders")?.status?.adopted], [false, undefined]);
    assertMatch(message(world, "orders"), new RegExp(`${other}.*remove spec.providerId.*${id}`));
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    world.cloud.edit(id, { sizeGb: 30 });
    world.cluster.edit("default", "orders", { sizeGb: 40 }); // Repair is what a created one defaults to
    await world.until("repaired", () => world.cloud.get(id)?.sizeGb === 40, 2 * PERIOD);
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined, 2 * PERIOD);
    assertEquals(world.cloud.get(id), undefined, "S2: what was created goes");
    assertEquals(world.cloud.get(other)?.tags[TAG.uid], undefined);
    world.assertSafe();
  }));

Deno.test("rule 18: without spec.providerId again the conflict is over", () =>
  inWorld({ latencyMs: 2_000 }, async (world) => {
    world.start();
    await namedDuringCreate(world);
    await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict");
    world.cluster.edit("default", "orders", { providerId: undefined });
    await world.available("orders");
  }));

for (const effect of ["done", "late", "none"] as const) {
  Deno.test(`S1: a lost create (effect ${effect}) is resolved before the database that spec.providerId names is adopted`, () =>
    inWorld({ latencyMs: 2_000 }, async (world) => {
      world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { answer: "lost", effect } });
      world.start();
      const { other } = await namedDuringCreate(world);
      await world.until("an end", () => {
        const words = world.condition("orders", "Synced");
        return words === "False/Conflict" || words === "True/Available";
      }, 4 * PERIOD);
      assertEquals(databaseOf(world, "orders").id === other, effect === "none");
      assertEquals(world.cloud.ledger.createEffects().length, effect === "none" ? 0 : 1);
      world.assertSafe();
    }));

  Deno.test(`S2: deleted after a lost create (effect ${effect}) and with spec.providerId set, what was created goes`, () =>
    inWorld({ latencyMs: 2_000 }, async (world) => {
      world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { answer: "lost", effect } });
      world.start();
      const { other } = await namedDuringCreate(world);
      world.cluster.delete("default", "orders");
      await world.until("orders is gone", () => world.get("orders") === undefined, 4 * PERIOD);
      assertEquals(world.cloud.databases().map((d) => [d.id, d.tags[TAG.uid]]), [[other, undefined]]);
    }));
}

Deno.test("S1: a process that starts on an id named in between looks for what its forerunner may have made", async () => {
  for (let at = 0; at < 6_000; at += 500) {
    await inWorld({ latencyMs: 2_000 }, async (world) => {
      const first = world.start();
      await namedDuringCreate(world);
      await world.run(at);
      first.crash();
      world.start();
      await world.until("an end", () => {
        const words = world.condition("orders", "Synced");
        return words === "False/Conflict" || words === "True/Available";
      }, 4 * PERIOD);
      world.assertSafe();
      world.cluster.delete("default", "orders");
      await world.until("orders is gone", () => world.get("orders") === undefined, 4 * PERIOD);
      assertEquals(world.cloud.databases().length, 1, "only what was there before");
    });
  }
});
