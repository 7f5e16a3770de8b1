/**
 * Deleting (behaviours D1 to D6, D9, D10, W9's second half; S2, S3, S4; rules 9 and 13 to 16).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { assertWithin, startDoomed } from "../support/doomed.ts";
import { inWorld, type World } from "../support/world.ts";

const OURS = { [TAG.cluster]: "cluster-1", [TAG.managedBy]: "externaldatabase-operator" };

/** Watches every finalizer that goes: what still carried the UID at that moment is kept for the assertion (S4). */
function guardFinalizers(world: World): { assertKept(): void } {
  const broken: string[] = [];
  const patch = world.cluster.patch.bind(world.cluster);
  world.cluster.patch = async (key, operations, options) => {
    const removes = operations.some((o) => o.op === "remove");
    const before = world.cluster.read(key.namespace, key.name);
    const after = await patch(key, operations, options);
    if (removes && before !== undefined && !after.metadata.finalizers?.includes(FINALIZER)) {
      for (const d of world.cloud.presentByUid().get(before.metadata.uid) ?? []) {
        broken.push(`${key.name}: ${d.id} is ${d.state}`);
      }
    }
    return after;
  };
  return { assertKept: () => assertEquals(broken, [], "S4: a finalizer went while a database was there") };
}

/** An available resource in a world with a guard; its deletion must leave nothing. */
async function inDeletion(
  settings: Partial<CloudSettings>,
  body: (world: World) => Promise<void>,
): Promise<void> {
  await inWorld(settings, async (world) => {
    const guard = guardFinalizers(world);
    await body(world);
    guard.assertKept();
  });
}

async function gone(world: World, name = "orders", limitMs = 120_000): Promise<void> {
  await world.until(`${name} is gone`, () => world.get(name) === undefined, limitMs);
}

/** Nothing is left, and nothing comes later. */
async function assertNothingLeft(world: World, what = ""): Promise<void> {
  await world.run(world.cloud.settings.effectBoundMs + world.cloud.settings.readLagMs + 1_000);
  assertEquals(world.cloud.databases().map((d) => `${d.id} ${d.state}`), [], what);
}

function message(world: World, name: string): string {
  return world.get(name)?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";
}

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

for (
  const [words, refusal] of [
    ["rejected", { status: 400, code: "InvalidParameter", message: "bad version" }],
    ["forbidden", REFUSALS.forbidden],
    ["revoked", REFUSALS.unauthenticated],
    ["throttled", REFUSALS.throttled],
  ] as const
) {
  Deno.test(`D2: deleted after every create was ${words}, the finalizer goes at once`, () =>
    inDeletion({}, async (world) => {
      world.start();
      await world.run(500);
      world.cloud.faults.outage(refusal);
      world.cluster.create("default", "orders");
      await world.run(5_000);
      world.cluster.delete("default", "orders");
      await world.run(1_500);
      assertEquals(world.get("orders"), undefined);
      await assertNothingLeft(world);
    }));
}

Deno.test("D2: a create refused in another process's life waits for the settle window; while the lookup is refused it waits and says so", () =>
  inDeletion({ readLagMs: 5_000 }, async (world) => {
    const first = world.start();
    await world.run(500);
    const heal = world.cloud.faults.add({
      verbs: ["create", "list", "get"],
      fault: { answer: REFUSALS.forbidden },
    });
    world.cluster.create("default", "orders");
    await world.run(5_000);
    first.crash();
    world.start();
    world.cluster.delete("default", "orders");
    await world.run(60_000);
    assert(world.get("orders") !== undefined, "the lookup was refused: nothing is decided");
    assertEquals(world.condition("orders", "Synced"), "Unknown/Unauthorised");
    heal();
    await gone(world, "orders", 45_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 24, calls: 60, mutations: 6 });
  }));

