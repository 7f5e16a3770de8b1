/**
 * Creating under kills, lost and late answers (behaviours C1 and C3; S1; rules 2 to 6).
 */
import { assert, assertEquals } from "@std/assert";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { assertWithin, startDoomed } from "../support/doomed.ts";
import { assertOneLife, CLOUDS, FORGETFUL } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

/** How many calls a process makes until the resource is in step; where `recovering`, after another lost a create's answer. */
async function callsOfOneCreate(settings: Partial<CloudSettings>, recovering = false): Promise<number> {
  let length = 0;
  await inWorld(settings, async (world) => {
    if (recovering) world.cloud.faults.loseAnswer("create");
    let process = startDoomed(world);
    world.cluster.create("default", "orders");
    if (recovering) {
      await world.until("the create is sent", () => process.calls.includes("cloud.create"));
      process.crash();
      process = startDoomed(world);
    }
    await world.available("orders");
    length = process.calls.length;
  });
  return length;
}

for (const { words, settings } of CLOUDS) {
  Deno.test(`C1: killed before and after each call of a create, ${words}, one database comes of it`, async () => {
    const length = await callsOfOneCreate(settings);
    assert(length > 8, `only ${length} calls`);
    for (let at = 0; at < length; at++) {
      for (const when of ["before", "after"] as const) {
        await inWorld(settings, async (world) => {
          world.cluster.latencyMs = 10;
          const first = startDoomed(world, { at, when });
          world.cluster.create("default", "orders");
          await world.until(
            "the doom",
            () => first.dead || world.condition("orders", "Synced") === "True/Available",
          );
          const what = `killed ${when} call ${at} (${first.calls[at]})`;
          first.crash();
          await world.run(30);
          world.start();
          await assertOneLife(world, what);
          assertWithin(world, { writes: 14, calls: 95, mutations: 5 }, what);
        });
      }
    }
  });
}

for (const { words, settings } of [...CLOUDS, FORGETFUL]) {
  Deno.test(`C1: killed as a create is sent that takes effect late, ${words}, one database comes of it`, async () => {
    for (const delayMs of [0, 900, 2_500, 5_000, 7_500, 9_800]) {
      for (const restartMs of [0, 3_000, 9_000]) {
        await inWorld(settings, async (world) => {
          const counting = startDoomed(world);
          world.cluster.create("default", "other");
          await world.available("other");
          const at = counting.calls.indexOf("cloud.create");
          counting.crash();
          world.cluster.delete("default", "other");
          world.start();
          await world.until("other is gone", () => world.get("other") === undefined);
          world.end();
          world.cloud.ledger.clear();
          world.cloud.faults.lateEffect("create", 1, delayMs);
          const first = startDoomed(world, { at, when: "after" });
          world.cluster.create("default", "orders");
          await world.until("the doom", () => first.dead);
          assertEquals(first.calls[at], "cloud.create");
          await world.run(restartMs);
          world.start();
          await assertOneLife(world, `effect after ${delayMs} ms, restart after ${restartMs} ms`);
        });
      }
    }
  });

  Deno.test(`C1: killed at each call of a create and of the recovery from it, ${words}, one database comes of it`, async () => {
    const length = await callsOfOneCreate(settings, true);
    assert(length > 5, `only ${length} calls`);
    for (let at = 0; at < length; at++) {
      await inWorld(settings, async (world) => {
        world.cloud.faults.loseAnswer("create");
        const probe = startDoomed(world);
        world.cluster.create("default", "orders");
        await world.until("the create is sent", () => probe.calls.includes("cloud.create"));
        probe.crash();
        const second = startDoomed(world, { at, when: at % 2 === 0 ? "after" : "before" });
        await world.until(
          "the doom",
          () => second.dead || world.condition("orders", "Synced") === "True/Available",
        );
        const what = `killed again at call ${at} (${second.calls[at]})`;
        second.crash();
        world.start();
        await assertOneLife(world, what);
        assertWithin(world, { writes: 16, calls: 120, mutations: 6 }, what);
      });
    }
  });

  Deno.test(`C1: every create loses its answer for a minute and takes effect at any time, ${words}, one database`, async () => {
    for (
      const [first, second] of [["done", 9_800], ["done", 5_000], [2_000, 9_800], [9_800, 9_800], [9_800, 0]]
    ) {
      await inWorld(settings, async (world) => {
        world.start();
        const { faults } = world.cloud;
        if (first === "done") faults.loseAnswer("create");
        else faults.lateEffect("create", 1, first as number);
        faults.lateEffect("create", 3, second as number);
        world.cluster.create("default", "orders");
        await assertOneLife(world, `effects after ${first} and ${second} ms`);
        assertWithin(world, { writes: 16, calls: 120, mutations: 8 });
      });
    }
  });
}

