/**
 * Sleepers (rule 24), orphans (rule 22), bounds, and short mass absences (rule 12), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import type { Keeper } from "../../src/operator/keeper.ts";
import type { Operator } from "../../src/operator/operator.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";

const PERIOD = 300_000;
const MINUTE = 60_000;

async function inStep(world: World, name = "orders", spec: Partial<ExternalDatabaseSpec> = {}) {
  world.cluster.create("default", name, spec);
  await world.available(name);
}

const databaseOf = (world: World, name: string) => world.cloud.get(world.get(name)!.status!.providerId!)!;

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

Deno.test("rule 22: a database whose resource was forced away is reported after two lists, and never deleted", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    const { id, tags } = databaseOf(world, "orders");
    const mark = world.cloud.ledger.mark();
    world.cluster.meta("default", "orders", { finalizers: [] });
    world.cluster.delete("default", "orders");
    await world.run(1_000);
    assert(world.lines.some((l) => l.level === "error" && l.fields.providerId === id), "said at once");
    assertEquals(operator.orphans.orphans, []);
    await world.until("reported", () => operator.orphans.orphans.length === 1, 3 * PERIOD);
    assertEquals(operator.orphans.orphans[0]?.id, id);
    await world.run(5 * PERIOD);
    const lines = world.lines.filter((l) => /has no resource any more/.test(l.message));
    assertEquals(lines.length, 1, "one line, not one a list");
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assertEquals(world.cloud.get(id)?.tags, tags);
    world.cloud.remove(id); // a person takes care of it
    await world.until("no orphan any more", () => operator.orphans.orphans.length === 0, 2 * PERIOD);
  }));

Deno.test("rule 22: a database of a namespace that is not watched, of another cluster, or retained is no orphan", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start({ namespaces: ["default"] });
    const insert = (more: Record<string, string>) =>
      world.cloud.insert({
        tags: {
          [TAG.uid]: "00000000-0000-4000-8000-00000000dead",
          [TAG.crName]: "gone",
          [TAG.namespace]: "default",
          [TAG.cluster]: "cluster-1",
          [TAG.managedBy]: "externaldatabase-operator",
          ...more,
        },
      });
    insert({ [TAG.namespace]: "elsewhere" });
    insert({ [TAG.cluster]: "cluster-2" });
    insert({ [TAG.retained]: "00000000-0000-4000-8000-00000000dead" });
    insert({ [TAG.managedBy]: "someone" });
    const real = insert({});
    await world.run(5 * PERIOD);
    assertEquals(operator.orphans.orphans.map((d) => d.id), [real.id]);
  }));

Deno.test("rule 22: nothing is an orphan before the resources are listed, nor while the cluster cannot be asked", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await inStep(world);
    first.crash();
    let failing: "list" | "get" | undefined = "list";
    world.cluster.fault = ({ verb }) => {
      if (verb === failing) throw new KubeError("unavailable", "no API", { status: 503 });
    };
    const { operator } = world.start();
    await world.run(5 * PERIOD);
    assertEquals(operator.orphans.orphans, [], "not synced");
    failing = undefined;
    await world.run(2 * PERIOD);
    assertEquals(operator.orphans.orphans, [], "its resource is there");
    failing = "get";
    world.cluster.meta("default", "orders", { finalizers: [] });
    world.cluster.delete("default", "orders");
    await world.run(5 * PERIOD);
    assertEquals(operator.orphans.orphans, [], 'a failed read is never "does not exist" (S6)');
    failing = undefined;
    await world.until("reported", () => operator.orphans.orphans.length === 1, 3 * PERIOD);
  }));

Deno.test("W7: a namesake makes its own database, and the old one is reported and left alone", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cluster.breakWatches();
    world.cluster.meta("default", "orders", { finalizers: [] });
    world.cluster.delete("default", "orders");
    world.cluster.create("default", "orders");
    world.cluster.compact();
    await world.available("orders");
    assert(databaseOf(world, "orders").id !== id);
    await world.until("reported", () => operator.orphans.orphans.length === 1, 3 * PERIOD);
    assertEquals(operator.orphans.orphans[0]?.id, id);
    assertEquals(world.cloud.get(id)?.state, "Available");
    assertEquals(operator.supervisor.size, 1);
  }));

Deno.test("after many generations of resources there are as many keepers as resources, and no timer is left", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world, "stays");
    await world.run(10_000);
    const timers = world.clock.pending;
    for (let generation = 0; generation < 15; generation++) {
      const names = Array.from({ length: 20 }, (_, i) => `g${generation}-${i}`);
      for (const [i, name] of names.entries()) {
        // Some never come up, some crash, some are deleted before they are there.
        world.cluster.create(
          "default",
          name,
          i % 5 === 0 ? { sizeGb: 0 } : i % 5 === 1 ? { providerId: "no" } : {},
        );
      }
      await world.run(generation % 3 === 0 ? 300 : 12_000);
      for (const name of names) {
        if (names.indexOf(name) % 7 === 0) world.cluster.meta("default", name, { finalizers: [] });
        world.cluster.delete("default", name);
      }
      await world.until("all are gone", () => world.cluster.all().length === 1, PERIOD);
      await world.run(1_000);
      assertEquals(operator.supervisor.size, 1, `generation ${generation}`);
    }
    await world.run(2 * PERIOD);
    assertEquals([operator.supervisor.backlog, operator.scheduler.depth, operator.scheduler.running], [
      0,
      0,
      0,
    ]);
    assertEquals(operator.absences.active, false);
    assertEquals(world.condition("stays", "Ready"), "True/Available");
    // The loops of the operator, the watch, and the one actor that rests.
    assert(world.clock.pending <= timers + 1, `${world.clock.pending} timers, ${timers} at first`);
  }));

Deno.test("a stopped operator leaves no timer", () =>
  inWorld({}, async (world) => {
    const process = world.start();
    for (let i = 0; i < 10; i++) {
      world.cluster.create("default", `db-${i}`, i % 2 ? {} : { providerId: "no" });
    }
    await world.run(20_000);
    await process.stop();
    await world.run(1_000);
    assertEquals(world.clock.pending, 0);
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