for (const clientTokens of [true, false]) {
  for (const readLagMs of [0, 5_000, 20_000]) {
    const words = `${clientTokens ? "with" : "without"} client tokens, read lag ${readLagMs / 1_000} s`;
    Deno.test(`D2: a create of unknown outcome holds the finalizer for the whole settle window, ${words}`, async () => {
      for (const effect of ["none", "done", "late"] as const) {
        await inDeletion({ clientTokens, readLagMs }, async (world) => {
          world.start();
          await world.run(60_000);
          world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { answer: "lost", effect } });
          world.cluster.create("default", "orders");
          await world.run(100);
          const sent = world.cloud.ledger.calls({ verb: "create" })[0]!.answeredAt!;
          world.cluster.delete("default", "orders");
          await gone(world);
          const waited = world.clock.monotonic() - sent;
          if (effect === "none") assert(waited >= 10_000 + readLagMs, `only ${waited} ms`);
          assert(waited <= 45_000 + readLagMs, `${waited} ms`);
          await assertNothingLeft(world, effect);
          assertWithin(world, { writes: 12, calls: 80, mutations: 4 }, effect);
        });
      }
    });

    Deno.test(`D2b: deleted while a slow create is in flight, its answer lost and the operator killed, ${words}`, async () => {
      for (const delayMs of [1_000, 29_000, 60_000, 110_000]) {
        for (const killAt of [500, 20_000, 45_000, 100_000]) {
          await inDeletion({ clientTokens, readLagMs, effectBoundMs: 120_000 }, async (world) => {
            const first = world.start();
            await world.run(500);
            world.cloud.faults.add({
              verbs: ["create"],
              times: 1,
              fault: { answer: "lost", effect: "late", delayMs },
            });
            world.cluster.create("default", "orders");
            await world.run(100);
            world.cluster.delete("default", "orders");
            await world.run(killAt);
            first.crash();
            world.start();
            await gone(world, "orders", 400_000);
            await assertNothingLeft(world, `effect after ${delayMs} ms, killed after ${killAt} ms`);
            assertWithin(world, { writes: 12, calls: 300, mutations: 4 });
          });
        }
      }
    });

    Deno.test(`D2b: killed before and after each call of a deletion, ${words}, nothing is left`, async () => {
      const length = await callsOfOneDeletion({ clientTokens, readLagMs });
      assert(length > 8, `only ${length} calls`);
      for (let at = 0; at < length; at++) {
        for (const when of ["before", "after"] as const) {
          await inDeletion({ clientTokens, readLagMs }, async (world) => {
            const zero = world.start();
            world.cluster.create("default", "orders");
            await world.available("orders");
            zero.crash();
            world.cluster.delete("default", "orders");
            const first = startDoomed(world, { at, when });
            await world.until("the doom", () => first.dead || world.get("orders") === undefined);
            const what = `killed ${when} call ${at} (${first.calls[at]})`;
            first.crash();
            world.start();
            await gone(world);
            await assertNothingLeft(world, what);
            assertWithin(world, { writes: 14, calls: 100 + readLagMs / 300, mutations: 4 }, what);
          });
        }
      }
    });
  }
}

async function callsOfOneDeletion(settings: Partial<CloudSettings>): Promise<number> {
  let length = 0;
  await inWorld(settings, async (world) => {
    const zero = world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    zero.crash();
    world.cluster.delete("default", "orders");
    const process = startDoomed(world);
    await gone(world);
    length = process.calls.length;
  });
  return length;
}

Deno.test("D2b: killed at every call of a create that is being deleted, nothing is left", async () => {
  for (const readLagMs of [0, 20_000]) {
    for (let at = 0; at < 14; at++) {
      for (const when of ["before", "after"] as const) {
        await inDeletion({ clientTokens: false, readLagMs, latencyMs: 200 }, async (world) => {
          world.cluster.latencyMs = 20;
          const first = startDoomed(world, { at, when });
          world.cluster.create("default", "orders");
          await world.run(350 + 50 * at);
          if (world.get("orders")) world.cluster.delete("default", "orders");
          await world.until("the doom", () => first.dead || world.get("orders") === undefined);
          first.crash();
          world.start();
          await gone(world);
          await assertNothingLeft(world, `killed ${when} call ${at} (${first.calls[at]})`);
        });
      }
    }
  }
});

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

