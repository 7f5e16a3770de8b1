/**
 * D7, as far as the provider port goes: a final snapshot is taken before the delete; its failure leaves the database;
 * the same name asked for again after a kill takes no second one. And what an operator does that does not know the
 * policy yet: it deletes nothing under it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabaseSpec } from "../../../src/api/schema.ts";
import { type DatabaseProvider, ProviderError } from "../../../src/providers/port.ts";
import { REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { createSimulatedProvider } from "../../../src/providers/simulated/provider.ts";
import { CLOUDS, each, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

/** The rule's name of a snapshot: `<name>-<uid8>-<incarnation>` (rule 17). */
const nameOf = (uid: string, incarnation: number) => `orders-${uid.slice(0, 8)}-${incarnation}`;

function caller(stage: Stage): DatabaseProvider {
  return createSimulatedProvider(stage.cloud, { clock: stage.world.clock, caller: "script" });
}

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    assert(error instanceof ProviderError, String(error));
    return `${error.errorClass} ${error.code ?? ""}`.trim();
  }
}

const options = (finalSnapshot: string) => ({ signal: new AbortController().signal, finalSnapshot });

each(
  CLOUDS,
  (words) =>
    `D7: the same name made and deleted three times (${words}): three snapshots, each before its database is gone`,
  (cloud) =>
    play({ plan: { cloud } }, async (stage) => {
      const provider = caller(stage);
      for (let n = 1; n <= 3; n++) {
        const { id } = stage.cloud.insert({ name: "orders" });
        assertEquals(await outcome(provider.delete(id, options(nameOf(`uid-000${n}`, 1)))), "ok");
        assertEquals(stage.cloud.snapshots().length, n);
        await stage.until("it is gone", () => stage.cloud.get(id) === undefined, 10 * SECOND);
      }
      assertEquals(new Set(stage.cloud.snapshots().map((s) => s.name)).size, 3);
    }),
);

Deno.test("D7: killed during the snapshot, at any moment: asked for again by its name there is one snapshot and one end", async () => {
  for (const effect of ["done", "late", "none"] as const) {
    for (const answer of ["lost", "stall"] as const) {
      await play({}, async (stage) => {
        const provider = caller(stage);
        const { id } = stage.cloud.insert({ name: "orders" });
        stage.cloud.faults.add({ verbs: ["delete"], times: 1, fault: { answer, effect } });
        assertEquals(await outcome(provider.delete(id, options("orders-1"))), "unknown");
        for (let tries = 0; stage.cloud.get(id) !== undefined; tries++) {
          assert(tries < 20, "it does not end");
          const said = await outcome(provider.delete(id, options("orders-1")));
          assert(said === "ok" || said === "absent NotFound", said);
          await stage.pause(200);
        }
        assertEquals(stage.cloud.snapshots().map((s) => [s.name, s.databaseId]), [["orders-1", id]]);
      });
    }
  }
});

Deno.test("D7: a snapshot that fails leaves the database, is a refusal that needs a person, and may be asked for again", () =>
  play({}, async (stage) => {
    const provider = caller(stage);
    const { id } = stage.cloud.insert({ name: "orders" });
    stage.cloud.faults.refuse("delete", REFUSALS.snapshotFailed);
    assertEquals(await outcome(provider.delete(id, options("orders-1"))), "rejected SnapshotFailed");
    await stage.pause(MINUTE);
    assertEquals([stage.cloud.get(id)?.state, stage.cloud.snapshots().length], ["Available", 0]);
    assertEquals(await outcome(provider.delete(id, options("orders-1"))), "ok");
    assertEquals(stage.cloud.snapshots().length, 1);
    // A name that another database's snapshot has is refused, and that database stays.
    const other = stage.cloud.insert({ name: "orders" });
    assertEquals(await outcome(provider.delete(other.id, options("orders-1"))), "rejected SnapshotExists");
    await stage.pause(MINUTE);
    assertEquals(stage.cloud.get(other.id)?.state, "Available");
  }));

Deno.test("D7: a resource stored with a deletionPolicy that this build does not know is told of, and never deleted without it", () =>
  playAtEveryCrash({ minutes: 20 }, async (stage) => {
    stage.create("a");
    await stage.available("a");
    const id = stage.id("a");
    // As a newer build's schema let it in, before this one took its place.
    stage.edit("a", { deletionPolicy: "Snapshot" as ExternalDatabaseSpec["deletionPolicy"] & string });
    await stage.until("told", () => stage.condition("a", "Synced") === "False/InvalidSpec");
    assert(stage.message("a").includes("deletionPolicy"), stage.message("a"));
    stage.remove("a");
    await stage.until(
      "it waits and says why",
      () => stage.get("a").status?.state === "Deleting",
      10 * SECOND,
    );
    assert(stage.message("a").includes("deletionPolicy"), stage.message("a"));
    const mark = stage.mark();
    const { rv } = stage.world.store;
    await stage.pause(5 * MINUTE);
    assertEquals(stage.cloud.get(id)?.state, "Available");
    assertEquals(stage.mutations(mark), []);
    assert(stage.cloud.ledger.calls({ since: mark }).length < 60, "a hot loop");
    assert(stage.writes("a", rv) <= 2, "written again and again");
    stage.edit("a", { deletionPolicy: "Delete" });
    await stage.gone("a", MINUTE);
    assertEquals(stage.cloud.databases(), []);
  }, 4));
