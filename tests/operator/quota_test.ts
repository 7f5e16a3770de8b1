/**
 * A database that outgrows a quota which nothing enforces: told, and nothing more, in virtual time.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { inWorld, type World } from "../support/world.ts";
import { assertQuiet, databaseOf, inStep, PERIOD } from "../support/fleet.ts";

const quota = (world: World) => world.condition("orders", "WithinQuota");
const told = (world: World) =>
  world.events.filter(({ action, reason }) => action === "Observe" && /Quota/.test(reason))
    .map(({ type, reason }) => `${type} ${reason}`);
const saysOfQuota = (world: World) =>
  world.get("orders")?.status?.conditions?.find(({ type }) => type === "WithinQuota")?.message ?? "";
const holds = (world: World, usedGb: number | undefined) =>
  void world.cloud.edit(databaseOf(world, "orders").id, { usedGb });

Deno.test("a database that holds more than its quota is told by a condition and one Event, and so is its return", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    assertEquals(quota(world), "none", "where nothing is measured nothing is said");

    holds(world, 20);
    await world.until("within", () => quota(world) === "True/WithinQuota", 2 * PERIOD);
    assertEquals(world.get("orders")?.status?.observed?.usedGb, 20);
    assertEquals(told(world), []);

    holds(world, 21);
    await world.until("exceeded", () => quota(world) === "False/QuotaExceeded", 2 * PERIOD);
    assertStringIncludes(saysOfQuota(world), "holds 21 GiB, more than its quota of 20 GiB");
    assertEquals(world.condition("orders", "Ready"), "True/Available", "it serves as before");
    assertEquals(world.condition("orders", "Synced"), "True/Available", "it is no drift");
    holds(world, 35);
    await world.until("more", () => world.get("orders")?.status?.observed?.usedGb === 35, 2 * PERIOD);
    assertEquals(told(world), ["Warning QuotaExceeded"]);
    await assertQuiet(world, 20 * PERIOD);

    // A new process says the same, and no other Event.
    await world.start().stop();
    assertEquals(quota(world), "False/QuotaExceeded");
    assertEquals(told(world), ["Warning QuotaExceeded"]);

    holds(world, 3);
    await world.until("within again", () => quota(world) === "True/WithinQuota", 2 * PERIOD);
    assertEquals(told(world), ["Warning QuotaExceeded", "Normal WithinQuota"]);
    holds(world, undefined);
    await world.until("no longer measured", () => quota(world) === "none", 2 * PERIOD);
    assertEquals(world.get("orders")?.status?.observed?.usedGb, undefined);
  }));

Deno.test("a larger quota ends the excess at once, without waiting for a list", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    holds(world, 30);
    await world.until("exceeded", () => quota(world) === "False/QuotaExceeded", 2 * PERIOD);
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.until("within", () => quota(world) === "True/WithinQuota", 60_000);
  }));

Deno.test("C5: what was last said of the quota stays while the provider cannot be read, and goes with a lost database", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    holds(world, 30);
    await world.until("exceeded", () => quota(world) === "False/QuotaExceeded", 2 * PERIOD);
    const since = () =>
      world.get("orders")?.status?.conditions?.find(({ type }) => type === "WithinQuota")?.lastTransitionTime;
    const first = since();
    world.cloud.faults.add({ fault: { answer: { status: 500, code: "InternalError", message: "" } } });
    await world.until(
      "unread",
      () => world.condition("orders", "Ready").startsWith("Unknown/"),
      6 * PERIOD,
    );
    assertEquals([quota(world), since()], ["False/QuotaExceeded", first]);
    world.cloud.faults.clear();
    await world.available("orders");
    assertEquals([quota(world), since()], ["False/QuotaExceeded", first]);

    const lost = databaseOf(world, "orders").id;
    world.cloud.remove(lost);
    await world.until(
      "made anew",
      () => ![undefined, lost].includes(world.get("orders")?.status?.providerId),
      20 * PERIOD,
    );
    await world.available("orders");
    assertEquals(quota(world), "none");
  }));
