/**
 * Sleepers (rule 24) and absences of a moment (rule 12), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, FINALIZER } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import type { Keeper } from "../../src/operator/keeper.ts";
import { KubeError } from "../../src/kube/port.ts";
import type { Operator } from "../../src/operator/operator.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";
import { databaseOf, inStep, MINUTE, PERIOD } from "../support/fleet.ts";

function keeperOf(operator: Operator, name: string): Keeper {
  for (const keeper of operator.supervisor.keepers) {
    if (keeper.object.metadata.name === name) return keeper;
  }
  throw new Error(`${name} has no keeper`);
}

/** A resource that sleeps. */
async function asleep(world: World, spec: Partial<ExternalDatabaseSpec> = {}) {
  const { operator } = world.start();
  await inStep(world, "orders", spec);
  const keeper = keeperOf(operator, "orders");
  await world.until("it sleeps", () => keeper.hibernating, 20 * MINUTE, 1_000);
  return { operator, keeper };
}

Deno.test("rule 24: an idle actor sleeps, and its lists neither wake it nor cost a call", () =>
  inWorld({}, async (world) => {
    const { keeper } = await asleep(world);
    const { resourceVersion } = world.get("orders")!.metadata;
    const mark = world.cloud.ledger.mark();
    for (let n = 0; n < 20; n++) {
      await world.run(PERIOD);
      assert(keeper.hibernating, `period ${n}`);
    }
    assertEquals(
      world.cloud.ledger.calls({ since: mark }).filter((c) => c.verb !== "list" && c.verb !== "info"),
      [],
    );
    assertEquals(world.get("orders")?.metadata.resourceVersion, resourceVersion);
    assertEquals(keeper.state, "Available");
    assertEquals(keeper.snapshot, undefined);
  }));

/** What wakes a sleeper, and what shows that it acted. */
const WAKERS: Readonly<Record<string, readonly [(world: World) => void, (world: World) => boolean, number]>> =
  {
    "an edit": [
      (w) => w.cluster.edit("default", "orders", { sizeGb: 50 }),
      (w) => databaseOf(w, "orders").sizeGb === 50,
      5_000,
    ],
    "an edit of nothing but the generation": [
      (w) => w.cluster.edit("default", "orders", { driftPolicy: "Repair" }),
      (w) => w.get("orders")?.status?.observedGeneration === 2,
      2_000,
    ],
    "a deletion": [
      (w) => w.cluster.delete("default", "orders"),
      (w) => w.get("orders") === undefined,
      20_000,
    ],
    "a reconcile request": [
      (w) => w.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "1" }),
      (w) => w.get("orders")?.status?.lastHandledReconcile === "1",
      2_000,
    ],
    "a stripped finalizer": [
      (w) => w.cluster.meta("default", "orders", { finalizers: [] }),
      (w) => w.get("orders")?.metadata.finalizers?.[0] === FINALIZER,
      2_000,
    ],
    "a wiped status": [
      (w) => w.cluster.setStatus("default", "orders", {}),
      (w) => w.condition("orders", "Synced") === "True/Available",
      20_000,
    ],
    "drift that the list shows": [
      (w) => void w.cloud.edit(databaseOf(w, "orders").id, { sizeGb: 10 }),
      (w) => databaseOf(w, "orders").sizeGb === 20,
      1.2 * PERIOD,
    ],
    "a changed endpoint": [
      (w) => void w.cloud.edit(databaseOf(w, "orders").id, { endpoint: "other:5432" }),
      (w) => w.get("orders")?.status?.endpoint === "other:5432",
      1.2 * PERIOD,
    ],
    "a database that is gone": [
      (w) => w.cloud.remove(databaseOf(w, "orders").id),
      (w) =>
        w.get("orders")?.status?.incarnation === 2 && w.condition("orders", "Ready") === "True/Available",
      1.5 * PERIOD,
    ],
    "an outage": [
      (w) => void w.cloud.faults.outage(REFUSALS.forbidden),
      (w) => w.condition("orders", "Synced") === "Unknown/Unauthorised",
      1.5 * PERIOD,
    ],
    "an outage that lasts": [
      (w) => void w.cloud.faults.outage(REFUSALS.forbidden),
      (w) => w.condition("orders", "Ready") === "Unknown/ProviderUnavailable",
      3.5 * PERIOD,
    ],
    "another account": [
      (w) => w.cloud.configure({ account: "another" }),
      (w) => w.condition("orders", "Synced") === "False/Conflict",
      2 * MINUTE,
    ],
    "a second database with its UID": [
      (w) => void w.cloud.insert({ tags: { ...databaseOf(w, "orders").tags } }),
      (w) => w.condition("orders", "Synced") === "False/Duplicate",
      1.2 * PERIOD,
    ],
  };

for (const [what, [wake, acted, withinMs]] of Object.entries(WAKERS)) {
  Deno.test(`rule 24: ${what} wakes a sleeper, which acts as if it had never slept`, () =>
    inWorld({}, async (world) => {
      await asleep(world);
      wake(world);
      await world.until(`it acted on ${what}`, () => acted(world), withinMs);
      assertEquals(world.lines.filter((l) => /crashed/.test(l.message)), []);
    }));
}

Deno.test("rule 24: a label or a foreign annotation does not wake it", () =>
  inWorld({}, async (world) => {
    const { keeper } = await asleep(world);
    world.cluster.meta("default", "orders", { labels: { team: "a" } });
    world.cluster.annotate("default", "orders", { "example.com/note": "x" });
    await world.run(MINUTE);
    assert(keeper.hibernating);
    world.cluster.edit("default", "orders", { sizeGb: 50 }); // and what it was told while asleep is not lost
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50, 5_000);
    assertEquals(world.get("orders")?.metadata.labels, { team: "a" });
  }));

