/**
 * D4 and A1, `managementPolicy: ObserveOnly`: a database is looked at and never changed, not even by a tag; the end of the
 * resource leaves it as it is; a resource that is to manage it after all adopts it in order.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../../src/api/schema.ts";
import { each, EXTREMES, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

/** A spec that only observes database `id`. */
const observing = (id: string, more: Partial<ExternalDatabaseSpec> = {}): Partial<ExternalDatabaseSpec> => ({
  managementPolicy: "ObserveOnly",
  providerId: id,
  ...more,
});

function assertUntouched(stage: Stage, id: string): void {
  assertEquals(stage.mutations(), [], "something was sent");
  assertEquals(stage.cloud.ledger.effects({ by: "api" }), []);
  assertEquals(stage.cloud.get(id)?.tags, {});
}

each(
  EXTREMES,
  (words) =>
    `D4: observe-only (${words}): the status tells how the database is, drift is reported, and its end leaves it, with every call a place to die`,
  (cloud) =>
    playAtEveryCrash({ minutes: 20, plan: { cloud } }, async (stage) => {
      const { id } = stage.cloud.insert({ name: "legacy" });
      stage.create("a", observing(id));
      await stage.available("a");
      const { status, metadata } = stage.get("a");
      assertEquals(
        [status?.providerId, status?.endpoint, status?.observed?.sizeGb, status?.observeOnly],
        [id, stage.cloud.get(id)?.endpoint, 20, true],
      );
      assertEquals(metadata.finalizers ?? [], []);
      stage.cloud.edit(id, { sizeGb: 10, version: "13.4" });
      await stage.until("told", () => stage.condition("a", "Synced") === "False/DriftReported", 3 * MINUTE);
      assert(stage.message("a").includes("ObserveOnly"), stage.message("a"));
      await stage.until("seen", () => stage.get("a").status?.observed?.sizeGb === 10);
      stage.edit("a", { sizeGb: 40 });
      await stage.pause(2 * MINUTE);
      stage.remove("a");
      assertEquals(stage.find("a"), undefined, "its end waited for the operator");
      await stage.pause(2 * MINUTE);
      assertEquals([stage.cloud.get(id)?.sizeGb, stage.cloud.get(id)?.version], [10, "13.4"]);
      assertUntouched(stage, id);
    }, 6),
);

Deno.test("D4: observe-only of a database in step: no write in silence, and one read in a period of the list", () =>
  play({ minutes: 30 }, async (stage) => {
    const ids = ["a", "b", "c", "d", "e"].map((name) => {
      const { id } = stage.cloud.insert({ name });
      stage.create(name, observing(id));
      return id;
    });
    await stage.available(["a", "b", "c", "d", "e"]);
    await stage.pause(2 * MINUTE);
    const { rv } = stage.world.store;
    const mark = stage.mark();
    await stage.pause(10 * MINUTE);
    assertEquals(stage.world.store.rv, rv);
    const reads = stage.calls("get", mark).length;
    assert(reads >= 40 && reads <= 65, `${reads} reads in ten minutes`);
    for (const id of ids) assertUntouched(stage, id);
  }));

Deno.test("D4: observe-only of what is not there: told, looked for again, and an id that was wrong can be put right", () =>
  playAtEveryCrash({ minutes: 20 }, async (stage) => {
    const { id } = stage.cloud.insert({ name: "legacy" });
    stage.create("a", observing("db-none"));
    await stage.until("told", () => stage.condition("a", "Synced") === "False/ExternalMissing");
    assert(stage.message("a").includes("db-none"), stage.message("a"));
    await stage.pause(2 * MINUTE);
    stage.edit("a", { providerId: id });
    await stage.available("a");
    stage.cloud.remove(id);
    await stage.until("told", () => stage.condition("a", "Synced") === "False/ExternalMissing", 3 * MINUTE);
    await stage.pause(3 * MINUTE);
    assertEquals([stage.mutations(), stage.cloud.databases()], [[], []]);
  }, 4));

