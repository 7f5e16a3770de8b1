import { assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";

Deno.test("a new resource costs three writes and one create, an idle one nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.available("orders");
    assertEquals(world.cluster.writes.map((w) => w.verb), ["patch", "patchStatus", "patchStatus"]);
    assertEquals(world.effects().length, 1);
    const mark = world.cloud.ledger.mark();
    const { resourceVersion } = world.get("orders")!.metadata;
    await world.run(20 * 300_000);
    assertEquals(world.get("orders")?.metadata.resourceVersion, resourceVersion);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    world.assertSafe();
  }));

Deno.test("a deletion ends with no database and no resource", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    world.assertSafe();
    assertEquals(world.cloud.databases().length, 0);
  }));

for (const clientTokens of [true, false]) {
  for (const readLagMs of [0, 5_000]) {
    const words = `${clientTokens ? "with" : "without"} client tokens, read lag ${readLagMs / 1_000} s`;
    Deno.test(`C1: killed at any time of a create, ${words}, one database comes of it`, async () => {
      for (let at = 0; at < 400; at += 20) {
        await inWorld({ clientTokens, readLagMs, latencyMs: 100 }, async (world) => {
          world.cluster.latencyMs = 20;
          const first = world.start();
          world.cluster.create("default", "orders");
          await world.run(at);
          first.crash();
          await world.run(50);
          world.start();
          await world.available("orders");
          assertEquals(world.cloud.ledger.createEffects().length, 1, `killed after ${at} ms`);
          world.assertSafe();
          world.cluster.delete("default", "orders");
          await world.until("orders is gone", () => world.get("orders") === undefined);
          world.assertSafe();
        });
      }
    });

    Deno.test(`C3: fifty lost answers of creates, ${words}, all resolve`, () =>
      inWorld({ clientTokens, readLagMs, loseAnswers: 0.3, lateEffects: 0.2 }, async (world) => {
        const first = world.start();
        const names = Array.from({ length: 50 }, (_, i) => `db-${i}`);
        for (const name of names) world.cluster.create("default", name);
        await world.run(500);
        first.crash();
        world.start();
        await world.run(30_000);
        world.cloud.configure({ loseAnswers: 0, lateEffects: 0 });
        await world.available(...names);
        world.assertSafe();
        assertEquals(world.cloud.ledger.createEffects().length, 50);
      }));
  }
}
