/**
 * D4: a paused CR is deleted: it waits, and says so in condition and Event. One that only watches lets its finalizer go
 * and leaves the database.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { TAG } from "../../../src/api/constants.ts";
import {
  assertOneEach,
  each,
  EXTREMES,
  MINUTE,
  play,
  playAtEveryCrash,
  SECOND,
  type Stage,
} from "./support.ts";

/** When it is paused. */
const WHEN: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "when it is available": async (stage) => {
    stage.create("a");
    await stage.available("a");
    stage.edit("a", { paused: true });
  },
  "while it is provisioning": async (stage) => {
    stage.cloud.configure({ provisionMs: 20 * SECOND });
    stage.create("a");
    await stage.until("provisioning", () => stage.get("a").status?.providerId !== undefined);
    stage.edit("a", { paused: true });
  },
  "while it is changed": async (stage) => {
    stage.create("a");
    await stage.available("a");
    stage.cloud.configure({ modifyMs: 20 * SECOND });
    stage.edit("a", { sizeGb: 40 });
    await stage.until("changing", () => stage.database("a").state === "Modifying");
    stage.edit("a", { paused: true });
  },
  "and drifted since": async (stage) => {
    stage.create("a");
    await stage.available("a");
    stage.edit("a", { paused: true });
    await stage.pause(SECOND);
    stage.cloud.edit(stage.id("a"), { sizeGb: 10 });
    await stage.pause(70 * SECOND);
  },
  "and a moment before the deletion": async (stage) => {
    stage.create("a");
    await stage.available("a");
    stage.edit("a", { paused: true });
    stage.remove("a");
  },
};

each(
  WHEN,
  (words) =>
    `D4: paused ${words}, deleted: the deletion waits and says so; resumed it ends, whatever call kills the operator`,
  (paused) =>
    playAtEveryCrash({ minutes: 15 }, async (stage) => {
      await paused(stage);
      if (stage.get("a").metadata.deletionTimestamp === undefined) stage.remove("a");
      const from = stage.mark();
      await stage.until(
        "it says so",
        () =>
          stage.condition("a", "Synced") === "False/Paused" && stage.get("a").status?.state === "Deleting" &&
          stage.get("a").status?.observedGeneration === stage.get("a").metadata.generation,
      );
      assert(stage.message("a").includes("paused"), stage.message("a"));
      assertOneEach(stage, "a");
      const { rv } = stage.world.store;
      await stage.pause(5 * MINUTE);
      assertEquals(stage.effects("delete"), [], "deleted though paused");
      assertEquals(stage.mutations(from), [], "changed though paused");
      assert(stage.writes("a", rv) <= 2, "written again and again"); // its state may have become another
      // What a killed process had to tell may be lost with it: Events are best effort.
      if (stage.world.processes[0]?.name === "p1") assert(stage.told("a").includes("Paused"), "no Event");
      stage.edit("a", { paused: false });
      await stage.gone("a", 10 * SECOND + MINUTE);
      assertEquals(stage.effects("delete").length, 1);
    }, 6),
);

Deno.test("D4: paused before anything was done for it, deleted, it waits as the others do; nothing is ever created", () =>
  playAtEveryCrash({}, async (stage) => {
    stage.create("a", { paused: true });
    await stage.until("told", () => stage.condition("a", "Synced") === "False/Paused");
    await stage.pause(SECOND);
    stage.remove("a");
    await stage.pause(MINUTE);
    if (stage.find("a") !== undefined) {
      assertEquals(stage.condition("a", "Synced"), "False/Paused");
      stage.edit("a", { paused: false });
      await stage.gone("a", 30 * SECOND);
    }
    assertEquals(stage.calls("create"), []);
  }));

Deno.test("D4: paused while its database is on its way down, nothing is sent any more, and it still ends", () =>
  playAtEveryCrash({ plan: { cloud: { deleteMs: 20 * SECOND } } }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const id = stage.id("a");
    stage.remove("a");
    await stage.until("on its way", () => stage.cloud.get(id)?.state === "Deleting");
    stage.edit("a", { paused: true });
    const mark = stage.mark();
    await stage.pause(40 * SECOND);
    assertEquals(stage.cloud.get(id), undefined);
    // A pause stops the operator's hand, not its finalizer's wait: a person must resume it.
    await stage.always("kept", () => stage.find("a") !== undefined, 90 * SECOND);
    assertEquals(stage.mutations(mark).filter((c) => c.effect === "done"), []);
    stage.edit("a", { paused: false });
    await stage.gone("a", MINUTE);
  }, 10));

Deno.test("D4: a pause that meets the delete in any millisecond leaves either a database or none, and resuming ends it", async () => {
  for (let ms = 0; ms <= 300; ms += 10) {
    await play({}, async (stage) => {
      stage.create("a");
      await stage.available("a");
      stage.remove("a");
      await stage.pause(ms);
      if (stage.find("a") === undefined) return;
      stage.edit("a", { paused: true });
      await stage.pause(30 * SECOND);
      if (stage.find("a") === undefined) return;
      assertEquals(stage.condition("a", "Synced"), "False/Paused");
      assert(stage.effects("delete").length <= 1);
      stage.edit("a", { paused: false });
      await stage.gone("a", MINUTE);
      assertEquals(stage.effects("delete").length, 1);
    });
  }
});

const WATCHING = { driftPolicy: "Report", onMissing: "Report", deletionPolicy: "Retain" } as const;

each(
  EXTREMES,
  (words) =>
    `D4: observe-only (${words}): its finalizer goes and the database stays, as it was, with every call a place to die`,
  (cloud) =>
    playAtEveryCrash({ minutes: 20, plan: { cloud } }, async (stage) => {
      const { id } = stage.cloud.insert({ name: "legacy", sizeGb: 10, version: "13.4" });
      stage.create("a", { ...WATCHING, providerId: id });
      await stage.until(
        "watched",
        () => stage.condition("a", "Synced") === "False/DriftReported",
        3 * MINUTE,
      );
      stage.remove("a");
      await stage.gone("a", 2 * MINUTE);
      const left = stage.cloud.get(id);
      assertEquals([left?.state, left?.sizeGb, left?.version], ["Available", 10, "13.4"]);
      assert(left?.tags[TAG.retained] !== undefined, "not marked as retained");
      assertEquals([stage.effects("create"), stage.effects("delete")], [[], []]);
    }, 6),
);

Deno.test("D4: observe-only of a database that is gone, or of an account that is away, never deletes anything", () =>
  play({ minutes: 30 }, async (stage) => {
    const { id } = stage.cloud.insert({ name: "legacy" });
    stage.create("a", { ...WATCHING, providerId: id });
    stage.create("b", WATCHING);
    await stage.available(["a", "b"]);
    stage.cloud.remove(id);
    await stage.until("told", () => stage.condition("a", "Synced") === "False/ExternalMissing", 3 * MINUTE);
    stage.remove("a");
    await stage.gone("a");
    stage.do({ do: "switchAccount", ms: 5 * MINUTE });
    const kept = stage.id("b");
    stage.remove("b");
    await stage.pause(4 * MINUTE);
    assertEquals(stage.condition("b", "Synced"), "False/Conflict");
    await stage.gone("b", 3 * MINUTE);
    assertEquals(stage.cloud.get(kept)?.state, "Available");
  }));
