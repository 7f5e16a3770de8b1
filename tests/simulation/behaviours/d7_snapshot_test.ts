/**
 * D7: `deletionPolicy: Snapshot`. A final snapshot of a name of its own is taken before the database is deleted, and its
 * name is in the status before that; its failure leaves the database; no kill brings a second one. First as far as the
 * provider port goes, then by the operator; and a policy that it does not know deletes nothing.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ExternalDatabaseSpec } from "../../../src/api/schema.ts";
import { type DatabaseProvider, ProviderError } from "../../../src/providers/port.ts";
import { REFUSALS } from "../../../src/providers/simulated/faults.ts";
import { createSimulatedProvider } from "../../../src/providers/simulated/provider.ts";
import { finalSnapshotName } from "../../../src/statechart/snapshot.ts";
import { CLOUDS, each, EXTREMES, MINUTE, play, playAtEveryCrash, SECOND, type Stage } from "./support.ts";

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
    stage.edit("a", { deletionPolicy: "Archive" as ExternalDatabaseSpec["deletionPolicy"] & string });
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

/** Watches every call: the delete goes out only once the status names the very snapshot that it asks for. */
const named = (inner: DatabaseProvider, stage: () => Stage): DatabaseProvider => ({
  ...inner,
  delete: (id, call) => {
    const said = stage().find("a")?.status?.finalSnapshot;
    if (said === undefined || said !== call.finalSnapshot) {
      throw new Error(`delete with ${call.finalSnapshot}, while the status says ${said}`);
    }
    return inner.delete(id, call);
  },
});

each(
  EXTREMES,
  (words) =>
    `D7: made and deleted three times under Snapshot (${words}): three snapshots, each named in the status before, at whatever call the operator dies`,
  (cloud) =>
    playAtEveryCrash({ minutes: 30, plan: { cloud }, wrap: named }, async (stage) => {
      const ids: string[] = [];
      for (let n = 1; n <= 3; n++) {
        stage.create("a", { deletionPolicy: "Snapshot" });
        await stage.available("a");
        ids.push(stage.id("a"));
        stage.remove("a");
        await stage.gone("a");
      }
      assertEquals(stage.cloud.databases(), []);
      const taken = stage.cloud.snapshots();
      assertEquals(taken.map((s) => s.databaseId), ids);
      assertEquals(new Set(taken.map((s) => s.name)).size, 3);
      for (const { name } of taken) assert(/^[a-z][a-z0-9-]{0,62}$/.test(name), name);
    }, 12),
);

Deno.test("D7: a snapshot that fails leaves the database, is told, is tried slowly, and when it is taken the database goes", () =>
  playAtEveryCrash({ minutes: 40, wrap: named }, async (stage) => {
    stage.create("a", { deletionPolicy: "Snapshot" });
    await stage.available("a");
    const id = stage.id("a");
    stage.cloud.configure({ snapshotFailures: 1 });
    stage.remove("a");
    await stage.until("told", () => stage.condition("a", "Synced") === "False/SnapshotFailed");
    assert(stage.message("a").includes("deletionPolicy"), stage.message("a"));
    const mark = stage.mark();
    await stage.pause(10 * MINUTE);
    assertEquals([stage.cloud.get(id)?.state, stage.cloud.snapshots().length], ["Available", 0]);
    const tries = stage.calls("delete", mark).length;
    assert(tries >= 1 && tries <= 12, `${tries} deletes in ten minutes`);
    stage.cloud.configure({ snapshotFailures: 0 });
    await stage.gone("a", 11 * MINUTE);
    assertEquals(stage.cloud.snapshots().map((s) => s.databaseId), [id]);
  }, 8));