Deno.test("D4: many that are only observed and vanish together are no mass absence, and hold nobody else up", () =>
  play({ minutes: 30 }, async (stage) => {
    const names = [..."cdefgh"];
    const ids = names.map((name) => stage.cloud.insert({ name }).id);
    names.forEach((name, n) => stage.create(name, observing(ids[n] ?? "")));
    stage.create(["a", "b"]);
    await stage.available(["a", "b", ...names]);
    for (const id of ids) stage.cloud.remove(id);
    const lost = stage.id("a");
    stage.cloud.remove(lost);
    await stage.until(
      "made anew",
      () => stage.inStep("a") && stage.id("a") !== lost,
      5 * MINUTE,
    );
    for (const name of names) assertEquals(stage.condition(name, "Synced"), "False/ExternalMissing");
  }));

each(
  EXTREMES,
  (words) =>
    `A1: from observe-only to managed (${words}): adopted once, nothing else is changed, at whatever call the operator dies`,
  (cloud) =>
    playAtEveryCrash({ minutes: 20, plan: { cloud } }, async (stage) => {
      const { id } = stage.cloud.insert({ name: "legacy", sizeGb: 10 });
      stage.create("a", observing(id));
      await stage.until("told", () => stage.condition("a", "Synced") === "False/DriftReported", 3 * MINUTE);
      stage.edit("a", { managementPolicy: "Full" });
      const { uid } = stage.get("a").metadata;
      await stage.until("adopted", () => stage.cloud.get(id)?.tags[TAG.uid] === uid, 3 * MINUTE);
      await stage.until("said", () => stage.get("a").status?.observeOnly === undefined);
      assertEquals([stage.id("a"), stage.get("a").status?.adopted], [id, true]);
      assert(stage.get("a").metadata.finalizers?.includes(FINALIZER));
      await stage.pause(3 * MINUTE);
      assertEquals(stage.condition("a", "Synced"), "False/DriftReported"); // adopted: Report unless Repair is asked for
      assertEquals(stage.effects("modify").length, 1, "more than the tags");
      assertEquals([stage.effects("create"), stage.cloud.get(id)?.sizeGb], [[], 10]);
      if (stage.world.processes[0]?.name === "p1") {
        assertEquals(stage.told("a").filter((r) => r === "Adopted").length, 1);
        assertEquals(stage.told("a").filter((r) => r === "Observing").length, 1);
      }
      stage.edit("a", { driftPolicy: "Repair" });
      await stage.until("repaired", () => stage.cloud.get(id)?.sizeGb === 20);
      stage.remove("a");
      await stage.gone("a");
      assertEquals(stage.cloud.get(id)?.tags[TAG.retained], uid);
    }, 8),
);

Deno.test("D4: from managed to observe-only in any state: from then on nothing is sent, and its deletion leaves the database", () =>
  playAtEveryCrash({ minutes: 20 }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const id = stage.id("a");
    stage.cloud.configure({ modifyMs: 20 * SECOND });
    stage.edit("a", { sizeGb: 40 });
    await stage.until("changing", () => stage.database("a").state === "Modifying");
    stage.edit("a", { managementPolicy: "ObserveOnly", providerId: id, sizeGb: 80 });
    await stage.pause(SECOND);
    const mark = stage.mark();
    await stage.until("told", () => stage.condition("a", "Synced") === "False/DriftReported", 2 * MINUTE);
    stage.cloud.edit(id, { version: "13.1" });
    await stage.pause(3 * MINUTE);
    stage.remove("a");
    await stage.gone("a", 10 * SECOND + MINUTE);
    await stage.pause(2 * MINUTE);
    assertEquals(stage.mutations(mark), []);
    assertEquals(stage.cloud.get(id)?.state, "Available");
  }, 10));

Deno.test("D4: a switch to observe-only that meets a change in any millisecond: it was sent before, or is not", async () => {
  for (let ms = 0; ms <= 400; ms += 20) {
    await play({ minutes: 5 }, async (stage) => {
      stage.create("a");
      await stage.available("a");
      const id = stage.id("a");
      stage.edit("a", { sizeGb: 40 });
      await stage.pause(ms);
      stage.edit("a", { managementPolicy: "ObserveOnly", providerId: id });
      await stage.pause(200);
      const mark = stage.mark();
      await stage.pause(2 * MINUTE);
      assertEquals(stage.mutations(mark), []);
    });
  }
});

