/**
 * Deleting under kills, lost and late answers (behaviours D2 and D2b; S2, S4, L2; rule 15).
 */
import { assert, assertEquals } from "@std/assert";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { assertWithin, startDoomed } from "../support/doomed.ts";
import { assertNothingLeft, gone, inDeletion } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

for (
  const [words, refusal] of [
    ["rejected", { status: 400, code: "InvalidParameter", message: "bad version" }],
    ["forbidden", REFUSALS.forbidden],
    ["revoked", REFUSALS.unauthenticated],
    ["throttled", REFUSALS.throttled],
  ] as const
) {
  Deno.test(`D2: deleted after every create was ${words}, the finalizer goes at once`, () =>
    inDeletion({}, async (world) => {
      world.start();
      await world.run(500);
      world.cloud.faults.outage(refusal);
      world.cluster.create("default", "orders");
      await world.run(5_000);
      world.cluster.delete("default", "orders");
      await world.run(1_500);
      assertEquals(world.get("orders"), undefined);
      await assertNothingLeft(world);
    }));
}

Deno.test("D2: a create refused in another process's life waits for the settle window; while the lookup is refused it waits and says so", () =>
  inDeletion({ readLagMs: 5_000 }, async (world) => {
    const first = world.start();
    await world.run(500);
    const heal = world.cloud.faults.add({
      verbs: ["create", "list", "get"],
      fault: { answer: REFUSALS.forbidden },
    });
    world.cluster.create("default", "orders");
    await world.run(5_000);
    first.crash();
    world.start();
    world.cluster.delete("default", "orders");
    await world.run(60_000);
    assert(world.get("orders") !== undefined, "the lookup was refused: nothing is decided");
    assertEquals(world.condition("orders", "Synced"), "Unknown/Unauthorised");
    heal();
    await gone(world, "orders", 45_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 24, calls: 60, mutations: 6 });
  }));

for (const clientTokens of [true, false]) {
  for (const readLagMs of [0, 5_000, 20_000]) {
    const words = `${clientTokens ? "with" : "without"} client tokens, read lag ${readLagMs / 1_000} s`;
    Deno.test(`D2: a create of unknown outcome holds the finalizer for the whole settle window, ${words}`, async () => {
      for (const effect of ["none", "done", "late"] as const) {
        await inDeletion({ clientTokens, readLagMs }, async (world) => {
          world.start();
          await world.run(60_000);
          world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { answer: "lost", effect } });
          world.cluster.create("default", "orders");
          await world.run(100);
          const sent = world.cloud.ledger.calls({ verb: "create" })[0]!.answeredAt!;
          world.cluster.delete("default", "orders");
          await gone(world);
          const waited = world.clock.monotonic() - sent;
          if (effect === "none") assert(waited >= 10_000 + readLagMs, `only ${waited} ms`);
          assert(waited <= 45_000 + readLagMs, `${waited} ms`);
          await assertNothingLeft(world, effect);
          assertWithin(world, { writes: 12, calls: 80, mutations: 4 }, effect);
        });
      }
    });

    Deno.test(`D2b: deleted while a slow create is in flight, its answer lost and the operator killed, ${words}`, async () => {
      for (const delayMs of [1_000, 29_000, 60_000, 110_000]) {
        for (const killAt of [500, 20_000, 45_000, 100_000]) {
          await inDeletion({ clientTokens, readLagMs, effectBoundMs: 120_000 }, async (world) => {
            const first = world.start();
            await world.run(500);
            world.cloud.faults.add({
              verbs: ["create"],
              times: 1,
              fault: { answer: "lost", effect: "late", delayMs },
            });
            world.cluster.create("default", "orders");
            await world.run(100);
            world.cluster.delete("default", "orders");
            await world.run(killAt);
            first.crash();
            world.start();
            await gone(world, "orders", 400_000);
            await assertNothingLeft(world, `effect after ${delayMs} ms, killed after ${killAt} ms`);
            assertWithin(world, { writes: 12, calls: 300, mutations: 4 });
          });
        }
      }
    });

    Deno.test(`D2b: killed before and after each call of a deletion, ${words}, nothing is left`, async () => {
      const length = await callsOfOneDeletion({ clientTokens, readLagMs });
      assert(length > 8, `only ${length} calls`);
      for (let at = 0; at < length; at++) {
        for (const when of ["before", "after"] as const) {
          await inDeletion({ clientTokens, readLagMs }, async (world) => {
            const zero = world.start();
            world.cluster.create("default", "orders");
            await world.available("orders");
            zero.crash();
            world.cluster.delete("default", "orders");
            const first = startDoomed(world, { at, when });
            await world.until("the doom", () => first.dead || world.get("orders") === undefined);
            const what = `killed ${when} call ${at} (${first.calls[at]})`;
            first.crash();
            world.start();
            await gone(world);
            await assertNothingLeft(world, what);
            assertWithin(world, { writes: 14, calls: 100 + readLagMs / 300, mutations: 4 }, what);
          });
        }
      }
    });
  }
}

async function callsOfOneDeletion(settings: Partial<CloudSettings>): Promise<number> {
  let length = 0;
  await inWorld(settings, async (world) => {
    const zero = world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    zero.crash();
    world.cluster.delete("default", "orders");
    const process = startDoomed(world);
    await gone(world);
    length = process.calls.length;
  });
  return length;
}

Deno.test("D2b: killed at every call of a create that is being deleted, nothing is left", async () => {
  for (const readLagMs of [0, 20_000]) {
    for (let at = 0; at < 14; at++) {
      for (const when of ["before", "after"] as const) {
        await inDeletion({ clientTokens: false, readLagMs, latencyMs: 200 }, async (world) => {
          world.cluster.latencyMs = 20;
          const first = startDoomed(world, { at, when });
          world.cluster.create("default", "orders");
          await world.run(350 + 50 * at);
          if (world.get("orders")) world.cluster.delete("default", "orders");
          await world.until("the doom", () => first.dead || world.get("orders") === undefined);
          first.crash();
          world.start();
          await gone(world);
          await assertNothingLeft(world, `killed ${when} call ${at} (${first.calls[at]})`);
        });
      }
    }
  }
});

Deno.test("L2: fifty deletions under chance, kills and outages all end, and leave nothing", async () => {
  for (const [clientTokens, readLagMs] of [[true, 0], [false, 5_000], [false, 20_000]] as const) {
    await inDeletion({
      clientTokens,
      readLagMs,
      tokenMemoryMs: 1,
      loseAnswers: 0.2,
      lateEffects: 0.2,
      failBefore: 0.1,
      failAfter: 0.1,
      provisionFailures: 0.2,
    }, async (world) => {
      const names = Array.from({ length: 50 }, (_, i) => `db-${i}`);
      for (const name of names) world.cluster.create("default", name);
      for (let kill = 0; kill < 4; kill++) {
        const process = world.start();
        await world.run(2_000 + 3_000 * kill);
        for (const name of names.slice(kill * 12, kill * 12 + 14)) {
          if (world.get(name)) world.cluster.delete("default", name);
        }
        await world.run(700);
        process.crash();
        world.assertSafe();
      }
      world.start();
      await world.run(60_000);
      world.cloud.configure({ loseAnswers: 0, lateEffects: 0, failBefore: 0, failAfter: 0 });
      for (const { metadata } of world.cluster.all()) world.cluster.delete("default", metadata.name);
      await world.until("all are gone", () => world.cluster.all().length === 0, 300_000);
      await assertNothingLeft(world);
    });
  }
});
