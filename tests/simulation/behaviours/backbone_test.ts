/**
 * What belongs to every life of a database, with every call a place to die and the whole operator in the world.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { assertOneEach, each, EXTREMES, MINUTE, playAtEveryCrash, SECOND } from "./support.ts";

each(
  EXTREMES,
  (words) =>
    `C3: creates in flight (${words}), half of them took effect and lost their answers: all resolve by themselves`,
  (cloud) =>
    playAtEveryCrash({ plan: { cloud } }, async (stage) => {
      const names = Array.from({ length: 10 }, (_, n) => `db-${n}`);
      stage.cloud.faults.add({ verbs: ["create"], times: 5, fault: { answer: "lost", effect: "done" } });
      stage.create(names);
      await stage.available(names, 2 * MINUTE);
      assertOneEach(stage, ...names);
    }, 4),
);

Deno.test("D1: a delete of five minutes keeps the resource Deleting; applied again after it, the next one is made cleanly", () =>
  playAtEveryCrash({ minutes: 15, plan: { cloud: { deleteMs: 5 * MINUTE } } }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const id = stage.id("a");
    stage.remove("a");
    await stage.until("asked for", () => stage.cloud.get(id)?.state === "Deleting", MINUTE);
    stage.create("a"); // refused: it is there
    await stage.until("gone", () => {
      assert(stage.find("a") !== undefined || stage.cloud.get(id) === undefined, "released too early");
      return stage.find("a") === undefined;
    }, 7 * MINUTE);
    stage.create("a");
    await stage.available("a", MINUTE);
    assert(stage.id("a") !== id);
    assertOneEach(stage, "a");
  }, 6));

Deno.test("D10: a delete that answers 500 five times keeps the finalizer and tells the last error", () =>
  playAtEveryCrash({}, async (stage) => {
    stage.create("a");
    await stage.available("a");
    stage.cloud.faults.refuse("delete", REFUSALS.internalError, 5);
    stage.remove("a");
    await stage.until("told", () => stage.message("a").includes("Internal error"), MINUTE);
    await stage.gone("a", 3 * MINUTE);
    assertEquals(stage.effects("delete").length, 1);
  }, 8));

each(
  EXTREMES,
  (words) => `R7: deleted at the console (${words}): told, then made anew, once`,
  (cloud) =>
    playAtEveryCrash({ plan: { cloud } }, async (stage) => {
      stage.create("a");
      await stage.available("a");
      const id = stage.id("a");
      stage.cloud.remove(id);
      await stage.until("told", () => stage.condition("a", "Synced") === "False/ExternalMissing", 2 * MINUTE);
      await stage.until("made anew", () => stage.id("a") !== id && stage.inStep("a"), 4 * MINUTE);
      assertEquals(stage.effects("create").length, 2);
      assertOneEach(stage, "a");
    }, 8),
);

Deno.test("R4: a change that takes two minutes to show is sent once, once more at most where its answer died", () =>
  playAtEveryCrash({ plan: { cloud: { modifyMs: 2 * MINUTE } } }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    stage.edit("a", { sizeGb: 40 });
    await stage.pause(SECOND);
    await stage.available("a", 4 * MINUTE);
    assertEquals(stage.database("a").sizeGb, 40);
    assertEquals(stage.effects("modify").length, 1);
  }, 8));
