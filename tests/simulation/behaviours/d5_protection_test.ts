/**
 * D5: deletion protection at the cloud. The deletion says so and is tried slowly; whatever lifts it, at the cloud or in
 * the spec, lets it go on though the CR is terminating.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../../src/api/constants.ts";
import { CLOUDS, each, HOUR, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

const PROTECTED = { deletionProtection: true };

async function refused(stage: Stage): Promise<string> {
  stage.create("a");
  await stage.available("a");
  const id = stage.id("a");
  stage.remove("a");
  await stage.until("refused", () => stage.condition("a", "Synced") === "False/DeletionProtected");
  assert(stage.message("a").includes("protect"), stage.message("a"));
  assertEquals(stage.get("a").status?.state, "Deleting");
  return id;
}

each(
  CLOUDS,
  (words) =>
    `D5: protection (${words}) is told, tried slowly for hours, and lifted at the cloud lets the deletion go on`,
  (cloud) =>
    play({ minutes: 300, plan: { pollMs: 5 * MINUTE, cloud: { ...cloud, ...PROTECTED } } }, async (stage) => {
      const id = await refused(stage);
      const mark = stage.mark();
      const { rv } = stage.world.store;
      await stage.always(
        "it waits and says why",
        () =>
          stage.condition("a", "Synced") === "False/DeletionProtected" && stage.cloud.get(id) !== undefined,
        4 * HOUR,
        10 * SECOND,
      );
      const tries = stage.calls("delete", mark).length;
      assert(tries >= 10 && tries <= 80, `${tries} deletes in four hours`); // 10 min, with full jitter
      assert(stage.writes("a", rv) <= 9, "the status is written at each try");
      stage.cloud.edit(id, { protected: false });
      await stage.gone("a", 10 * MINUTE + 10 * SECOND);
      assertEquals(stage.cloud.databases(), []);
      assertEquals(stage.told("a").filter((r) => r === "DeletionProtected").length, 1);
    }),
);

/** What a person does about it, and whether the database is kept. */
const CURES: Readonly<
  Record<string, { readonly cure: (stage: Stage, id: string) => void; readonly kept?: boolean }>
> = {
  "lifted at the cloud and asked for": {
    cure: (stage, id) => {
      stage.cloud.edit(id, { protected: false });
      stage.do({ do: "annotate", name: "a", key: ANNOTATION.reconcile, value: "now" });
    },
  },
  "Retain in the spec": { cure: (stage) => stage.edit("a", { deletionPolicy: "Retain" }), kept: true },
  "abandoned": { cure: (stage) => stage.do({ do: "abandon", name: "a" }), kept: true },
  "deleted at the console": { cure: (stage, id) => stage.cloud.remove(id) },
  "lifted, and a paused spec is resumed": {
    cure: (stage, id) => {
      stage.edit("a", { paused: true });
      stage.cloud.edit(id, { protected: false });
      stage.edit("a", { paused: false });
    },
  },
};

each(
  CURES,
  (words) => `D5: ${words}: a protected deletion goes on, at whatever call the operator dies`,
  ({ cure, kept }) =>
    playAtEveryCrash({ minutes: 20, plan: { cloud: PROTECTED } }, async (stage) => {
      const id = await refused(stage);
      const mark = stage.mark();
      await stage.pause(2 * MINUTE);
      cure(stage, id);
      // The console tells nobody: its absence shows with the next list, or the next try.
      const limit = kept ? 10 * SECOND : MINUTE + 15 * SECOND;
      await stage.gone("a", limit);
      const left = stage.cloud.get(id);
      assertEquals(left !== undefined, kept === true);
      if (kept) assertEquals(stage.effects("delete", mark), []);
    }, 8),
);

Deno.test("D5: Retain in the spec of a protected, terminating resource marks the database as retained", () =>
  play({ plan: { cloud: PROTECTED } }, async (stage) => {
    const id = await refused(stage);
    const { uid } = stage.get("a").metadata;
    stage.edit("a", { deletionPolicy: "Retain" });
    await stage.gone("a", 10 * SECOND);
    assertEquals(stage.cloud.get(id)?.tags[TAG.retained], uid);
    assertEquals(stage.told("a").at(-1), "Retained");
  }));

Deno.test("D5: protection that is set between our read and our delete is met by the delete alone, and told", async () => {
  await playAtEveryCrash({
    minutes: 20,
    wrap: (inner, stage) => ({
      ...inner,
      delete: (id, options) => {
        const { cloud } = stage();
        if (stage().time < 2 * MINUTE) cloud.edit(id, { protected: true });
        return inner.delete(id, options);
      },
    }),
  }, async (stage) => {
    const id = await refused(stage);
    await stage.pause(2 * MINUTE - stage.time);
    assertEquals(stage.cloud.get(id)?.state, "Available");
    stage.cloud.edit(id, { protected: false });
    await stage.gone("a", 11 * MINUTE);
    assertEquals(stage.cloud.databases(), []);
  }, 12);
});

Deno.test("D5: protection lifted and set again in turns ends with the first delete that meets none", () =>
  play({ minutes: 60, plan: { cloud: PROTECTED } }, async (stage) => {
    const id = await refused(stage);
    for (let n = 0; n < 20 && stage.cloud.get(id)?.state === "Available"; n++) {
      stage.cloud.edit(id, { protected: n % 2 === 0 });
      await stage.pause(n % 2 === 0 ? 20 * SECOND : 100 * SECOND);
    }
    await stage.until("gone", () => {
      if (stage.cloud.get(id)?.protected) stage.cloud.edit(id, { protected: false });
      return stage.find("a") === undefined;
    }, 11 * MINUTE);
  }));

