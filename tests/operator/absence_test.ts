/**
 * Databases that seem to be gone, many at once (behaviour A3, rule 12), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";
import { assertQuiet, databaseOf, fleet, PERIOD } from "../support/fleet.ts";

/** The ways in which a whole account can seem to be empty. */
const VOIDS: Readonly<Record<string, (world: World) => () => void>> = {
  "404 for every database": (world) =>
    world.cloud.faults.add({ verbs: ["get", "modify", "delete"], fault: { answer: REFUSALS.notFound } }),
  "404 for every database while lists fail": (world) => {
    const gets = world.cloud.faults.add({ verbs: ["get"], fault: { answer: REFUSALS.notFound } });
    // What asks by UID is answered, and finds nothing; the list of all is not, so that nobody counts.
    for (const { metadata: { uid }, status } of world.cluster.all()) {
      world.cloud.edit(status!.providerId!, { tags: {} });
      world.cloud.faults.add({ verbs: ["list"], uid, fault: {} });
    }
    world.cloud.faults.add({ verbs: ["list"], fault: { answer: REFUSALS.unavailable } });
    return () => {
      gets();
      world.cloud.faults.clear();
      for (const { id } of world.cloud.databases()) world.cloud.edit(id, { tags: tagsBefore(id, world) });
    };
  },
  "an empty list": (world) => emptied(world, false),
  "an empty account under the same name": (world) => emptied(world, true),
};

/** Takes all databases out of sight; the result brings them back. */
function emptied(world: World, byId: boolean): () => void {
  const all = world.cloud.databases();
  for (const record of all) {
    world.cloud.edit(record.id, { tags: {} });
    if (byId) Object.assign(record, { account: "elsewhere" });
  }
  const tags = new Map(all.map((r) => [r.id, tagsBefore(r.id, world)]));
  return () => {
    for (const record of all) {
      if (byId) Object.assign(record, { account: "simulated" });
      world.cloud.edit(record.id, { tags: tags.get(record.id) ?? {} });
    }
  };
}

/** The tags that a database was created with. */
function tagsBefore(id: string, world: World): Record<string, string> {
  return { ...world.cloud.ledger.effects({ kind: "create" }).find((e) => e.id === id)?.tags };
}

for (const [words, make] of Object.entries(VOIDS)) {
  const absent = words !== "an empty list"; // tags taken away are a conflict, not an absence
  Deno.test(`A3: ${words}: nothing is re-created, no finalizer goes, one alert, and all heals by itself`, () =>
    inWorld({}, async (world) => {
      world.start();
      const names = await fleet(world, 30);
      const mark = world.cloud.ledger.mark();
      const heal = make(world);
      // Whoever reads by itself, is edited, or is asked for finds the absence first.
      world.cluster.edit("default", names[0]!, { pollInterval: "10s" });
      world.cluster.edit("default", names[1]!, { sizeGb: 50 });
      world.cluster.annotate("default", names[2]!, { [ANNOTATION.reconcile]: "1" });
      await world.run(PERIOD + 60_000);
      world.cluster.delete("default", names[3]!);
      await world.run(4 * PERIOD);
      assertEquals(world.cloud.ledger.effects({ by: "api", since: mark }), []);
      assertEquals(world.cluster.all().length, 30);
      for (const { metadata } of world.cluster.all()) assertEquals(metadata.finalizers, [FINALIZER]);
      if (absent) {
        const alerts = world.lines.filter((l) =>
          l.level === "error" && /turned absent together/.test(l.message)
        );
        assert(alerts.length <= 1, `${alerts.length} alerts`);
        if (!words.startsWith("404")) {
          for (const name of names) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
        }
      }
      heal();
      await world.until("the deleted one is gone", () => world.get(names[3]!) === undefined, 3 * PERIOD);
      const rest = names.filter((n) => n !== names[3]);
      await world.until(
        "all in step",
        () => rest.every((n) => world.condition(n, "Synced") === "True/Available"),
        3 * PERIOD,
      );
      assertEquals(world.cloud.ledger.createEffects().length, 30);
      assertEquals(world.cloud.get(world.get(names[1]!)!.status!.providerId!)?.sizeGb, 50);
      world.assertSafe();
    }));
}

for (const deletionPolicy of ["Delete", "Retain"] as const) {
  Deno.test(`A3: a whole namespace deleted while the account seems empty keeps its finalizers, policy ${deletionPolicy}`, async () => {
    for (const before of [0, 2 * PERIOD]) {
      await inWorld({}, async (world) => {
        world.start();
        const names = await fleet(world, 20, { deletionPolicy });
        const heal = emptied(world, true);
        await world.run(before);
        for (const name of names) world.cluster.delete("default", name);
        await world.run(3 * PERIOD);
        assertEquals(world.cluster.all().length, 20, `deleted ${before} ms after the account went empty`);
        for (const name of names) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
        heal();
        await world.until("all gone", () => world.cluster.all().length === 0, 3 * PERIOD);
        const left = world.cloud.databases();
        assertEquals(left.length, deletionPolicy === "Retain" ? 20 : 0);
        assert(left.every((d) => d.tags[TAG.retained] !== undefined), "and what is kept is marked");
      });
    }
  });
}