const RESTLESS: Readonly<Record<string, (world: World) => void>> = {
  "a poll interval of its own": (w) => w.cluster.edit("default", "orders", { pollInterval: "1m" }),
  "a pause": (w) => w.cluster.edit("default", "orders", { paused: true }),
  "reported drift": (w) => w.cluster.edit("default", "orders", { driftPolicy: "Report", sizeGb: 50 }),
  "an outage": (w) => void w.cloud.faults.outage(REFUSALS.forbidden),
};
for (const [what, make] of Object.entries(RESTLESS)) {
  Deno.test(`rule 24: with ${what} it does not sleep`, () =>
    inWorld({}, async (world) => {
      const { operator } = world.start();
      await inStep(world);
      make(world);
      for (let n = 0; n < 60; n++) {
        await world.run(MINUTE);
        assert(!keeperOf(operator, "orders").hibernating || n < 3, `asleep after ${n} minutes`);
      }
    }));
}

Deno.test("rule 24, L1: one whose status could not be written does not sleep before it is, also when its next try is overdue (found by simulation, seed 26666)", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    const refuse = () => {
      throw new KubeError("unavailable", "service unavailable", { status: 503 });
    };
    world.cluster.fault = ({ verb, phase }) =>
      verb === "patchStatus" && phase === "before" ? refuse() : undefined;
    world.cloud.edit(databaseOf(world, "orders").id, { endpoint: "other:5432" });
    await world.until(
      "a write that failed",
      () => world.lines.some((l) => l.message === "Failed: report"),
      2 * PERIOD,
    );
    for (let n = 0; n < 1_200; n++) {
      await world.run(100);
      assert(!keeperOf(operator, "orders").hibernate(0), `asleep after ${n * 100} ms`);
    }
    world.cluster.fault = () => {};
    await world.until("it is said", () => world.get("orders")?.status?.endpoint === "other:5432", MINUTE);
  }));

Deno.test("rule 24: it sleeps, wakes and sleeps again, a hundred times, and forgets nothing", () =>
  inWorld({}, async (world) => {
    const { keeper } = await asleep(world);
    const { id } = databaseOf(world, "orders");
    for (let n = 1; n <= 100; n++) {
      world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: String(n) });
      await world.until(
        "acknowledged",
        () => world.get("orders")?.status?.lastHandledReconcile === String(n),
        2_000,
      );
      await world.until("it sleeps", () => keeper.hibernating, 20 * MINUTE, MINUTE);
    }
    assertEquals(databaseOf(world, "orders").id, id);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
    world.assertSafe();
  }));

Deno.test("rule 24: a deletion right after a sleep knows of its create: nothing is left and nothing waits long", () =>
  inWorld({ readLagMs: 60_000, effectBoundMs: 60_000 }, async (world) => {
    await asleep(world);
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined, 30_000);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("rule 12: an account that seems empty for a moment, of any length, brings no second database", async () => {
  for (const ms of [500, 2_000, 3_500, 5_000, 8_000, 15_000, 30_000, 59_000, 61_000, 120_000]) {
    for (const quick of [true, false]) {
      await inWorld({}, async (world) => {
        world.start({ pollIntervalMs: 60_000 });
        const names = Array.from({ length: 12 }, (_, i) => `db-${i}`);
        for (const name of names) world.cluster.create("default", name, quick ? { pollInterval: "10s" } : {});
        await world.available(...names);
        await world.run(59_000);
        const records = world.cloud.databases();
        for (const record of records) Object.assign(record, { account: "elsewhere" });
        for (const name of names.slice(0, 3)) {
          world.cluster.annotate("default", name, { [ANNOTATION.reconcile]: "1" });
        }
        world.cluster.delete("default", names[4]!);
        await world.run(ms);
        for (const record of records) Object.assign(record, { account: "simulated" });
        await world.until(
          "healed",
          () => names.every((n) => n === names[4] || world.condition(n, "Synced") === "True/Available"),
          3 * PERIOD,
        );
        await world.until("the deleted one is gone", () => world.get(names[4]!) === undefined, 3 * PERIOD);
        await world.run(3 * MINUTE);
        assertEquals(world.cloud.ledger.createEffects().length, 12, `empty for ${ms} ms`);
        assertEquals(world.cloud.databases().length, 11);
        world.assertSafe();
      });
    }
  }
});

Deno.test("Seed 444: an actor that says that nobody can read its database does not sleep over the end of the silence", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: MINUTE / 2, hibernateAfterMs: 100_000 });
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.create("default", "payments", { pollInterval: "10s" });
    await world.available("payments");
    world.cluster.edit("default", "orders", { sizeGb: 30 }); // it is busy, and will not sleep for a while
    await world.until("larger", () => databaseOf(world, "orders").sizeGb === 30);
    await world.available("orders");
    // The whole account pauses for five minutes, in which nothing fails.
    world.cloud.faults.refuse("get", { ...REFUSALS.throttled, retryAfterSeconds: 600 });
    await world.until(
      "nobody can read it",
      () => world.condition("orders", "Ready") === "Unknown/ProviderUnavailable",
      20 * MINUTE,
    );
    await world.until(
      "it is read again",
      () => world.condition("orders", "Ready") === "True/Available",
      10 * MINUTE,
    );
  }));