Deno.test("D7: where the provider takes no snapshots the deletion waits and says so, until the policy is another", () =>
  playAtEveryCrash({ minutes: 20, plan: { cloud: { snapshots: false } } }, async (stage) => {
    stage.create("a", { deletionPolicy: "Snapshot" });
    await stage.available("a");
    const id = stage.id("a");
    stage.remove("a");
    await stage.until("told", () => stage.condition("a", "Synced") === "False/SnapshotUnsupported");
    const mark = stage.mark();
    const { rv } = stage.world.store;
    await stage.pause(6 * MINUTE);
    assertEquals([stage.cloud.get(id)?.state, stage.mutations(mark).length], ["Available", 0]);
    assert(stage.writes("a", rv) <= 1, "written again and again");
    stage.edit("a", { deletionPolicy: "Delete" });
    await stage.gone("a", MINUTE);
    assertEquals([stage.cloud.databases(), stage.cloud.snapshots()], [[], []]);
  }, 8));

Deno.test("D7: a name that is another database's snapshot is a Conflict; the database stays until that is settled", () =>
  play({ minutes: 30 }, async (stage) => {
    stage.create("a", { deletionPolicy: "Snapshot" });
    await stage.available("a");
    const id = stage.id("a");
    const other = stage.cloud.insert({ name: "other" }).id;
    const name = finalSnapshotName(stage.get("a"), id);
    assertEquals(await outcome(caller(stage).delete(other, options(name))), "ok");
    stage.remove("a");
    await stage.until("told", () => stage.condition("a", "Synced") === "False/Conflict");
    assert(stage.message("a").includes(name), stage.message("a"));
    await stage.pause(5 * MINUTE);
    assertEquals(stage.cloud.get(id)?.state, "Available");
    stage.edit("a", { deletionPolicy: "Retain" });
    await stage.gone("a", MINUTE);
    assertEquals(stage.cloud.get(id)?.state, "Available");
  }));

Deno.test("D7: a Snapshot that is asked for while the delete is on its way is taken, or comes too late: never a second", async () => {
  for (let ms = 0; ms <= 300; ms += 20) {
    await play({}, async (stage) => {
      stage.create("a");
      await stage.available("a");
      stage.remove("a");
      await stage.pause(ms);
      if (stage.find("a") !== undefined) stage.edit("a", { deletionPolicy: "Snapshot" });
      await stage.gone("a");
      assert(stage.cloud.snapshots().length <= 1);
      if (ms === 0) assertEquals(stage.cloud.snapshots().length, 1);
    });
  }
});

Deno.test("D7: a database that failed before anybody could use it holds nothing, and goes without a snapshot", () =>
  play({ plan: { cloud: { provisionFailures: 1, snapshotFailures: 1 } } }, async (stage) => {
    stage.create("a", { deletionPolicy: "Snapshot" });
    await stage.until(
      "given up",
      () => stage.condition("a", "Synced") === "False/ProvisioningFailed",
      5 * MINUTE,
    );
    stage.remove("a");
    await stage.gone("a");
    assertEquals([stage.cloud.databases(), stage.cloud.snapshots()], [[], []]);
  }));

Deno.test("Rule 17: a snapshot's name fits every provider, is the same each time, and another for each database", () => {
  const object = (namespace: string, name: string, uid: string) => ({
    apiVersion: "",
    kind: "",
    metadata: { namespace, name, uid, resourceVersion: "1", generation: 1 },
    spec: { engine: "postgres", version: "14", sizeGb: 1 },
  });
  const part = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/);
  fc.assert(
    fc.property(part, part, fc.uuid(), fc.string(), fc.string(), (namespace, name, uid, one, two) => {
      const snapshot = finalSnapshotName(object(namespace, name, uid), one);
      assert(/^[a-z](?!.*--)[a-z0-9-]{0,61}[a-z0-9]$/.test(snapshot), snapshot);
      assertEquals(finalSnapshotName(object(namespace, name, uid), one), snapshot);
      if (one !== two) assert(finalSnapshotName(object(namespace, name, uid), two) !== snapshot);
    }),
    { numRuns: 300 },
  );
});