Deno.test("W9, rule 13: the CRD's deletion over 20 available resources ends and abandons 20 databases, each named in log and Event", () =>
  inWorld({}, async (world) => {
    const released: string[] = [];
    world.start({
      metrics: {
        ...(await import("../../src/core/metrics.ts")).noMetrics,
        released: (cause) => void released.push(cause),
      },
    });
    const names = Array.from({ length: 20 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    const ids = names.map((n) => world.get(n)!.status!.providerId!);
    world.cluster.crd = "terminating";
    for (const name of names) world.cluster.delete("default", name);
    await world.until("all are gone", () => world.cluster.all().length === 0, 30_000);
    await world.run(60_000);
    assertEquals(world.cloud.databases().map((d) => [d.id, d.state]), ids.map((id) => [id, "Available"]));
    assertEquals(released, names.map(() => "crdDeleted"));
    for (const id of ids) {
      assert(
        world.lines.some((l) => l.level === "warn" && l.fields.providerId === id),
        `${id} is not logged`,
      );
      assert(world.events.some((e) => e.reason === "Retained" && e.note.includes(id)), `${id} has no Event`);
    }
    assertWithin(world, { writes: 110, calls: 500, mutations: 40 });
  }));

Deno.test("Rule 13: the CRD's deletion abandons what is being provisioned, changed, created and has a lost create", () =>
  inWorld({ provisionMs: 20_000, modifyMs: 20_000, latencyMs: 100 }, async (world) => {
    world.start();
    world.cluster.create("default", "changed");
    await world.available("changed");
    world.cluster.create("default", "provisioning");
    await world.run(2_000);
    world.cluster.edit("default", "changed", { sizeGb: 60 });
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "lost");
    await world.run(150);
    world.cluster.create("default", "creating");
    await world.run(60);
    world.cluster.crd = "terminating";
    for (const { metadata } of world.cluster.all()) world.cluster.delete("default", metadata.name);
    await world.until("all are gone", () => world.cluster.all().length === 0, 120_000);
    await world.run(60_000);
    assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
    assertEquals(world.cloud.databases().length, 4);
    for (const d of world.cloud.databases()) assertEquals(d.tags[TAG.retained], d.tags[TAG.uid], d.name);
  }));

Deno.test("Rule 13: while the CRD cannot be read a deletion waits, then goes on", () =>
  inDeletion({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.fault = ({ verb, phase }) => {
      if (verb === "crdState" && phase === "before") {
        throw new KubeError("forbidden", "no such right", { status: 403 });
      }
    };
    world.cluster.delete("default", "orders");
    await world.run(600_000);
    assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
    assertStringIncludes(message(world, "orders"), "no such right");
    world.cluster.fault = () => {};
    await gone(world, "orders", 60_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 24, calls: 120, mutations: 2 });
  }));

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
    }).catch((error: Error) => {
      // The guard cannot tell the cloned cluster's database from ours.
      if (!error.message.includes("S4") || !error.message.includes("Available")) throw error;
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

Deno.test("Rule 16: Retain marks the database, names it in Event and log, and releases the resource", async () => {
  for (const policy of ["before", "after"] as const) {
    await inWorld({}, async (world) => {
      world.start();
      world.cluster.create("default", "orders", policy === "before" ? { deletionPolicy: "Retain" } : {});
      await world.available("orders");
      const { metadata, status } = world.get("orders")!;
      if (policy === "after") world.cluster.edit("default", "orders", { deletionPolicy: "Retain" });
      world.cluster.delete("default", "orders");
      await gone(world, "orders", 10_000);
      const [database] = world.cloud.databases();
      assertEquals(database?.state, "Available");
      assertEquals(database?.tags[TAG.retained], metadata.uid);
      assert(world.events.some((e) => e.reason === "Retained" && e.note.includes(status!.providerId!)));
      assert(world.lines.some((l) => l.level === "warn" && l.fields.providerId === status!.providerId));
      await world.run(1_200_000);
      assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
      assertEquals(world.lines.filter((l) => l.level === "error"), [], "a retained database is no orphan");
    });
  }
});

Deno.test("Rule 16: Retain resolves a create of unknown outcome first, and marks what comes of it", async () => {
  for (const clientTokens of [true, false]) {
    for (const effect of ["none", "done", "late"] as const) {
      await inWorld({ clientTokens, readLagMs: 5_000 }, async (world) => {
        world.start();
        await world.run(60_000);
        world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { answer: "lost", effect } });
        world.cluster.create("default", "orders", { deletionPolicy: "Retain" });
        await world.run(100);
        const { uid } = world.get("orders")!.metadata;
        world.cluster.delete("default", "orders");
        await gone(world, "orders", 60_000);
        await world.run(60_000);
        assertEquals(
          world.cloud.databases().map((d) => [d.state, d.tags[TAG.retained]]),
          effect === "none" ? [] : [["Available", uid]],
        );
        assertWithin(world, { writes: 10, calls: 70, mutations: 8 });
      });
    }
  }
});