Deno.test("D5: a protected deletion holds no other up, and two replicas hand it on", () =>
  play({
    minutes: 15,
    plan: {
      replicas: 2,
      cloud: PROTECTED,
      actions: [{ at: 60 * SECOND, do: "freeze", nth: 0, ms: 30 * SECOND }],
    },
  }, async (stage) => {
    stage.create(["a", "b", "c"]);
    await stage.available(["a", "b", "c"]);
    for (const name of ["b", "c"]) stage.cloud.edit(stage.id(name), { protected: false });
    const id = stage.id("a");
    for (const name of ["a", "b", "c"]) stage.remove(name);
    await stage.gone(["b", "c"], 20 * SECOND);
    await stage.until("told", () => stage.condition("a", "Synced") === "False/DeletionProtected");
    await stage.pause(100 * SECOND - stage.time); // another leads now
    stage.cloud.edit(id, { protected: false });
    await stage.gone("a", 10 * MINUTE);
  }));

/** Clouds whose protection can and cannot be set. */
const PROTECTABLE: Readonly<Record<string, boolean>> = {
  "can be set": true,
  "is the console's alone": false,
};

each(
  PROTECTABLE,
  (words) =>
    `D5: spec.deletionProtection at a cloud whose protection ${words}: nothing is deleted while it is true, and false lets it go on, at whatever call the operator dies`,
  (protectable) =>
    playAtEveryCrash({ minutes: 20, plan: { cloud: { protectable } } }, async (stage) => {
      stage.create("a", { deletionProtection: true });
      await stage.available("a");
      const id = stage.id("a");
      await stage.until("set", () => stage.database("a").protected === protectable);
      if (!protectable) assert(stage.message("a").includes("operator alone"), stage.message("a"));
      stage.remove("a");
      await stage.until("told", () => stage.condition("a", "Synced") === "False/DeletionProtected");
      assert(stage.message("a").includes("spec.deletionProtection"), stage.message("a"));
      const mark = stage.mark();
      const { rv } = stage.world.store;
      await stage.pause(6 * MINUTE);
      assertEquals([stage.cloud.get(id)?.state, stage.mutations(mark).length], ["Available", 0]);
      assert(stage.writes("a", rv) <= 1, "written again and again");
      stage.edit("a", { deletionProtection: false });
      await stage.gone("a", MINUTE);
      assertEquals(stage.cloud.databases(), []);
    }, 8),
);

Deno.test("D5: protection is kept at the cloud as the spec asks, as other values are", () =>
  play({ minutes: 20, plan: { cloud: { protectable: true } } }, async (stage) => {
    stage.create(["a", "b", "c"]);
    await stage.available(["a", "b", "c"]);
    assertEquals(stage.mutations().filter((c) => c.verb === "modify"), []);
    stage.edit("a", { deletionProtection: true });
    stage.edit("b", { deletionProtection: true, driftPolicy: "Report" });
    await stage.until("set", () => stage.database("a").protected);
    await stage.until("told", () => stage.condition("b", "Synced") === "False/DriftReported");
    assert(stage.message("b").includes("deletionProtection false → true"), stage.message("b"));
    stage.cloud.edit(stage.id("a"), { protected: false });
    stage.cloud.edit(stage.id("c"), { protected: true }); // nobody asked for anything
    await stage.until("repaired", () => stage.database("a").protected, 2 * MINUTE);
    await stage.pause(3 * MINUTE);
    assertEquals([stage.database("b").protected, stage.database("c").protected], [false, true]);
    stage.edit("a", { deletionProtection: false });
    await stage.until("lifted", () => !stage.database("a").protected);
    for (const name of ["a", "b", "c"]) stage.edit(name, { deletionProtection: false });
    for (const name of ["a", "b", "c"]) stage.remove(name);
    await stage.gone(["a", "b", "c"], 5 * MINUTE);
  }));

Deno.test("D5: a spec that protects does not hold up what deletes nothing: Retain, abandonment, what was never made", () =>
  play({ minutes: 20, plan: { cloud: { protectable: true } } }, async (stage) => {
    stage.create(["a", "b"], { deletionProtection: true });
    await stage.available(["a", "b"]);
    stage.cloud.configure({ engines: {} });
    stage.create("c", { deletionProtection: true });
    await stage.until("refused", () => stage.condition("c", "Synced") === "False/CreateFailed");
    stage.edit("a", { deletionPolicy: "Retain" });
    for (const name of ["a", "b", "c"]) stage.remove(name);
    await stage.gone(["a", "c"], MINUTE);
    await stage.until("told", () => stage.condition("b", "Synced") === "False/DeletionProtected");
    stage.do({ do: "abandon", name: "b" });
    await stage.gone("b", 10 * SECOND);
    assertEquals(stage.cloud.databases().length, 2);
  }));

Deno.test("D5: protection that is set in the spec in the very moment of the delete: the delete was sent before, or is not", async () => {
  for (let ms = 0; ms <= 300; ms += 20) {
    await play({}, async (stage) => {
      stage.create("a");
      await stage.available("a");
      stage.remove("a");
      await stage.pause(ms);
      if (stage.find("a") === undefined) return;
      stage.edit("a", { deletionProtection: true });
      await stage.pause(30 * SECOND);
      if (stage.find("a") === undefined) return;
      assertEquals(stage.condition("a", "Synced"), "False/DeletionProtected");
      assertEquals(stage.effects("delete"), []);
      stage.edit("a", { deletionProtection: false });
      await stage.gone("a", MINUTE);
    });
  }
});
