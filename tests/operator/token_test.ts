/**
 * The client token (rule 4): one for each UID and incarnation, and no other, whatever becomes of the calls.
 */
import { assert, assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";

/** Tokens of all creates that were sent, by UID and incarnation. */
function tokens(world: World): Map<string, Set<string | undefined>> {
  const sent = new Map<string, Set<string | undefined>>();
  for (const { verb, tags, clientToken } of world.cloud.ledger.mutatingCalls()) {
    if (verb !== "create") continue;
    const key = `${tags?.[TAG.uid]}, incarnation ${tags?.[TAG.incarnation]}`;
    sent.set(key, (sent.get(key) ?? new Set()).add(clientToken));
  }
  return sent;
}

Deno.test("Rule 4: every try of a create carries the same token, over failures, lost answers, edits and a restart", () =>
  inWorld({ effectBoundMs: 2_000, readLagMs: 1_000 }, async (world) => {
    const first = world.start();
    world.cloud.faults.refuse("create", REFUSALS.unavailable, 2);
    world.cloud.faults.add({ verbs: ["create"], times: 2, fault: { answer: "lost", effect: "none" } });
    world.cluster.create("default", "orders");
    await world.run(1_000);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("the failures are over", () => tries(world) > 3, 300_000);
    first.crash();
    world.start();
    await world.available("orders");
    assert(tries(world) > 3, "the create was not tried again");
    assertEquals([...tokens(world).values()].map((t) => t.size), [1]);
  }));

Deno.test("Rule 4: another incarnation has another token", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cloud.remove(world.get("orders")!.status!.providerId!);
    await world.until("it is lost", () => world.condition("orders", "Ready") !== "True/Available", 700_000);
    await world.available("orders");
    const sent = [...tokens(world).values()];
    assertEquals(sent.map((t) => t.size), [1, 1]);
    assertEquals(new Set(sent.flatMap((t) => [...t])).size, 2);
  }));

function tries(world: World): number {
  return world.cloud.ledger.mutatingCalls().filter((c) => c.verb === "create").length;
}
