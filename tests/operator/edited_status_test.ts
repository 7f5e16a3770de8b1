/**
 * A status that a person edits while lists do not show yet what was created a moment ago: what it names instead, or no more,
 * decides nothing (S1, S2, rules 5 and 16).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { inWorld, type World } from "../support/world.ts";

/** Its first database failed and was removed; the second was created just now, and lists do not show it yet. */
async function replacedJustNow(world: World): Promise<{ first: string; then: ExternalDatabaseStatus }> {
  world.cloud.settings.provisionFailures = 1;
  world.cluster.create("default", "orders");
  await world.until("failed", () => world.get("orders")?.status?.removing !== undefined, 60_000, 10);
  world.cloud.settings.provisionFailures = 0;
  const first = world.get("orders")!.status!.providerId!;
  await world.until(
    "recorded anew",
    () => {
      const id = world.get("orders")?.status?.providerId;
      return id !== undefined && id !== first;
    },
    300_000,
    10,
  );
  await world.run(1_000);
  return { first, then: world.get("orders")!.status! };
}

const SLOW_LISTS = { readLagMs: 60_000, provisionMs: 500, deleteMs: 500 };

for (const clientTokens of [true, false]) {
  Deno.test(`S1, rule 5: a status edited back to the failed database that was removed brings no second one (tokens: ${clientTokens})`, () =>
    inWorld({ ...SLOW_LISTS, clientTokens }, async (world) => {
      world.start();
      const { first, then } = await replacedJustNow(world);
      world.cluster.setStatus("default", "orders", { ...then, providerId: first });
      await world.run(300_000);
      world.assertSafe();
      assertEquals(world.cloud.databases().length, 1, world.describe());
    }));
}

Deno.test("S2, rule 5: nor does it leave the living one behind when it is deleted", () =>
  inWorld(SLOW_LISTS, async (world) => {
    world.start();
    const { first, then } = await replacedJustNow(world);
    world.cluster.setStatus("default", "orders", { ...then, providerId: first });
    world.cluster.delete("default", "orders");
    await world.run(300_000);
    assertEquals(world.get("orders"), undefined);
    assertEquals(world.cloud.databases().map((d) => d.state), [], world.describe());
  }));

for (const clientTokens of [true, false]) {
  Deno.test(`S1, rule 5: a person who raises the incarnation and lets go of the id brings no second one (tokens: ${clientTokens})`, () =>
    inWorld({ ...SLOW_LISTS, clientTokens }, async (world) => {
      world.start();
      await world.run(1_000);
      world.cluster.create("default", "orders");
      await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 5_000, 10);
      const { providerId: _, ...rest } = world.get("orders")!.status!;
      world.cluster.setStatus("default", "orders", { ...rest, incarnation: 2 });
      await world.run(300_000);
      world.assertSafe();
      assertEquals(world.cloud.databases().length, 1, world.describe());
    }));
}

for (const clientTokens of [true, false]) {
  Deno.test(`S1, rule 5: nor does one who first names what is not there (tokens: ${clientTokens}; seed 11140)`, () =>
    inWorld({ ...SLOW_LISTS, clientTokens }, async (world) => {
      world.start();
      await world.run(1_000);
      world.cluster.create("default", "orders");
      await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 5_000, 10);
      world.cluster.setStatus("default", "orders", {
        ...world.get("orders")!.status!,
        providerId: "db-gone",
      });
      await world.until(
        "missed",
        () => world.condition("orders", "Synced") === "False/ExternalMissing",
        10_000,
        10,
      );
      const { providerId: _, ...rest } = world.get("orders")!.status!;
      world.cluster.setStatus("default", "orders", { ...rest, incarnation: 2 });
      await world.run(300_000);
      world.assertSafe();
      assertEquals(world.cloud.databases().length, 1, world.describe());
    }));
}

Deno.test("S2, rule 16: what is retained is marked though the recorded id names what is gone and lists do not show it yet", () =>
  inWorld(SLOW_LISTS, async (world) => {
    world.start();
    await world.run(1_000);
    world.cluster.create("default", "orders", { deletionPolicy: "Retain" });
    await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 5_000, 10);
    await world.run(1_000);
    const { uid } = world.get("orders")!.metadata;
    world.cluster.setStatus("default", "orders", { ...world.get("orders")!.status!, providerId: "db-gone" });
    world.cluster.delete("default", "orders");
    await world.run(600_000);
    assertEquals(world.get("orders"), undefined);
    assertEquals(world.cloud.databases().map((d) => d.tags[TAG.retained]), [uid], world.describe());
  }));
