/**
 * D8: two CRs name the same `spec.providerId`. One has it; the other says `Conflict` and names the owner, changes
 * nothing, and its deletion touches nothing.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../../src/api/constants.ts";
import { each, EXTREMES, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

function legacy(stage: Stage): string {
  return stage.cloud.insert({ name: "legacy", engine: "postgres", version: "14.2", sizeGb: 20 }).id;
}

async function lost(stage: Stage, loser: string, owner: string): Promise<void> {
  await stage.until(
    "the loser says so",
    () => stage.condition(loser, "Synced") === "False/Conflict",
    3 * MINUTE,
  );
  assertEquals(stage.condition(loser, "Ready"), "False/Conflict");
  assert(stage.message(loser).includes(`default/${owner}`), `names nobody: ${stage.message(loser)}`);
}

each(
  EXTREMES,
  (words) =>
    `D8: the second of two (${words}) loses, changes nothing, and its deletion touches nothing, wherever the operator dies`,
  (cloud) =>
    playAtEveryCrash({ minutes: 15, plan: { cloud } }, async (stage) => {
      const id = legacy(stage);
      stage.create("a", { providerId: id });
      await stage.available("a");
      const mark = stage.mark();
      stage.create("b", { providerId: id, deletionPolicy: "Delete", driftPolicy: "Repair", sizeGb: 80 });
      await lost(stage, "b", "a");
      stage.edit("b", { sizeGb: 90 });
      await stage.pause(2 * MINUTE);
      assertEquals(stage.mutations(mark), []);
      stage.remove("b");
      await stage.gone("b", MINUTE);
      await stage.pause(2 * MINUTE);
      assertEquals(stage.mutations(mark), [], "the loser touched it");
      assert(stage.inStep("a"));
      assertEquals(stage.cloud.get(id)?.tags[TAG.uid], stage.get("a").metadata.uid);
    }, 6),
);

each(
  EXTREMES,
  (words) =>
    `D8: applied in one tick (${words}), one wins, the other says who, and either may be deleted first`,
  async (cloud) => {
    for (const first of ["winner", "loser"]) {
      for (let seed = 1; seed <= 3; seed++) {
        await playAtEveryCrash({ minutes: 20, plan: { seed, cloud } }, async (stage) => {
          const id = legacy(stage);
          stage.create(["a", "b"], { providerId: id });
          const state = () => ["a", "b"].map((n) => stage.condition(n, "Synced")).toSorted();
          await stage.until(
            "one wins",
            () => state().join() === "False/Conflict,True/Available",
            4 * MINUTE,
          );
          const winner = stage.inStep("a") ? "a" : "b";
          const loser = winner === "a" ? "b" : "a";
          await lost(stage, loser, winner);
          assertEquals(stage.cloud.get(id)?.tags[TAG.uid], stage.get(winner).metadata.uid);
          const mark = stage.mark();
          if (first === "loser") {
            stage.remove(loser);
            await stage.gone(loser, 2 * MINUTE);
            assertEquals(stage.mutations(mark), []);
            assert(stage.inStep(winner));
          } else {
            stage.remove(winner); // adopted, so retained
            await stage.gone(winner, 2 * MINUTE);
            // Free now: the other has it within its slow back-off.
            await stage.available(loser, 11 * MINUTE);
            assertEquals(stage.id(loser), id);
          }
          assertEquals([stage.effects("create"), stage.effects("delete")], [[], []]);
        }, 2);
      }
    }
  },
);

Deno.test("D8: the owner, deleted first with policy Delete, takes the database along; the loser says that it is gone", () =>
  playAtEveryCrash({ minutes: 25 }, async (stage) => {
    const id = legacy(stage);
    stage.create("a", { providerId: id, deletionPolicy: "Delete" });
    await stage.available("a");
    stage.create("b", { providerId: id });
    await lost(stage, "b", "a");
    stage.remove("a");
    await stage.gone("a", MINUTE);
    assertEquals(stage.cloud.get(id), undefined);
    await stage.until(
      "b says so",
      () => stage.condition("b", "Synced") === "False/CreateFailed",
      11 * MINUTE,
    );
    assert(stage.message("b").includes(id));
    stage.remove("b");
    await stage.gone("b", MINUTE);
    assertEquals([stage.effects("create").length, stage.effects("delete").length], [0, 1]);
  }, 5));

Deno.test("D8: one that names what another created is refused, and named after that one's deletion began it waits", () =>
  play({ minutes: 20, plan: { cloud: { deleteMs: 30 * SECOND } } }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const id = stage.id("a");
    stage.create("b", { providerId: id });
    await lost(stage, "b", "a");
    stage.remove("a");
    await stage.until("going", () => stage.cloud.get(id)?.state === "Deleting");
    stage.create("c", { providerId: id });
    await stage.pause(10 * SECOND);
    assertEquals(stage.mutations().filter((c) => c.verb === "modify"), []);
    await stage.gone("a", 2 * MINUTE);
    for (const name of ["b", "c"]) {
      await stage.until(
        `${name} says so`,
        () => stage.condition(name, "Synced") === "False/CreateFailed",
        11 * MINUTE,
      );
      stage.remove(name);
    }
    await stage.gone(["b", "c"], MINUTE);
    assertEquals(stage.effects("create").length, 1);
  }));

Deno.test("D8: deleted in any moment of its adoption, the loser leaves the owner's tags as they are", async () => {
  for (let ms = 0; ms <= 500; ms += 20) {
    await play({ minutes: 8, plan: { seed: 1 + ms } }, async (stage) => {
      const id = legacy(stage);
      stage.create("a", { providerId: id });
      stage.create("b", { providerId: id, deletionPolicy: "Delete" });
      await stage.pause(ms);
      stage.remove("b");
      await stage.until("b is gone", () => stage.find("b") === undefined, 3 * MINUTE);
      if (stage.cloud.get(id) === undefined) {
        // b had won, and took it along as its policy says.
        assertEquals(stage.effects("delete").length, 1);
        return;
      }
      await stage.until(
        "a has it",
        () => stage.inStep("a") && stage.cloud.get(id)?.tags[TAG.uid] === stage.get("a").metadata.uid,
        3 * MINUTE,
      );
      assertEquals(stage.effects("delete"), []);
    });
  }
});

Deno.test("D8: consent moves it once; the former owner says so and its deletion touches nothing", () =>
  playAtEveryCrash({ minutes: 15 }, async (stage) => {
    const id = legacy(stage);
    stage.create("a", { providerId: id, deletionPolicy: "Delete" });
    await stage.available("a");
    stage.create("b", { providerId: id });
    await lost(stage, "b", "a");
    const { uid } = stage.get("a").metadata;
    stage.do({ do: "annotate", name: "b", key: ANNOTATION.adoptFrom, value: uid });
    await stage.available("b", 2 * MINUTE);
    await lost(stage, "a", "b");
    const mark = stage.mark();
    stage.remove("a");
    await stage.until(
      "it waits, or is gone",
      () => stage.find("a") === undefined || stage.get("a").status?.state === "Deleting",
    );
    await stage.pause(MINUTE);
    if (stage.find("a") !== undefined) {
      assertEquals(stage.condition("a", "Synced"), "False/Conflict");
      stage.do({ do: "abandon", name: "a" });
      await stage.gone("a", 10 * SECOND);
    }
    assertEquals(stage.mutations(mark), []);
    assert(stage.inStep("b"));
  }, 5));
