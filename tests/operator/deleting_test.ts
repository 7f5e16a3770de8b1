/**
 * Deleting (behaviours D1, D3 to D6, D9, D10; L2).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { assertWithin } from "../support/doomed.ts";
import { databaseOf, PERIOD } from "../support/fleet.ts";
import { assertNothingLeft, gone, inDeletion, message } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

Deno.test("D1: a delete that takes five minutes keeps the resource Deleting until the cloud says not found; the next one creates cleanly", () =>
  inDeletion({ deleteMs: 300_000 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const first = world.get("orders")!;
    world.cluster.delete("default", "orders");
    await world.run(1_000);
    world.cluster.edit("default", "orders", first.spec); // applied again: nothing changes
    await world.run(290_000);
    assertEquals(world.get("orders")?.status?.state, "Deleting");
    assertEquals(world.condition("orders", "Ready"), "False/Deleting");
    await gone(world, "orders", 60_000);
    assertEquals(world.cloud.databases(), []);
    world.cluster.create("default", "orders");
    await world.available("orders");
    assert(world.get("orders")?.status?.providerId !== first.status?.providerId);
    world.assertSafe();
    assertWithin(world, { writes: 14, calls: 130, mutations: 3 });
  }));

Deno.test("D3: a resource that is being deleted before our finalizer was there gets no database", () =>
  inDeletion({}, async (world) => {
    world.cluster.create("default", "orders", {}, { finalizers: ["other/finalizer"] });
    world.cluster.delete("default", "orders");
    world.start();
    await world.run(60_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    assertEquals(world.cluster.writes, []);
    world.cluster.meta("default", "orders", { finalizers: [] });
    assertEquals(world.get("orders"), undefined);
  }));

Deno.test("D3: a namespace goes while its resources are new, being created, changed and available", () =>
  inDeletion({ latencyMs: 100, provisionMs: 3_000 }, async (world) => {
    world.cluster.latencyMs = 20;
    world.start();
    for (let i = 0; i < 40; i++) {
      world.cluster.create("default", `db-${i}`);
      await world.run(100);
    }
    for (let i = 0; i < 20; i += 2) world.cluster.edit("default", `db-${i}`, { sizeGb: 40 });
    await world.run(150);
    const mark = world.cloud.ledger.mark();
    for (const { metadata } of world.cluster.all()) world.cluster.delete("default", metadata.name);
    await world.until("all are gone", () => world.cluster.all().length === 0);
    assert(
      world.cloud.ledger.calls({ verb: "create", since: mark }).length <= 2,
      "created in a terminating namespace",
    );
    await assertNothingLeft(world);
  }));

for (const when of ["before", "after"] as const) {
  Deno.test(`D4: a deletion of a resource that was paused ${when} it waits and says so, then goes on`, () =>
    inDeletion({}, async (world) => {
      world.start();
      world.cluster.create("default", "orders");
      await world.available("orders");
      if (when === "before") world.cluster.edit("default", "orders", { paused: true });
      world.cluster.delete("default", "orders");
      if (when === "after") world.cluster.edit("default", "orders", { paused: true });
      const mark = world.cloud.ledger.mark();
      await world.run(3_600_000);
      assertEquals(world.condition("orders", "Synced"), "False/Paused");
      assertStringIncludes(message(world, "orders"), "spec.paused");
      assert(world.events.some((e) => e.reason === "Paused"), "no Event");
      assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
      assert(
        world.cloud.ledger.calls({ since: mark }).length <= 80,
        "a paused resource costs no calls of its own",
      );
      world.cluster.edit("default", "orders", { paused: false });
      await gone(world, "orders", 20_000);
      await assertNothingLeft(world);
    }));
}

Deno.test("D4: paused while its deletion is under way, what was sent is not repeated", () =>
  inDeletion({ latencyMs: 2_000, deleteMs: 60_000 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.delete("default", "orders");
    await world.run(3_000);
    world.cluster.edit("default", "orders", { paused: true });
    await world.run(120_000);
    assert(world.get("orders") !== undefined);
    world.cluster.edit("default", "orders", { paused: false });
    await gone(world);
    await assertNothingLeft(world);
    assert(world.cloud.ledger.mutatingCalls().length <= 2);
  }));

Deno.test("D5: deletion protection is told, tried slowly, and the deletion goes on once it is lifted at the cloud", () =>
  inDeletion({ deletionProtection: true }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.delete("default", "orders");
    const mark = world.cloud.ledger.mark();
    await world.run(3_600_000);
    assertEquals(world.condition("orders", "Synced"), "False/DeletionProtected");
    const tries = world.cloud.ledger.mutatingCalls(mark).length;
    assert(tries >= 5 && tries <= 15, `${tries} tries in an hour`);
    world.cloud.edit(world.cloud.databases()[0]!.id, { protected: false });
    await gone(world, "orders", 700_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 24, calls: 150, mutations: 17 });
  }));

Deno.test("D5: deletion protection and Retain in the spec of a terminating resource let it go at once, and the database stay", () =>
  inWorld({ deletionProtection: true }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.delete("default", "orders");
    await world.run(1_800_000);
    const { uid } = world.get("orders")!.metadata;
    world.cluster.edit("default", "orders", { deletionPolicy: "Retain" });
    await gone(world, "orders", 10_000);
    assertEquals(world.cloud.databases()[0]?.tags[TAG.retained], uid);
  }));

Deno.test("D5: a person's reconcile annotation is tried at once", () =>
  inDeletion({ deletionProtection: true }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.delete("default", "orders");
    await world.run(3_600_000);
    world.cloud.edit(world.cloud.databases()[0]!.id, { protected: false });
    world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "now" });
    await gone(world, "orders", 10_000);
    await assertNothingLeft(world);
  }));

Deno.test("D6: our finalizer goes and no other is touched, whatever the order and the conflicts", async () => {
  for (const finalizers of [["a/a", FINALIZER], [FINALIZER, "a/a"], ["a/a", FINALIZER, "b/b"]]) {
    for (const kind of ["conflict", "invalid", "server"] as const) {
      await inDeletion({}, async (world) => {
        world.start();
        world.cluster.create("default", "orders");
        await world.available("orders");
        world.cluster.meta("default", "orders", { finalizers });
        world.cluster.delete("default", "orders");
        let left = 5;
        world.cluster.fault = ({ verb, phase }) => {
          if (verb !== "patch" || phase !== "before" || left === 0) return;
          left--;
          world.cluster.meta("default", "orders", { labels: { round: String(left) } });
          throw new KubeError(kind, "refused");
        };
        await world.until(
          "ours is gone",
          () => !world.get("orders")?.metadata.finalizers?.includes(FINALIZER),
          60_000,
        );
        assertEquals(left, 0);
        assertEquals(world.get("orders")?.metadata.finalizers, finalizers.filter((f) => f !== FINALIZER));
        const written = world.cluster.writes.length;
        await world.run(1_800_000);
        assertEquals(world.cluster.writes.length, written, "nothing is written once ours is gone");
        assertWithin(world, { writes: 12, calls: 80, mutations: 2 });
      });
    }
  }
});

Deno.test("D6: a foreign finalizer that goes in the tick before ours does not take ours along", () =>
  inDeletion({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders", {}, { finalizers: ["a/a", "b/b"] });
    await world.available("orders");
    let once = true;
    world.cluster.fault = ({ verb, phase }) => {
      const { finalizers, deletionTimestamp } = world.get("orders")?.metadata ?? {};
      if (verb !== "patch" || phase !== "before" || deletionTimestamp === undefined || !once) return;
      once = false;
      world.cluster.meta("default", "orders", { finalizers: finalizers?.filter((f) => f !== "a/a") ?? [] });
    };
    world.cluster.delete("default", "orders");
    await world.until(
      "ours is gone",
      () => !world.get("orders")?.metadata.finalizers?.includes(FINALIZER),
      60_000,
    );
    assertEquals(world.get("orders")?.metadata.finalizers, ["b/b"]);
  }));

Deno.test("D9: absence is success: databases dropped behind the operator's back go with their resources, others do not notice", () =>
  inDeletion({}, async (world) => {
    world.start();
    const names = Array.from({ length: 21 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    const healthy = names.slice(1);
    const versions = healthy.map((n) => world.get(n)?.metadata.resourceVersion);
    world.cloud.remove(world.get("db-0")!.status!.providerId!);
    world.cluster.delete("default", "db-0");
    await gone(world, "db-0", 30_000);
    await world.run(600_000);
    assertEquals(healthy.map((n) => world.get(n)?.metadata.resourceVersion), versions);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 21);
    world.assertSafe();
  }));

Deno.test("D10: a delete that answers 500 five times keeps the finalizer and tells the last error", () =>
  inDeletion({ deleteMs: 5_000 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cloud.faults.refuse("delete", REFUSALS.internalError, 5);
    world.cluster.delete("default", "orders");
    await world.run(3_000);
    assertEquals(world.condition("orders", "Synced"), "False/DeleteFailed");
    assertStringIncludes(message(world, "orders"), "InternalError");
    assert(world.get("orders")?.metadata.finalizers?.includes(FINALIZER));
    await gone(world, "orders", 200_000);
    assertEquals(world.cloud.ledger.calls({ verb: "delete" }).length, 6);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 16, calls: 80, mutations: 7 });
  }));

Deno.test("D10: a delete whose answers are lost or late, again and again, ends all the same", async () => {
  for (const effect of ["none", "done", "late"] as const) {
    await inDeletion({}, async (world) => {
      world.start();
      world.cluster.create("default", "orders");
      await world.available("orders");
      world.cloud.faults.add({ verbs: ["delete"], times: 3, fault: { answer: "lost", effect } });
      world.cluster.delete("default", "orders");
      await gone(world, "orders", 90_000);
      await assertNothingLeft(world, effect);
      assertWithin(world, { writes: 14, calls: 80, mutations: 6 }, effect);
    });
  }
});

Deno.test("a database that is provisioning for twenty minutes is deleted within a poll of its end, and meanwhile says so", () =>
  inDeletion({ provisionMs: 1_200_000 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.run(60_000);
    world.cluster.delete("default", "orders");
    await world.run(600_000);
    assertStringIncludes(message(world, "orders"), "provisioning");
    assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
    await gone(world, "orders", 540_000 + 45_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 10, calls: 150, mutations: 2 });
  }));

Deno.test("a database that is found by its tags while it is provisioning for twenty minutes is not polled twice a second", () =>
  inDeletion({ provisionMs: 1_200_000 }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(100);
    first.crash();
    world.cluster.delete("default", "orders");
    world.start();
    await gone(world, "orders", 1_260_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 10, calls: 180, mutations: 2 });
  }));

Deno.test("a deletion outlives an outage of the provider, of the API server and of both", async () => {
  for (const [cloud, kube] of [[true, false], [false, true], [true, true]]) {
    for (const beforeMs of [0, 300, 2_500]) {
      await inDeletion({ latencyMs: 100, deleteMs: 4_000 }, async (world) => {
        world.start();
        world.cluster.create("default", "orders");
        await world.available("orders");
        world.cluster.delete("default", "orders");
        await world.run(beforeMs);
        const until = world.clock.monotonic() + 600_000;
        if (cloud) world.cloud.faults.outage(REFUSALS.unavailable, 600_000);
        if (kube) {
          world.cluster.fault = ({ verb, phase }) => {
            if (verb !== "watch" && phase === "before" && world.clock.monotonic() < until) {
              throw new KubeError("network", "connection refused");
            }
          };
        }
        await world.run(590_000);
        assert(world.get("orders") !== undefined, "it went during the outage");
        await gone(world, "orders", 60_000);
        await assertNothingLeft(world);
        assertWithin(world, { writes: 24, calls: 200, mutations: 45 });
      });
    }
  }
});

Deno.test("D5, L4: what the spec holds back says so once, though its database is found by a lookup alone (found by simulation, seed 31627)", () =>
  inWorld({ latencyMs: 200 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders", { deletionProtection: true });
    await world.available("orders");
    const { id, tags } = databaseOf(world, "orders");
    world.cloud.insert({ tags: { ...tags } });
    world.cloud.remove(id);
    world.cluster.delete("default", "orders");
    const told = () => world.condition("orders", "Synced") === "False/DeletionProtected";
    await world.until("told", told, 2 * PERIOD);
    await world.run(60_000);
    const writes = world.cluster.writes.length;
    await world.run(10 * PERIOD);
    assert(told());
    assert(
      world.cluster.writes.length - writes <= 1,
      `written ${world.cluster.writes.length - writes} times`,
    );
  }));