for (const { words, settings } of CLOUDS) {
  Deno.test(`C1: a create answers long after the caller gave up, ${words}, and is found`, async () => {
    for (const delayMs of [31_000, 60_000, 115_000]) {
      await inWorld({ ...settings, effectBoundMs: 120_000 }, async (world) => {
        world.start();
        world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { delayMs } });
        world.cluster.create("default", "orders");
        await world.run(29_000);
        assertEquals(world.get("orders")?.status?.state, "Creating"); // L4: a slow create is told
        await world.until(
          "orders in step",
          () => world.condition("orders", "Synced") === "True/Available",
          400_000,
        );
        assertEquals(world.cloud.ledger.createEffects().length, 1, `answer after ${delayMs} ms`);
        world.assertSafe();
        assertWithin(world, { writes: 12, calls: 120, mutations: 4 });
      });
    }
  });
}

Deno.test("C1: an actor that crashes between a create's answer and its record finds the database, whatever the lag", async () => {
  for (const clientTokens of [true, false]) {
    await inWorld({ clientTokens, readLagMs: 20_000, latencyMs: 2_000 }, async (world) => {
      world.start();
      await world.run(120_000); // the process is long past the settle window of its start (rule 5)
      world.cluster.create("default", "orders");
      await world.run(1_500);
      const { status } = world.get("orders")!;
      world.cluster.setStatus("default", "orders", { ...status, conditions: 1 as never }); // F4
      await world.until("the crash", () => world.lines.some((l) => l.message.startsWith("An actor crashed")));
      world.cluster.setStatus("default", "orders", {});
      await assertOneLife(world, clientTokens ? "tokens" : "no tokens");
    });
  }
});

for (const clientTokens of [true, false]) {
  const words = `${clientTokens ? "with" : "without"} client tokens`;
  Deno.test(`C3: fifty creates in flight at a kill, half took effect and all lost their answer, ${words}, all resolve`, () =>
    inWorld({ clientTokens, readLagMs: 5_000, tokenMemoryMs: 1 }, async (world) => {
      world.cloud.faults.add({ verbs: ["create"], times: 25, fault: { answer: "lost", effect: "done" } });
      world.cloud.faults.add({ verbs: ["create"], times: 25, fault: { answer: "lost", effect: "none" } });
      const first = world.start();
      const names = Array.from({ length: 50 }, (_, i) => `db-${i}`);
      for (const name of names) world.cluster.create("default", name);
      await world.until("all are sent", () => world.cloud.ledger.mutatingCalls().length === 50, 5_000, 5);
      first.crash();
      world.start();
      await world.available(...names);
      world.assertSafe();
      assertEquals(world.cloud.ledger.createEffects().length, 50);
      assertWithin(world, { writes: 250, calls: 2_000, mutations: 110 });
    }));

  Deno.test(`C3: creates under chance, ${words}, never make a second database`, async () => {
    for (let round = 0; round < 4; round++) {
      await inWorld({
        clientTokens,
        tokenMemoryMs: 1,
        readLagMs: [0, 2_000, 9_000, 20_000][round] ?? 0,
        loseAnswers: 0.3,
        lateEffects: 0.4,
        failBefore: 0.1,
        failAfter: 0.1,
      }, async (world) => {
        const names = Array.from({ length: 40 }, (_, i) => `db-${i}`);
        for (const name of names) world.cluster.create("default", name);
        for (let kill = 0; kill < 3; kill++) {
          const process = world.start();
          await world.run(400 + 4_000 * kill);
          process.crash();
          world.assertSafe();
        }
        world.start();
        await world.run(60_000);
        world.assertSafe();
        world.cloud.configure({ loseAnswers: 0, lateEffects: 0, failBefore: 0, failAfter: 0 });
        await world.available(...names);
        world.assertSafe();
        assertEquals(world.cloud.ledger.createEffects().length, 40);
      });
    }
  });
}
