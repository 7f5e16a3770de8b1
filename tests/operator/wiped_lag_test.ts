/**
 * A status that is wiped while lists do not show yet what was created, changed or deleted a moment ago: no id tells of it
 * any more, and nothing may be concluded from what is not shown (S1, S2, S4, rule 5).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

for (const how of ["lost", "console"] as const) {
  Deno.test(`S4, rule 5: a wiped status after a delete that ${how === "lost" ? "lost its answer" : "a person made"} waits for what lists do not show yet`, () =>
    inWorld({ readLagMs: 60_000, provisionMs: 500, deleteMs: 40_000, latencyMs: 20 }, async (world) => {
      world.start();
      await world.run(1_000);
      await inStep(world);
      const id = world.get("orders")!.status!.providerId!;
      if (how === "lost") world.cloud.faults.loseAnswer("delete");
      else world.cloud.edit(id, { state: "Deleting" });
      world.cluster.delete("default", "orders");
      await world.until("deleting", () => world.cloud.get(id)?.state === "Deleting", 20_000);
      await world.until(
        "it is told so",
        () => world.get("orders")?.status?.providerState === "Deleting",
        20_000,
        10,
      );
      assert(world.get("orders") !== undefined);
      world.cluster.setStatus("default", "orders", {});
      await world.run(15_000);
      assertEquals(world.cloud.get(id)?.state, "Deleting");
      assert(world.get("orders") !== undefined, world.describe());
    }));
}

/** As a stale replica, or another account for a moment (A2), answers. */
const NOT_THERE = { status: 404, code: "NotFound", message: "no such database" };

for (const clientTokens of [true, false]) {
  Deno.test(`S1, rule 5: a status wiped while a read missed what was created just now brings no second one (tokens: ${clientTokens})`, () =>
    inWorld({ readLagMs: 60_000, provisionMs: 500, clientTokens }, async (world) => {
      world.start();
      await world.run(1_000);
      world.cluster.create("default", "orders");
      await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 5_000, 10);
      const heal = world.cloud.faults.add({ verbs: ["get"], fault: { answer: NOT_THERE } });
      await world.until(
        "it is missed",
        () => world.condition("orders", "Ready") === "False/ExternalMissing",
        20_000,
        10,
      );
      heal();
      world.cluster.setStatus("default", "orders", {});
      await world.run(180_000);
      world.assertSafe();
      assertEquals(world.cloud.ledger.createEffects().length, 1);
    }));
}

Deno.test("S2, rule 5: a status wiped while a read missed what was created just now leaves nothing behind when it is deleted", () =>
  inWorld({ readLagMs: 60_000, provisionMs: 500 }, async (world) => {
    world.start();
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 5_000, 10);
    const heal = world.cloud.faults.add({ verbs: ["get"], fault: { answer: NOT_THERE } });
    world.cluster.delete("default", "orders");
    await world.run(1_500);
    heal();
    world.cluster.setStatus("default", "orders", {});
    await world.run(180_000);
    assertEquals(world.get("orders"), undefined);
    assertEquals(world.cloud.databases().map((d) => d.state), []);
  }));

/** Only what the contract allows: reads by id read their own writes; the credentials are another account's for a moment (A2). */
for (const deed of ["lives", "is deleted"] as const) {
  Deno.test(`S1, S2, rule 5: an account that changed for a moment, and a status wiped after that, bring no second and leave none (${deed})`, () =>
    inWorld({ readLagMs: 60_000, provisionMs: 500, clientTokens: false }, async (world) => {
      world.start();
      await world.run(1_000);
      world.cluster.create("default", "orders");
      await world.until("recorded", () => world.get("orders")?.status?.providerId !== undefined, 5_000, 10);
      const gets = () => world.cloud.ledger.calls({ verb: "get" }).length;
      const before = gets();
      if (deed === "is deleted") world.cluster.delete("default", "orders");
      const own = world.cloud.settings.account;
      world.cloud.settings.account = "another";
      await world.until("it is read there", () => gets() > before, 10_000, 1);
      await world.run(21);
      world.cloud.settings.account = own;
      await world.run(15);
      world.cluster.setStatus("default", "orders", {});
      await world.run(180_000);
      assertEquals(world.cloud.ledger.createEffects().length, 1, world.describe());
      const left = deed === "lives" ? 1 : 0;
      assertEquals(world.cloud.databases().length, left, world.describe());
    }));
}
