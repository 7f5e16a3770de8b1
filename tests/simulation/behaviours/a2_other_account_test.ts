/**
 * A2: the credentials belong to another, empty account. The account stored on the CR differs: a condition, and nothing
 * is created or deleted, whenever it happens and however it ends.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { each, EXTREMES, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

/** The credentials change now, and back after `ms` unless that is absent. */
function switchTo(stage: Stage, account: string): void {
  stage.cloud.configure({ account });
  stage.world.observer.accountSwitched();
}

each(
  EXTREMES,
  (words) =>
    `A2: another account for ten minutes (${words}): Conflict on each, nothing created or deleted, well again when it is back, wherever the operator dies`,
  (cloud) =>
    playAtEveryCrash({ minutes: 25, plan: { cloud } }, async (stage) => {
      const names = ["a", "b", "c", "d", "e"];
      stage.create(names);
      await stage.available(names);
      const mark = stage.mark();
      const ids = names.map((n) => stage.id(n));
      switchTo(stage, "another");
      await stage.until(
        "told",
        () => names.every((n) => stage.condition(n, "Synced") === "False/Conflict"),
        3 * MINUTE,
      );
      assert(stage.message("a").includes('"another"') && stage.message("a").includes('"simulated"'));
      stage.edit("a", { sizeGb: 40 });
      await stage.pause(2 * MINUTE);
      stage.remove("b");
      await stage.pause(4 * MINUTE);
      assertEquals(stage.mutations(mark), []);
      assertEquals(stage.get("b").metadata.finalizers?.length, 1);
      assertEquals(stage.condition("b", "Synced"), "False/Conflict");
      for (const name of names) {
        assertEquals(stage.condition(name, "Synced"), "False/Conflict");
        assert(stage.get(name).status?.endpoint !== undefined, "the endpoint was dropped");
      }
      assertEquals(names.map((n) => stage.id(n)), ids);
      switchTo(stage, "simulated");
      await stage.gone("b", 3 * MINUTE);
      const rest = names.filter((n) => n !== "b");
      await stage.available(rest, 2 * MINUTE);
      assertEquals(rest.map((n) => stage.id(n)), ids.filter((_, i) => names[i] !== "b"));
      assertEquals(stage.database("a").sizeGb, 40);
      assertEquals([stage.effects("create", mark).length, stage.effects("delete", mark).length], [0, 1]);
    }, 4),
);

Deno.test("A2: an account that is another one for a moment, of any length at any time, costs nobody its database", async () => {
  for (const ms of [100, 2 * SECOND, 20 * SECOND, 65 * SECOND]) {
    for (let at = 0; at < 60 * SECOND; at += 7_300) {
      await play({ minutes: 10, plan: { seed: at + ms } }, async (stage) => {
        // One reads by itself every ten seconds, one hangs on the list, one is deleted meanwhile.
        stage.create("a", { pollInterval: "10s" });
        stage.create(["b", "c"]);
        await stage.available(["a", "b", "c"]);
        await stage.pause(at + 70 * SECOND - stage.time);
        const mark = stage.mark();
        const ids = ["a", "b", "c"].map((n) => stage.id(n));
        switchTo(stage, "another");
        stage.remove("c");
        await stage.pause(ms);
        switchTo(stage, "simulated");
        await stage.gone("c", 4 * MINUTE);
        await stage.available(["a", "b"], 3 * MINUTE);
        assertEquals([stage.id("a"), stage.id("b")], ids.slice(0, 2));
        assertEquals(stage.effects("create", mark), []);
        assertEquals(stage.effects("delete", mark).map((e) => e.id), [ids[2]]);
        assertEquals(stage.cloud.databases().length, 2);
      });
    }
  }
});

Deno.test("A2: it goes to and fro all the time: no database is made or lost, and the end is as the specs ask", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    await play({ minutes: 20, plan: { seed, pollMs: 30 * SECOND } }, async (stage) => {
      stage.create("a", { pollInterval: "10s" });
      stage.create("b");
      await stage.available(["a", "b"]);
      const mark = stage.mark();
      for (let n = 0; n < 24; n++) {
        switchTo(stage, n % 2 === 0 ? "another" : "simulated");
        await stage.pause((3 + ((n * seed * 7) % 31)) * SECOND);
      }
      await stage.available(["a", "b"], 5 * MINUTE);
      assertEquals([stage.effects("create", mark), stage.effects("delete", mark)], [[], []]);
      assertEquals(stage.cloud.databases().length, 2);
    });
  }
});

Deno.test("A2: in an account that holds another cluster's databases of the same names, none of them is touched", () =>
  play({ minutes: 15 }, async (stage) => {
    stage.create(["a", "b"]);
    await stage.available(["a", "b"]);
    for (const name of ["a", "b"]) {
      const { tags, sizeGb, version, engine } = stage.database(name);
      // A copy of the account: the same tags, UIDs too.
      stage.cloud.insert({ name, tags, sizeGb, version, engine, account: "another" });
    }
    const mark = stage.mark();
    switchTo(stage, "another");
    stage.edit("a", { sizeGb: 40 });
    stage.remove("b");
    await stage.pause(5 * MINUTE);
    assertEquals(stage.condition("a", "Synced"), "False/Conflict");
    assertEquals(stage.condition("b", "Synced"), "False/Conflict");
    assertEquals(stage.mutations(mark), []);
    const copies = stage.cloud.databases("another");
    assertEquals(copies.map((d) => [d.state, d.sizeGb]), [["Available", 20], ["Available", 20]]);
    for (const { id } of copies) stage.cloud.remove(id); // the judges take all accounts for one
    switchTo(stage, "simulated");
    await stage.gone("b", 3 * MINUTE);
    await stage.available("a", 3 * MINUTE);
  }));

Deno.test("A2: one whose adopted database is in the first account is told alike, and its deletion marks nothing elsewhere", () =>
  play({ minutes: 15 }, async (stage) => {
    const { id } = stage.cloud.insert({ name: "legacy" });
    stage.create("a", { providerId: id });
    await stage.available("a");
    const mark = stage.mark();
    switchTo(stage, "another");
    stage.remove("a");
    await stage.until("it waits", () => stage.condition("a", "Synced") === "False/Conflict", 3 * MINUTE);
    await stage.pause(3 * MINUTE);
    assertEquals(stage.mutations(mark), []);
    assert(stage.find("a") !== undefined, "released under another account");
    switchTo(stage, "simulated");
    await stage.gone("a", 3 * MINUTE);
    assertEquals(stage.cloud.get(id)?.state, "Available");
  }));
