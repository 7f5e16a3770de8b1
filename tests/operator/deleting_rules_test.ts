/**
 * What a deletion may touch and what holds it (S1 to S5; A4; rules 12 and 14).
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { assertWithin } from "../support/doomed.ts";
import { assertNothingLeft, gone, inDeletion, OURS } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

Deno.test("Rule 14: a deletion at any moment of create and change wins, and no two changes of a database are under way at once", async () => {
  for (let at = 0; at <= 10_000; at += 400) {
    await inDeletion({ latencyMs: 1_200, provisionMs: 3_000, modifyMs: 3_000 }, async (world) => {
      world.cluster.latencyMs = 30;
      world.start();
      await world.run(2_000);
      const begun = world.clock.monotonic();
      world.cluster.create("default", "orders");
      const edit = (name: string) => world.get(name) && world.cluster.edit("default", name, { sizeGb: 50 });
      await world.run(Math.min(at, 7_000));
      if (at > 7_000) {
        edit("orders");
        await world.run(at - 7_000);
      }
      if (world.get("orders")) world.cluster.delete("default", "orders");
      const deletedAt = world.clock.monotonic();
      await gone(world, "orders", 40_000);
      await assertNothingLeft(world, `deleted after ${at} ms`);
      const calls = world.cloud.ledger.mutatingCalls();
      for (const [i, call] of calls.entries()) {
        assert(call.outcome !== "aborted", `${call.verb} was left before its answer`);
        const next = calls[i + 1];
        assert(
          next === undefined || next.at >= (call.answeredAt ?? Infinity),
          `${call.verb} and ${next?.verb} overlap`,
        );
        const started = call.verb === "delete" || call.at <= deletedAt + 60;
        assert(
          started,
          `a ${call.verb} was started ${call.at - deletedAt} ms after the deletion (at ${at - begun})`,
        );
      }
    });
  }
});

Deno.test("Rule 14: a deletion resets the back-off of a failing change", () =>
  inDeletion({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cloud.faults.refuse("modify", { status: 400, code: "InvalidParameter", message: "no" }, 1e6);
    world.cluster.edit("default", "orders", { sizeGb: 500 });
    await world.run(1_800_000);
    assertEquals(world.condition("orders", "Synced"), "False/UpdateFailed");
    world.cluster.delete("default", "orders");
    await gone(world, "orders", 10_000);
    await assertNothingLeft(world);
  }));

Deno.test("S1, S2: duplicates that carry the UID are deleted too, those of others are not", async () => {
  for (const state of ["Available", "Failed", "Modifying", "Deleting"] as const) {
    await inDeletion({ readLagMs: 5_000 }, async (world) => {
      world.start();
      world.cluster.create("default", "orders");
      await world.available("orders");
      const { uid } = world.get("orders")!.metadata;
      const duplicate = world.cloud.insert({ tags: { ...OURS, [TAG.uid]: uid }, state });
      const foreign = world.cloud.insert({ name: "orders", tags: { [TAG.crName]: "orders" } });
      const cloned = world.cloud.insert({ tags: { [TAG.uid]: uid, [TAG.cluster]: "another" } });
      world.cluster.delete("default", "orders");
      await world.run(20_000);
      if (state === "Modifying") world.cloud.edit(duplicate.id, { state: "Available" });
      if (state === "Deleting") world.cloud.remove(duplicate.id);
      // The database of the cloned cluster carries the UID and is none of ours (rule 20): it holds nothing up.
      await gone(world);
      const left = world.cloud.databases().map((d) => d.id);
      assertEquals(left.toSorted(), [foreign.id, cloned.id].toSorted(), state);
      assertWithin(world, { writes: 14, calls: 120, mutations: 3 }, state);
    });
  }
});

Deno.test("S5: a duplicate that changes between the lookup and its deletion makes no loop", async () => {
  for (const change of ["Modifying", "foreign", "gone"] as const) {
    await inDeletion({}, async (world) => {
      world.start();
      world.cluster.create("default", "orders");
      await world.available("orders");
      const { uid } = world.get("orders")!.metadata;
      const { id } = world.cloud.insert({ tags: { ...OURS, [TAG.uid]: uid } });
      let deletes = 0;
      world.cluster.fault = ({ verb, phase }) => {
        if (verb !== "crdState" || phase !== "after" || ++deletes !== 2) return;
        // The second removal is that of the duplicate: it is not any more what the lookup said.
        if (change === "Modifying") world.cloud.edit(id, { state: "Modifying" });
        else if (change === "foreign") world.cloud.edit(id, { tags: {} });
        else world.cloud.remove(id);
      };
      world.cluster.delete("default", "orders");
      await world.run(60_000);
      assertWithin(world, { writes: 14, calls: 70, mutations: 3 }, change);
      if (change === "Modifying") {
        world.cloud.edit(id, { state: "Available" });
        await gone(world, "orders", 60_000);
      }
      await gone(world, "orders", 1_000);
      if (change !== "foreign") await assertNothingLeft(world);
    });
  }
});

Deno.test("S3: a recorded database whose UID tag is another's is not deleted; abandoning lets the resource go", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const { metadata, status } = world.get("orders")!;
    const id = status!.providerId!;
    world.cloud.edit(id, { tags: { ...world.cloud.get(id)!.tags, [TAG.uid]: "someone-else" } });
    world.cluster.delete("default", "orders");
    await world.run(1_200_000);
    assertEquals(world.condition("orders", "Synced"), "False/Conflict");
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
    world.cluster.annotate("default", "orders", { [ANNOTATION.abandon]: metadata.uid });
    await gone(world, "orders", 5_000);
    assertEquals(world.cloud.get(id)?.state, "Available");
    assertWithin(world, { writes: 8, calls: 60, mutations: 1 });
  }));

Deno.test("S4: a finalizer does not go because the credentials changed to an account that is empty", async () => {
  for (const deleteMs of [2_000, 600_000]) {
    for (const beforeMs of [0, 30, 1_000]) {
      await inWorld({ deleteMs, latencyMs: 20 }, async (world) => {
        world.start();
        world.cluster.create("default", "orders");
        await world.available("orders");
        world.cluster.delete("default", "orders");
        await world.run(beforeMs);
        world.cloud.configure({ account: "another" });
        await world.run(300_000);
        const there = world.cloud.databases().length;
        // With a deletion that is under way the database goes by itself; else it stays. Neither may be guessed.
        assert(
          world.get("orders") !== undefined,
          `${deleteMs}, ${beforeMs}: released under another account (${there} there)`,
        );
        world.cloud.configure({ account: "simulated" });
        await gone(world, "orders", 800_000);
        assertEquals(world.cloud.databases(), []);
      });
    }
  }
});

Deno.test("S2: a finalizer stripped by force is reported as an orphan, and the database is left alone", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const id = world.get("orders")!.status!.providerId!;
    world.cluster.delete("default", "orders");
    world.cluster.meta("default", "orders", { finalizers: [] });
    assertEquals(world.get("orders"), undefined);
    await world.run(1_200_000);
    assertEquals(operator.orphans.orphans.map((d) => d.id), [id]);
    assert(world.lines.some((l) => l.level === "error" && l.fields.providerId === id));
    assertEquals(world.cloud.get(id)?.state, "Available");
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
  }));

Deno.test("Rule 12: databases that a lagging list does not show yet are no mass absence, and hold up no deletion and no repair", () =>
  inDeletion({ readLagMs: 20_000, provisionMs: 500, deleteMs: 500, latencyMs: 100 }, async (world) => {
    const zero = world.start();
    world.cluster.create("default", "lost");
    world.cluster.create("default", "deleted");
    await world.available("lost", "deleted");
    await world.run(60_000);
    const names = Array.from({ length: 8 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    const { providerId } = world.get("lost")!.status!;
    world.cloud.remove(providerId!);
    world.cluster.delete("default", "deleted");
    await world.until("it is deleted at the cloud", () => world.cloud.databases().length === 8, 5_000);
    zero.crash(); // the next one has not asked for that absence itself
    assert(world.get("deleted") !== undefined);
    world.start();
    await gone(world, "deleted", 90_000);
    await world.until(
      "the lost one is made anew",
      () =>
        world.condition("lost", "Synced") === "True/Available" &&
        world.get("lost")?.status?.providerId !== providerId,
      400_000,
    );
    world.assertSafe();
    assertEquals(world.cloud.ledger.createEffects().length, 11);
  }));

Deno.test("A4, S4: a status that is wiped while the database is being deleted releases nothing early", async () => {
  for (const wipeMs of [0, 100, 1_000, 4_900]) {
    await inDeletion({ deleteMs: 5_000 }, async (world) => {
      world.start();
      world.cluster.create("default", "orders");
      await world.available("orders");
      world.cluster.delete("default", "orders");
      await world.run(wipeMs);
      world.cluster.setStatus("default", "orders", {});
      await gone(world);
      await assertNothingLeft(world, `wiped after ${wipeMs} ms`);
    });
  }
});
