/**
 * Resources whose data harms their actor (behaviours F4, H2), in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import type { ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { inWorld, type World } from "../support/world.ts";
import { databaseOf, fleet, inStep, message, MINUTE } from "../support/fleet.ts";

const statusWrites = (world: World, name: string) =>
  world.cluster.writes.filter((w) => w.verb === "patchStatus" && w.key.name === name).length;

/** Stored objects that no schema would let in, and that a loosened or older one may have left behind. */
const ABSURD: Readonly<Record<string, unknown>> = {
  "no spec at all": undefined,
  "a spec of null": null,
  "a spec that is text": "postgres",
  "a version that is a number": { engine: "postgres", version: 14, sizeGb: 20 },
  "an engine that is a list": { engine: ["postgres"], version: "14.2", sizeGb: 20 },
  "a poll interval of ninety days": { engine: "postgres", version: "14.2", sizeGb: 20, pollInterval: "90d" },
  "a poll interval that is a number": { engine: "postgres", version: "14.2", sizeGb: 20, pollInterval: 5 },
  "a poll interval of nothing": { engine: "postgres", version: "14.2", sizeGb: 20, pollInterval: "0s" },
};

for (const [words, spec] of Object.entries(ABSURD)) {
  Deno.test(`H2: ${words} is reported, crashes nobody, never spins, and its deletion ends`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world, "good");
      await inStep(world, "old");
      const { id } = databaseOf(world, "old");
      const put = (name: string) => world.cluster.replaceSpec("default", name, spec);
      put("old");
      world.cluster.create("default", "new");
      put("new");
      const mark = world.cloud.ledger.mark();
      await world.run(10 * MINUTE);
      for (const name of ["old", "new"]) {
        assertEquals(world.condition(name, "Synced"), "False/InvalidSpec", name);
      }
      assertEquals(world.condition("old", "Ready"), "True/Available", "the database serves all the same");
      assert(world.cloud.ledger.calls({ since: mark }).length < 30, "no loop");
      assertEquals(world.lines.filter((l) => /crashed/.test(l.message)), []);
      assertEquals(world.condition("good", "Synced"), "True/Available");
      for (const name of ["old", "new"]) world.cluster.delete("default", name);
      await world.until(
        "both are gone",
        () => world.get("old") === undefined && world.get("new") === undefined,
      );
      assertEquals(world.cloud.get(id), undefined);
      world.assertSafe();
    }));
}

Deno.test("F4: a status that makes the actor throw restarts that actor alone, with back-off, says so, and heals", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const names = await fleet(world, 5);
    const bad = names[0]!;
    const good = world.get(bad)!.status!;
    world.cluster.setStatus("default", bad, { ...good, conditions: 7 } as unknown as ExternalDatabaseStatus);
    world.cluster.edit("default", bad, { sizeGb: 50 });
    const crashes = () => world.lines.filter((l) => /actor crashed/.test(l.message)).length;
    await world.run(10 * MINUTE);
    assert(crashes() >= 5 && crashes() <= 25, `${crashes()} crashes in ten minutes`);
    for (const name of names.slice(1)) {
      world.cluster.edit("default", name, { sizeGb: 30 });
    }
    await world.until(
      "the others are not touched",
      () => names.slice(1).every((n) => databaseOf(world, n).sizeGb === 30),
    );
    world.cluster.setStatus("default", bad, good);
    await world.until("50 GiB", () => databaseOf(world, bad).sizeGb === 50, 70_000);
    await world.available(...names);
    assertEquals(operator.supervisor.size, 5);
    world.assertSafe();
  }));

Deno.test("F4: the condition ActorFailed is written, and gone within one pass of the cure", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const [bad, other] = await fleet(world, 2);
    const { uid } = world.get(bad!)!.metadata;
    const real = operator.absences.isHeld.bind(operator.absences);
    operator.absences.isHeld = (of) => {
      if (of === uid) throw new Error("a defect that only this resource meets");
      return real(of);
    };
    world.cluster.annotate("default", bad!, { [ANNOTATION.reconcile]: "1" });
    await world.until("told", () => world.condition(bad!, "Synced") === "Unknown/ActorFailed", 5_000);
    assertMatch(message(world, bad!), /a defect that only this resource meets/);
    assertEquals(world.condition(other!, "Ready"), "True/Available");
    await world.run(5 * MINUTE);
    const writes = statusWrites(world, bad!);
    await world.run(10 * MINUTE);
    assertEquals(statusWrites(world, bad!), writes, "the same crash is not written again");
    operator.absences.isHeld = real;
    await world.until("healed", () => world.condition(bad!, "Synced") === "True/Available", 70_000);
    assertEquals(world.condition(bad!, "Ready"), "True/Available");
    assertEquals(world.get(bad!)?.status?.lastHandledReconcile, "1");
  }));

Deno.test("F4: one that crashes is deleted by force all the same, and leaves no timer and no keeper", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const [bad] = await fleet(world, 3);
    const { uid } = world.get(bad!)!.metadata;
    const real = operator.absences.isHeld.bind(operator.absences);
    operator.absences.isHeld = (of) => {
      if (of === uid) throw new Error("a defect");
      return real(of);
    };
    world.cluster.annotate("default", bad!, { [ANNOTATION.reconcile]: "1" });
    await world.run(MINUTE);
    world.cluster.meta("default", bad!, { finalizers: [] });
    world.cluster.delete("default", bad!);
    await world.run(MINUTE);
    assertEquals(operator.supervisor.size, 2);
    const crashes = world.lines.filter((l) => /actor crashed/.test(l.message)).length;
    await world.run(10 * MINUTE);
    assertEquals(world.lines.filter((l) => /actor crashed/.test(l.message)).length, crashes);
  }));