Deno.test("D4: a paused resource that observes only waits with its deletion where it has a finalizer from before", () =>
  play({ minutes: 15 }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const id = stage.id("a");
    stage.edit("a", { managementPolicy: "ObserveOnly", providerId: id, paused: true });
    stage.remove("a");
    await stage.until("told", () => stage.condition("a", "Synced") === "False/Paused");
    await stage.pause(2 * MINUTE);
    assert(stage.find("a") !== undefined);
    stage.edit("a", { paused: false });
    await stage.gone("a", 10 * SECOND);
    assertEquals(stage.cloud.get(id)?.state, "Available");
  }));

Deno.test("D8: two that observe and one that manages the same database: only what is managed is changed, and only by its own", () =>
  play({ minutes: 30 }, async (stage) => {
    const { id } = stage.cloud.insert({ name: "legacy", sizeGb: 10 });
    stage.create(["a", "b"], observing(id));
    await stage.until(
      "both told",
      () => ["a", "b"].every((n) => stage.condition(n, "Synced") === "False/DriftReported"),
      3 * MINUTE,
    );
    stage.create("c", { providerId: id, driftPolicy: "Repair", deletionPolicy: "Delete" });
    await stage.available(["a", "b", "c"], 5 * MINUTE);
    // It has an owner now: who is to manage it too must be let.
    stage.edit("a", { managementPolicy: "Full" });
    await stage.until("refused", () => stage.condition("a", "Synced") === "False/Conflict", 2 * MINUTE);
    assert(stage.message("a").includes(ANNOTATION.adoptFrom), stage.message("a"));
    stage.remove("a");
    await stage.gone("a", 2 * MINUTE);
    assertEquals(stage.cloud.get(id)?.tags[TAG.uid], stage.get("c").metadata.uid);
    stage.remove("c");
    await stage.gone("c", 2 * MINUTE);
    await stage.until("told", () => stage.condition("b", "Synced") === "False/ExternalMissing", 3 * MINUTE);
    assertEquals(stage.effects("modify").length, 2, "the tags and the size, both by the one that manages");
  }));

Deno.test("D8: a database of another namespace is not shown to who only observes", () =>
  play({ minutes: 10 }, async (stage) => {
    const { id } = stage.cloud.insert({
      name: "theirs",
      tags: { [TAG.uid]: "someone", [TAG.namespace]: "other", [TAG.crName]: "secret-name" },
    });
    stage.create("a", observing(id));
    await stage.until("told", () => stage.condition("a", "Synced") === "False/Conflict");
    await stage.pause(3 * MINUTE);
    const said = JSON.stringify(stage.get("a").status);
    assert(!said.includes("secret-name") && !said.includes("db.example"), said);
    assertEquals(stage.mutations(), []);
    stage.remove("a");
    await stage.gone("a");
    stage.cloud.remove(id);
  }));

Deno.test("A1: what one resource retained another observes, and then manages: it is adopted without further consent", () =>
  playAtEveryCrash({ minutes: 20 }, async (stage) => {
    stage.create("a", { deletionPolicy: "Retain" });
    await stage.available("a");
    const id = stage.id("a");
    stage.remove("a");
    await stage.gone("a");
    const mark = stage.mark();
    stage.create("b", observing(id));
    await stage.available("b");
    assertEquals(stage.mutations(mark), []);
    stage.edit("b", { managementPolicy: "Full" });
    const { uid } = stage.get("b").metadata;
    await stage.until("adopted", () => stage.cloud.get(id)?.tags[TAG.uid] === uid, 3 * MINUTE);
    await stage.available("b");
    assertEquals(stage.cloud.get(id)?.tags[TAG.retained], undefined);
    assertEquals(stage.effects("create").length, 1);
  }, 6));