Deno.test("Rule 16: abandoning releases at once, without the cloud, in whatever state", async () => {
  for (const state of ["creating", "available", "deleting", "cloud down", "paused", "never read"] as const) {
    await inWorld({ deleteMs: 600_000 }, async (world) => {
      const first = world.start();
      world.cluster.create("default", "orders");
      if (state === "creating") await world.run(1_000);
      else await world.available("orders");
      const { uid } = world.get("orders")!.metadata;
      if (state === "paused") world.cluster.edit("default", "orders", { paused: true });
      if (state === "deleting") {
        world.cluster.delete("default", "orders");
        await world.run(10_000);
      }
      if (state === "cloud down" || state === "never read") world.cloud.faults.outage(REFUSALS.unavailable);
      if (state === "never read") {
        first.crash();
        world.start();
        await world.run(5_000);
      }
      const mark = world.cloud.ledger.mark();
      world.cluster.annotate("default", "orders", { [ANNOTATION.abandon]: uid });
      world.cluster.delete("default", "orders");
      await gone(world, "orders", 1_000);
      assertEquals(world.cloud.ledger.mutatingCalls(mark), [], state);
      assertEquals(world.cloud.databases().length, 1, state);
      assert(world.events.some((e) => e.reason === "Abandoned" && e.type === "Warning"));
    });
  }
});

Deno.test("Rule 16: an abandon annotation with another UID abandons nothing", () =>
  inDeletion({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders", {}, {
      annotations: { [ANNOTATION.abandon]: "of-the-last-orders" },
    });
    await world.available("orders");
    world.cluster.delete("default", "orders");
    await gone(world);
    await assertNothingLeft(world);
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

Deno.test("L2: fifty deletions under chance, kills and outages all end, and leave nothing", async () => {
  for (const [clientTokens, readLagMs] of [[true, 0], [false, 5_000], [false, 20_000]] as const) {
    await inDeletion({
      clientTokens,
      readLagMs,
      tokenMemoryMs: 1,
      loseAnswers: 0.2,
      lateEffects: 0.2,
      failBefore: 0.1,
      failAfter: 0.1,
      provisionFailures: 0.2,
    }, async (world) => {
      const names = Array.from({ length: 50 }, (_, i) => `db-${i}`);
      for (const name of names) world.cluster.create("default", name);
      for (let kill = 0; kill < 4; kill++) {
        const process = world.start();
        await world.run(2_000 + 3_000 * kill);
        for (const name of names.slice(kill * 12, kill * 12 + 14)) {
          if (world.get(name)) world.cluster.delete("default", name);
        }
        await world.run(700);
        process.crash();
        world.assertSafe();
      }
      world.start();
      await world.run(60_000);
      world.cloud.configure({ loseAnswers: 0, lateEffects: 0, failBefore: 0, failAfter: 0 });
      for (const { metadata } of world.cluster.all()) world.cluster.delete("default", metadata.name);
      await world.until("all are gone", () => world.cluster.all().length === 0, 300_000);
      await assertNothingLeft(world);
    });
  }
});

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
