/**
 * The account that a new database's id is recorded under, while the provider does not tell it (rule 6), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { onBench } from "../support/provider_bench.ts";
import { inWorld, type World } from "../support/world.ts";

async function recorded(world: World, name: string, limitMs: number): Promise<void> {
  await world.until("recorded", () => world.get(name)?.status?.providerId !== undefined, limitMs);
  assertEquals(world.get(name)?.status?.account, "simulated");
  assertEquals(world.cloud.databases().length, 1);
}

Deno.test("rule 6: an id is recorded within seconds though another call has the account paused for minutes", () =>
  inWorld({ latencyMs: 500 }, async (world) => {
    const { operator } = world.start({ pollIntervalMs: 60_000 });
    await world.run(10_000);
    world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { delayMs: 4_000 } });
    world.cluster.create("default", "orders", {});
    await world.run(1_000);
    world.cloud.faults.refuse("list", { ...REFUSALS.throttled, retryAfterSeconds: 240 }, 1);
    operator.observer.requestRound();
    await world.run(2_000);
    assert(operator.scheduler.pauses > 0, "the account is paused while the create is under way");
    await recorded(world, "orders", 15_000);
    await world.until("available", () => world.condition("orders", "Ready") === "True/Available", 300_000);
    world.assertSafe();
  }));

Deno.test("rule 6: an id is recorded within seconds though the account does not answer", () =>
  inWorld({ latencyMs: 500 }, async (world) => {
    world.start({ pollIntervalMs: 60_000 });
    await world.run(10_000);
    world.cloud.faults.add({ verbs: ["info"], fault: { answer: "stall", effect: "none" } });
    world.cluster.create("default", "orders", {});
    await recorded(world, "orders", 12_000);
  }));

Deno.test("design 7: a process that ends records the answer of a create in flight though the account is paused", () =>
  inWorld({ latencyMs: 500 }, async (world) => {
    const process = world.start({ pollIntervalMs: 60_000 });
    await world.run(10_000);
    world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { delayMs: 2_500 } });
    world.cluster.create("default", "orders", {});
    await world.run(1_000);
    world.cloud.faults.refuse("list", { ...REFUSALS.throttled, retryAfterSeconds: 240 }, 1);
    process.operator.observer.requestRound();
    await world.run(1_000);
    await process.stop();
    await recorded(world, "orders", 0);
  }));

Deno.test("A2: many that wait for the account share one request, which goes on when the one who began it leaves", () =>
  onBench("account", async (bench) => {
    bench.run();
    await bench.clock.advance(5_000);
    const asked = bench.infos.length;
    const answer = Promise.withResolvers<void>();
    const { info } = bench;
    bench.info = async () => {
      await answer.promise;
      return await info();
    };
    const since = bench.clock.monotonic();
    const leaves = new AbortController();
    let left = false;
    let heard = false;
    bench.account.heard(since, leaves.signal).then(() => left = true);
    bench.account.heard(since, new AbortController().signal).then(() => heard = true);
    await bench.clock.advance(100);
    leaves.abort(new Error("the effect is over"));
    await bench.clock.advance(100);
    assertEquals([left, heard, bench.infos.length - asked], [true, false, 1]);
    answer.resolve();
    await bench.clock.advance(0);
    assertEquals([heard, bench.account.infoAt >= since], [true, true]);
  }));
