/**
 * Databases without a resource (rule 22), and what must not pile up, in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { inWorld } from "../support/world.ts";
import { databaseOf, inStep, PERIOD } from "../support/fleet.ts";

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

Deno.test("rule 22: one list without its resource is not enough", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    world.cluster.meta("default", "orders", { finalizers: [] });
    world.cluster.delete("default", "orders");
    await world.run(100);
    const lists = () => world.cloud.ledger.calls({ verb: "list" }).length;
    for (const reported of [0, 1]) {
      const before = lists();
      operator.observer.requestRound();
      await world.until("a list", () => lists() === before + 1, 5_000);
      await world.run(500);
      assertEquals(operator.orphans.orphans.length, reported);
    }
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
