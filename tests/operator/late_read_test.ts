/** What a mutation relies on is read again where its turn at the cloud comes late (rule 14). @module */
import { assertEquals } from "@std/assert";
import { FINALIZER } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { adopt } from "../../src/operator/effects/adopt.ts";
import { create } from "../../src/operator/effects/create.ts";
import { modify } from "../../src/operator/effects/modify.ts";
import { discard, remove } from "../../src/operator/effects/remove.ts";
import { retain } from "../../src/operator/effects/retain.ts";
import { cr, type CrChange, db, deleting, inStep, known, NOW, seen } from "../statechart/support.ts";
import { type Answers, run } from "./effect_rig.ts";
import { doomed, last } from "./removing.ts";

Deno.test("rule 14: a delete that waited for its turn for more than ten seconds reads the CR again (seed 91954)", async () => {
  const queued = (readAgain: Answers["read"], queuedMs = 10_001) =>
    run(remove, doomed, { read: last(), readAgain: readAgain ?? last(), queuedMs });
  const retained = last({ spec: { deletionPolicy: "Retain" }, meta: { resourceVersion: "102" } });
  const soon = await queued(retained, 10_000);
  assertEquals([soon.asked, soon.sent], [["resource", "database"], ["delete"]]);
  const late = await queued(last());
  assertEquals([late.asked, late.sent], [["resource", "database", "resource"], ["delete"]]);
  const none = await queued(new KubeError("notFound", "no such resource"));
  assertEquals([none.sent, none.learned.gone], [[], true]);
  for (
    const now of [retained, last({ spec: { paused: true } }), last({ spec: { deletionPolicy: "Snapshot" } })]
  ) {
    const { sent, learned } = await queued(now);
    assertEquals([sent, learned], [[], {
      object: now,
      observation: { kind: "present", database: db(), sentAt: NOW },
    }]);
  }
});

const failedStatus = { state: "Creating" as const, providerId: "db-1", incarnation: 1, removing: "db-1" };
const failed = db({ state: "Failed" });
const spoilt = known(cr({ status: failedStatus }), { observation: seen(failed) });

Deno.test("rule 14: so does the removal of a failed database", async () => {
  const read = cr({ status: failedStatus });
  const queued = (readAgain: Answers["read"]) =>
    run(discard, spoilt, { read, readAgain: readAgain ?? read, queuedMs: 10_001, database: failed });
  assertEquals((await queued(read)).sent, ["delete"]);
  const healed = cr({ status: { ...failedStatus, providerId: "db-2" } });
  for (
    const now of [
      healed,
      deleting({ status: failedStatus }),
      cr({ status: failedStatus, spec: { paused: true } }),
    ]
  ) {
    const { sent, learned } = await queued(now);
    assertEquals([sent, learned.object], [[], now]);
  }
});

Deno.test("rule 14, D5: nor is protection lifted late for a resource that asks for it again", async () => {
  const guarded = db({ deletionProtection: true });
  const lifted = last({ spec: { deletionProtection: false } });
  const queued = (readAgain: Answers["read"]) =>
    run(remove, known(lifted, { observation: seen(guarded) }), {
      read: lifted,
      readAgain: readAgain ?? lifted,
      database: guarded,
      queuedMs: 10_001,
    });
  const again = last({ spec: { deletionProtection: true }, meta: { resourceVersion: "102" } });
  const kept = await queued(again);
  assertEquals([kept.sent, kept.learned.object], [[], again]);
  assertEquals((await queued(lifted)).sent, ["modify", "delete"]);
});

Deno.test("rule 14: an adoption that waited for its turn is not sent for one that is paused, only observes, or names another now", async () => {
  const object = cr({ meta: { finalizers: [FINALIZER] }, spec: { providerId: "db-9" } });
  for (
    const spec of [
      { providerId: "db-9", paused: true },
      { providerId: "db-9", managementPolicy: "ObserveOnly" as const },
      { providerId: "db-8" },
    ]
  ) {
    const readAgain = cr({ meta: { finalizers: [FINALIZER], resourceVersion: "102", generation: 2 }, spec });
    const rig = run(adopt, known(object), {
      read: object,
      readAgain,
      database: db({ id: "db-9", tags: {} }),
      queuedMs: 10_001,
    });
    const { sent } = await rig.catch(() => ({ sent: ["modify"] }));
    assertEquals(sent, [], JSON.stringify(spec));
  }
});

Deno.test("rule 14: nor is a mark of retention sent late for one that is paused or lives again", async () => {
  const object = deleting({ spec: { deletionPolicy: "Retain" }, status: inStep() });
  for (
    const readAgain of [
      deleting({
        spec: { deletionPolicy: "Retain", paused: true },
        status: inStep(),
        meta: { resourceVersion: "102" },
      }),
      cr({ spec: { deletionPolicy: "Retain" }, status: inStep(), meta: { resourceVersion: "102" } }),
    ]
  ) {
    const { sent } = await run(retain, known(object, { observation: seen() }), {
      read: object,
      readAgain,
      queuedMs: 10_001,
    });
    assertEquals(sent, []);
  }
});

Deno.test("rule 14, S1: nor is a create for one that names a database by then", async () => {
  const object = cr({ meta: { finalizers: [FINALIZER] } });
  const readAgain = cr({ meta: { finalizers: [FINALIZER], resourceVersion: "102" }, status: inStep() });
  const { sent } = await run(create, known(object), { read: object, readAgain, queuedMs: 10_001 });
  assertEquals(sent, []);
});

Deno.test("rule 14, R4: nor is a change sent late for one that is paused, only observes, is edited or goes", async () => {
  const grown = cr({ spec: { sizeGb: 50 }, status: inStep() });
  const changed = (change: CrChange) => cr({ status: inStep(), ...change, meta: { resourceVersion: "102" } });
  const queued = (readAgain: Answers["read"]) =>
    run(modify, known(grown, { observation: seen() }), { read: readAgain ?? grown, queuedMs: 10_001 });
  assertEquals((await queued(changed({ spec: { sizeGb: 50 } }))).sent, ["modify"]);
  for (
    const now of [
      changed({ spec: { sizeGb: 50, paused: true } }),
      changed({ spec: { sizeGb: 50, managementPolicy: "ObserveOnly" } }),
      cr({ status: inStep(), meta: { resourceVersion: "102", generation: 2 } }),
      last(),
    ]
  ) {
    const { sent, learned } = await queued(now);
    assertEquals([sent, learned.object], [[], now]);
  }
});