Deno.test("A3: so does one that is deleted while the operator is down, and one restarted in the middle of it", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 20);
    first.crash();
    const heal = emptied(world, true);
    for (const name of names) world.cluster.delete("default", name);
    const second = world.start();
    await world.run(2 * PERIOD);
    assertEquals(world.cluster.all().length, 20);
    second.crash();
    world.start();
    await world.run(2 * PERIOD);
    assertEquals(world.cluster.all().length, 20, "after another restart");
    heal();
    await world.until("all gone", () => world.cluster.all().length === 0, 3 * PERIOD);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("rule 12: deletions that we asked for are no mass absence, at whatever moment the operator dies", async () => {
  for (let at = 0; at < 4_000; at += 100) {
    await inWorld({ latencyMs: 100 }, async (world) => {
      world.cluster.latencyMs = 20;
      const first = world.start();
      const names = await fleet(world, 12);
      for (const name of names) world.cluster.delete("default", name);
      await world.run(at);
      first.crash();
      await world.run(10_000); // the cloud carries on
      world.start();
      await world.until(`all gone, killed after ${at} ms`, () => world.cluster.all().length === 0, PERIOD);
      assertEquals(world.cloud.databases(), []);
    });
  }
});

Deno.test("rule 12: an absence that a person confirms is acted on, one by one", () =>
  inWorld({}, async (world) => {
    world.start();
    const names = await fleet(world, 10);
    for (const record of world.cloud.databases()) world.cloud.remove(record.id); // they are really gone
    await world.until(
      "held",
      () => names.every((n) => world.condition(n, "Synced") === "False/MassAbsence"),
      2 * PERIOD,
    );
    world.cluster.annotate("default", names[0]!, { [ANNOTATION.confirmAbsence]: "yes" });
    await world.available(names[0]!);
    world.cluster.annotate("default", names[1]!, { [ANNOTATION.confirmAbsence]: "yes" });
    world.cluster.delete("default", names[1]!);
    await world.until("the deleted one is gone", () => world.get(names[1]!) === undefined);
    assertEquals(world.cloud.ledger.createEffects().length, 11, "and no other");
    for (const name of names.slice(2)) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
    assertEquals(world.get(names[0]!)?.status?.lastHandledConfirmation, "yes");
    for (const name of names.slice(2)) {
      world.cluster.annotate("default", name, { [ANNOTATION.confirmAbsence]: "yes" });
    }
    await world.available(names[0]!, ...names.slice(2));
    world.assertSafe();
    await assertQuiet(world, 3 * PERIOD);
  }));

Deno.test("rule 12: few absences are acted on; a restart forgets neither that many were absent nor that few were", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 20);
    for (const name of names.slice(0, 3)) world.cloud.remove(databaseOf(world, name).id);
    await world.until("re-created", () => world.cloud.ledger.createEffects().length === 23, 2 * PERIOD);
    await world.available(...names);
    await world.run(2 * PERIOD);
    for (const name of names.slice(0, 8)) world.cloud.remove(databaseOf(world, name).id);
    await world.until("held", () => world.condition(names[0]!, "Synced") === "False/MassAbsence", 2 * PERIOD);
    first.crash();
    world.start();
    await world.run(3 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects().length, 23);
    assertEquals(world.condition(names[7]!, "Synced"), "False/MassAbsence");
    assertEquals(world.condition(names[8]!, "Synced"), "True/Available");
  }));

Deno.test("rule 12: absences of a fleet larger than a slice are counted before any is acted on", () =>
  inWorld({ latencyMs: 5 }, async (world) => {
    world.start({ concurrency: 256 });
    const names = await fleet(world, 1_200);
    const gone = names.filter((_, i) => i % 10 === 9);
    for (const name of gone) world.cloud.remove(databaseOf(world, name).id);
    await world.run(2.5 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects().length, 1_200);
    for (const name of gone) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
    assertEquals(world.condition(names[0]!, "Synced"), "True/Available");
  }));

Deno.test("rule 12: a confirmation that came when the databases were back again is none of the next mass absence, though its resource only reports what differs", () =>
  inWorld({}, async (world) => {
    world.start();
    const names = await fleet(world, 30);
    const [name = ""] = names;
    world.cluster.edit("default", name, { driftPolicy: "Report", sizeGb: 50 });
    await world.until("told", () => world.condition(name, "Synced") === "False/DriftReported");
    const held = () => names.every((n) => world.condition(n, "Synced") === "False/MassAbsence");
    const back = emptied(world, true);
    await world.until("held", held, 5 * PERIOD, 1_000);
    back();
    await world.until(
      "back",
      () => world.condition(name, "Synced") === "False/DriftReported",
      5 * PERIOD,
      1_000,
    );
    world.cluster.annotate("default", name, { [ANNOTATION.confirmAbsence]: "yes" });
    await world.run(2 * PERIOD);
    emptied(world, true);
    await world.run(5 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects().length, names.length);
    assert(held());
  }));
