/**
 * Outages, throttling, and resources that fail beside good ones (behaviours C5, C8, Q2), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Fault, REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld } from "../support/world.ts";
import { databaseOf, fleet, inStep, MINUTE, PERIOD } from "../support/fleet.ts";

const OUTAGES: Readonly<Record<string, { readonly fault: Fault; readonly reason: string }>> = {
  "401": { fault: { answer: REFUSALS.unauthenticated, effect: "none" }, reason: "Unauthorised" },
  "403": { fault: { answer: REFUSALS.forbidden, effect: "none" }, reason: "Unauthorised" },
  "500": { fault: { answer: REFUSALS.internalError, effect: "none" }, reason: "Unreadable" },
  "503": { fault: { answer: REFUSALS.unavailable, effect: "none" }, reason: "Unreadable" },
  "nothing": { fault: { answer: "stall", effect: "none" }, reason: "Unreadable" },
  "broken connections": { fault: { answer: "lost", effect: "none" }, reason: "Unreadable" },
};

for (const [words, { fault, reason }] of Object.entries(OUTAGES)) {
  Deno.test(`C5: ready databases answer ${words} for ten minutes: told, endpoint kept, nothing changed, healed by itself`, () =>
    inWorld({}, async (world) => {
      world.start({ pollIntervalMs: 60_000 });
      const names = await fleet(world, 10);
      await world.run(2 * MINUTE);
      const endpoints = names.map((n) => world.get(n)?.status?.endpoint);
      const mark = world.cloud.ledger.mark();
      const writes = world.cluster.writes.length;
      const began = world.clock.monotonic();
      const heal = world.cloud.faults.add({ fault });
      await world.until(
        "told",
        () => names.every((n) => world.condition(n, "Synced") === `Unknown/${reason}`),
        3 * MINUTE,
      );
      for (const name of names) assertEquals(world.condition(name, "Ready"), "True/Available");
      const ready = () => names.map((n) => world.condition(n, "Ready"));
      await world.until("Ready is unknown", () => ready().every((r) => r.startsWith("Unknown/")), 5 * MINUTE);
      const after = world.clock.monotonic() - began;
      assert(after >= 2 * MINUTE && after <= 4 * MINUTE, `Ready unknown after ${after} ms`);
      await world.run(10 * MINUTE - after);
      assertEquals(names.map((n) => world.get(n)?.status?.endpoint), endpoints);
      assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
      assert(world.cluster.writes.length - writes <= 2 * names.length, "one write for Synced, one for Ready");
      heal();
      await world.until(
        "healed",
        () =>
          names.every((n) =>
            world.condition(n, "Synced") === "True/Available" &&
            world.condition(n, "Ready") === "True/Available"
          ),
        62_000, // one back-off, and the time-out of the call under way
      );
      world.assertSafe();
    }));
}

Deno.test("C5: an account that is paused for three periods leaves neither condition True, though no list has failed yet (found by simulation, seed 14829)", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: 60_000 });
    await inStep(world, "orders");
    world.cloud.faults.refuse("list", { ...REFUSALS.throttled, retryAfterSeconds: 290 }, 1);
    const before = world.cluster.writes.length;
    const said = () => (["Ready", "Synced"] as const).map((type) => world.condition("orders", type));
    await world.until("Ready is unknown", () => said()[0] === "Unknown/ProviderUnavailable", 5 * MINUTE);
    assertEquals(said()[1], "Unknown/ProviderUnavailable");
    assertEquals(world.cluster.writes.length, before + 1);
    await world.until("healed", () => said().every((s) => s === "True/Available"), 6 * MINUTE);
  }));

Deno.test("C5: Ready stays True for three whole periods of the resource's own length, not the operator's", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: 60_000 });
    await inStep(world, "orders", { pollInterval: "10m" });
    const heal = world.cloud.faults.outage(REFUSALS.unavailable);
    await world.run(25 * MINUTE);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    assertEquals(world.condition("orders", "Synced"), "Unknown/Unreadable");
    await world.run(7 * MINUTE);
    assertEquals(world.condition("orders", "Ready"), "Unknown/ProviderUnavailable");
    heal();
    await world.available("orders");
  }));

Deno.test("C5: lists that take longer than three periods are no silence: Ready stays True, and nothing is written", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: 5_000 });
    const names = await fleet(world, 5);
    await world.run(MINUTE);
    world.cloud.configure({ latencyMs: 18_000 });
    await world.run(MINUTE);
    const writes = world.cluster.writes.length;
    await world.run(10 * MINUTE);
    for (const name of names) assertEquals(world.condition(name, "Ready"), "True/Available");
    assertEquals(world.cluster.writes.slice(writes), []);
  }));

Deno.test("C5: a restart in the middle of an outage says nothing that is not known", () =>
  inWorld({}, async (world) => {
    const first = world.start({ pollIntervalMs: 60_000 });
    await inStep(world);
    const { endpoint } = world.get("orders")!.status!;
    const heal = world.cloud.faults.outage(REFUSALS.forbidden);
    await world.until(
      "told",
      () => world.condition("orders", "Synced") === "Unknown/Unauthorised",
      5 * MINUTE,
    );
    first.crash();
    const events = world.events.length;
    world.start({ pollIntervalMs: 60_000 });
    for (let n = 0; n < 60; n++) {
      await world.run(1_000);
      assert(world.condition("orders", "Synced").startsWith("Unknown/"), world.condition("orders", "Synced"));
      assert(world.condition("orders", "Ready") !== "False", "never called not ready for want of a read");
      assertEquals(world.get("orders")?.status?.endpoint, endpoint);
    }
    assertEquals(world.events.slice(events).filter((e) => e.reason === "Available"), []);
    heal();
    await world.available("orders");
  }));

Deno.test("C5: one lost list is no outage and writes nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { resourceVersion } = world.get("orders")!.metadata;
    for (let n = 0; n < 5; n++) {
      world.cloud.faults.refuse("list", REFUSALS.unavailable, 1);
      await world.run(1.2 * PERIOD);
    }
    assertEquals(world.get("orders")?.metadata.resourceVersion, resourceVersion);
  }));

Deno.test("Q2: a 429 with Retry-After pauses the whole account, nothing is lost, and no burst follows", () =>
  inWorld({}, async (world) => {
    world.start();
    await fleet(world, 20);
    await world.run(MINUTE);
    world.cloud.faults.refuse("modify", { ...REFUSALS.throttled, retryAfterSeconds: 40 }, 1);
    const names = world.cluster.all().map((o) => o.metadata.name);
    world.cluster.edit("default", names[0]!, { sizeGb: 50 });
    await world.run(1_000);
    const mark = world.cloud.ledger.mark();
    for (const name of names.slice(1)) world.cluster.edit("default", name, { sizeGb: 50 });
    for (let i = 0; i < 10; i++) world.cluster.create("default", `new-${i}`);
    await world.run(38_000);
    assertEquals(world.cloud.ledger.calls({ since: mark }), [], "not one call in the pause");
    await world.until("all is done", () =>
      names.every((n) => databaseOf(world, n).sizeGb === 50) &&
      Array.from({ length: 10 }, (_, i) => world.condition(`new-${i}`, "Ready")).every((c) =>
        c === "True/Available"
      ));
    world.assertSafe();
  }));

Deno.test("Q2: under a limit of calls a second everything is done, with few refusals and none lost", () =>
  inWorld({ ratePerSecond: 10, burst: 10 }, async (world) => {
    world.start();
    for (let i = 0; i < 100; i++) world.cluster.create("default", `db-${i}`);
    const names = Array.from({ length: 100 }, (_, i) => `db-${i}`);
    await world.until(
      "all available",
      () => names.every((n) => world.condition(n, "Ready") === "True/Available"),
      600_000,
      1_000,
    );
    const refused = world.cloud.ledger.calls().filter((c) => c.outcome === "Throttled").length;
    const all = world.cloud.ledger.calls().length;
    assert(refused < all / 2, `${refused} of ${all} calls were refused`);
    assertEquals(world.cloud.ledger.createEffects().length, 100);
    world.assertSafe();
  }));

Deno.test("C8: a hundred that fail in every way do not slow good ones", () =>
  inWorld({ engines: { postgres: ["14", "15"] } }, async (world) => {
    world.start({ concurrency: 8 });
    await world.run(1_000);
    for (let i = 0; i < 60; i++) world.cluster.create("default", `bad-${i}`, { version: "99" });
    for (let i = 0; i < 20; i++) {
      world.cluster.create("default", `nowhere-${i}`, { providerId: `db-none-${i}` });
    }
    for (let i = 0; i < 20; i++) world.cluster.create("default", `invalid-${i}`, { sizeGb: 0 });
    await world.run(30_000);
    const began = world.clock.monotonic();
    const names = await fleet(world, 50);
    const took = world.clock.monotonic() - began;
    assert(took < 12_000, `fifty good ones took ${took} ms`);
    world.cluster.edit("default", names[0]!, { sizeGb: 50 });
    await world.until("an edit goes ahead", () => databaseOf(world, names[0]!).sizeGb === 50, 5_000);
    const mark = world.cloud.ledger.mark();
    await world.run(3_600_000);
    const creates = world.cloud.ledger.calls({ verb: "create", since: mark }).length;
    assert(creates <= 60 * 13, `${creates} creates of hopeless ones in an hour`);
    world.cluster.edit("default", "bad-0", { version: "15.1" });
    await world.available("bad-0");
  }));
