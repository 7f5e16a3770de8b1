/**
 * One database of the account that cannot be read, and what it must not do to the others (S6), in virtual time.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import type { Database, DatabaseProvider, UnreadableDatabase } from "../../src/providers/port.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { inWorld, type World } from "../support/world.ts";
import { databaseOf, fleet, PERIOD } from "../support/fleet.ts";

/** A provider over the world's cloud whose lists show the databases of `bad` as unreadable. */
function spoiled(world: World, bad: ReadonlyMap<string, UnreadableDatabase>): DatabaseProvider {
  const inner = createSimulatedProvider(world.cloud, { clock: world.clock });
  return {
    ...inner,
    async list(options) {
      const page = await inner.list(options);
      const isBad = (d: Database) => bad.has(d.id);
      const unreadable = page.items.filter(isBad).map((d) => bad.get(d.id)!);
      return { ...page, items: page.items.filter((d) => !isBad(d)), unreadable };
    },
  };
}

const isWarning = ({ message }: { message: string }) => /listed database cannot be read/.test(message);

Deno.test("S6: an unreadable database is told to its own resource alone, is not absent, and heals by itself", () =>
  inWorld({}, async (world) => {
    const bad = new Map<string, UnreadableDatabase>();
    const { operator } = world.start({ provider: spoiled(world, bad) });
    const names = await fleet(world, 10);
    const [first, second] = names as [string, string];
    const { id } = databaseOf(world, first);
    const mark = world.cloud.ledger.mark();
    bad.set(id, { id, message: `what it says of the database "${id}" is not valid (sizeGb: not a number)` });
    await world.until("told", () => world.condition(first, "Synced") === "Unknown/Unreadable", 2 * PERIOD);
    const told = world.get(first)?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";
    assertMatch(told, new RegExp(`"${id}".*sizeGb`));
    world.cloud.edit(databaseOf(world, second).id, { sizeGb: 5 }); // the others are looked at as ever
    await world.until("repaired", () => databaseOf(world, second).sizeGb === 20, 2 * PERIOD);
    await world.run(3 * PERIOD);
    for (const name of names.slice(1)) assertEquals(world.condition(name, "Synced"), "True/Available");
    assertEquals([operator.absences.active, world.lines.filter(isWarning).length], [false, 1]);
    const reads = world.cloud.ledger.calls({ verb: "get", since: mark }).filter((c) => c.id === id);
    assertEquals(reads, [], "nobody looks for what is not absent");
    assertEquals(
      world.cloud.ledger.effects({ by: "api", since: mark }).filter((e) =>
        e.id === id || e.kind !== "modify"
      ),
      [],
    );
    bad.clear();
    await world.until("healed", () => world.condition(first, "Synced") === "True/Available", 2 * PERIOD);
    bad.set(id, { id, message: `"${id}" again` });
    await world.run(2 * PERIOD);
    assertEquals(world.lines.filter(isWarning).length, 2, "logged anew after it could be read");
    world.assertSafe();
  }));

Deno.test("S6: with an unreadable database that has no usable id, nothing that is not listed is absent", () =>
  inWorld({}, async (world) => {
    const bad = new Map<string, UnreadableDatabase>();
    world.start({ provider: spoiled(world, bad) });
    const names = await fleet(world, 10);
    const [first, second] = names as [string, string];
    const { id } = databaseOf(world, first);
    const gone = databaseOf(world, second).id;
    const mark = world.cloud.ledger.mark();
    bad.set(id, { message: "it lists a database without a usable id (id: not a string)" });
    world.cloud.remove(gone);
    await world.run(3 * PERIOD);
    for (const name of [first, second]) assertEquals(world.condition(name, "Synced"), "Unknown/Unreadable");
    for (const name of names.slice(2)) assertEquals(world.condition(name, "Synced"), "True/Available");
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assertEquals(world.lines.filter(isWarning).length, 1);
    bad.clear();
    await world.until("seen", () => world.condition(first, "Synced") === "True/Available", 2 * PERIOD);
    await world.until(
      "the absence is believed again",
      () => world.get(second)?.status?.providerId !== gone,
      3 * PERIOD,
    );
  }));

Deno.test("S6: a lookup that meets an unreadable database is tried again, and creates nothing meanwhile", () =>
  inWorld({}, async (world) => {
    const bad = new Map<string, UnreadableDatabase>();
    const heal = world.cloud.faults.add({ verbs: ["create"], fault: { answer: "lost" } });
    const first = world.start({ provider: spoiled(world, bad) });
    world.cluster.create("default", "orders");
    await world.until("created", () => world.cloud.databases().length === 1);
    first.crash();
    heal();
    const { id } = world.cloud.databases()[0]!;
    bad.set(id, { id, message: `what it says of the database "${id}" is not valid (sizeGb: not a number)` });
    const mark = world.cloud.ledger.mark();
    world.start({ provider: spoiled(world, bad) });
    await world.run(3 * PERIOD);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    const said = world.get("orders")?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";
    assertMatch(said, new RegExp(`"${id}".*sizeGb`));
    bad.clear();
    await world.until("found", () => world.get("orders")?.status?.providerId === id, 2 * PERIOD);
    world.assertSafe();
  }));
