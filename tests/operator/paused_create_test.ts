/**
 * A pause that meets a create in flight (rules 6 and 14; S1, S2), in virtual time.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { inWorld, type World } from "../support/world.ts";
import { PERIOD } from "../support/fleet.ts";

async function pausedDuringCreate(world: World): Promise<void> {
  world.cluster.create("default", "orders");
  await world.until("the create is sent", () => world.cloud.ledger.calls({ verb: "create" }).length === 1);
  world.cluster.edit("default", "orders", { paused: true });
}

Deno.test("rule 6: a create's answer is recorded under a pause, and nothing else is done", () =>
  inWorld({ latencyMs: 2_000 }, async (world) => {
    world.start();
    await pausedDuringCreate(world);
    await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 10_000);
    await world.until("told", () => world.condition("orders", "Synced") === "False/Paused", 10_000);
    const { id } = world.cloud.databases()[0]!;
    assertEquals(world.get("orders")?.status?.providerId, id);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
  }));

for (const end of ["goes on", "is deleted"] as const) {
  Deno.test(`S1, S2: killed at any time of a create that was paused, the resource that ${end} has one database or none`, async () => {
    for (let at = 0; at < 5_000; at += 500) {
      await inWorld({ latencyMs: 2_000 }, async (world) => {
        const first = world.start();
        await pausedDuringCreate(world);
        await world.run(at);
        first.crash();
        world.start();
        await world.run(2 * PERIOD);
        if (end === "is deleted") world.cluster.delete("default", "orders");
        await world.run(60_000);
        world.cluster.edit("default", "orders", { paused: false });
        if (end === "goes on") {
          await world.available("orders");
          assertEquals(world.cloud.databases().length, 1);
        } else {
          await world.until("orders is gone", () => world.get("orders") === undefined, 2 * PERIOD);
          assertEquals(world.cloud.databases(), []);
        }
        world.assertSafe();
      });
    }
  });
}
