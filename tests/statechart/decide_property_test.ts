import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { decide } from "../../src/statechart/decide.ts";
import { isEffect } from "../../src/statechart/decision.ts";
import { type ExternalState, initialKnowledge, type Knowledge } from "../../src/statechart/knowledge.ts";
import { STEPS } from "../../src/statechart/machine.ts";
import { finalSnapshotName } from "../../src/statechart/snapshot.ts";
import { statusOf } from "../../src/statechart/status.ts";
import { EFFECTS, MUTATING, REASONS, TOP_STATES } from "../../src/statechart/vocabulary.ts";
import type { View } from "../../src/statechart/view.ts";
import { condition, db, NOW, tags, UID } from "./support.ts";

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const moment = fc.constantFrom(0, NOW - 900_001, NOW - 60_001, NOW - 11_000, NOW - 10, NOW, NOW + 500);
const id = fc.constantFrom("db-1", "db-2");
const short = fc.constantFrom("", "x", UID, "-1", "90d", "10s", "5m", "1h", "0s");

const database: fc.Arbitrary<ExternalState> = fc.record({
  id,
  engine: fc.constantFrom("postgres", "mysql", ""),
  version: fc.constantFrom("14.2", "14.9", "15", "13", "lts"),
  sizeGb: fc.constantFrom(10, 20, 35, 50),
  state: fc.constantFrom("Provisioning", "Available", "Modifying", "Deleting", "Failed"),
  endpoint: maybe(fc.constant("h:1")),
  tags: fc.constantFrom(
    tags(),
    tags({ [TAG.uid]: "someone" }),
    tags({ [TAG.cluster]: "elsewhere" }),
    tags({ [TAG.incarnation]: "2" }),
    {},
  ),
  createdAt: fc.constantFrom("2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
  pending: maybe(fc.record({ sizeGb: fc.constantFrom(20, 50) })),
  deletionProtection: maybe(fc.boolean()),
}).map((d) => ({ ...db(), ...d, providerState: d.state }));

const verdict = fc.constantFrom("True", "False", "Unknown");

const status = fc.record({
  state: fc.constantFrom(...TOP_STATES),
  providerId: id,
  endpoint: fc.constant("h:1"),
  account: fc.constantFrom("acct", "other"),
  incarnation: fc.constantFrom(1, 2),
  adopted: fc.boolean(),
  observeOnly: fc.boolean(),
  finalSnapshot: short,
  provisioningFailures: fc.nat({ max: 4 }),
  observedGeneration: fc.constantFrom(1, 2),
  lastHandledReconcile: short,
  lastHandledConfirmation: short,
  conditions: fc.tuple(verdict, verdict, fc.constantFrom("Available", "ActorFailed", "Nonsense")).map((
    [r, s, why],
  ) => [condition("Ready", r, why), condition("Synced", s, why)]),
  repair: fc.constant([
    { field: "sizeGb" as const, wanted: "50", attempts: 3, lastAttemptTime: "2026-01-01T00:00:00Z" },
  ]),
}, { requiredKeys: [] });

/** Specs as they may be stored: most are valid, some absurd. */
const spec = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.record({
    deletionPolicy: fc.constantFrom("Delete", "Retain", "Snapshot"),
    deletionProtection: fc.boolean(),
    managementPolicy: fc.constantFrom("Full", "ObserveOnly"),
    driftPolicy: fc.constantFrom("Repair", "Report"),
    onMissing: fc.constantFrom("Recreate", "Report"),
    pollInterval: fc.constantFrom("10s", "5m", "24h"),
    providerId: id,
    paused: fc.boolean(),
    sizeGb: fc.constantFrom(20, 50),
  }, { requiredKeys: [] }),
  fc.dictionary(
    fc.constantFrom(
      ...["engine", "version", "sizeGb", "pollInterval", "providerId", "paused", "deletionPolicy"],
      ...["managementPolicy", "deletionProtection"],
    ),
    fc.oneof(short, fc.integer(), fc.constant(null), fc.constant([])),
  ),
).map((s) => ({ engine: "postgres", version: "14.2", sizeGb: 20, ...s }));

const object = fc.record({
  spec: fc.oneof({ weight: 20, arbitrary: spec }, fc.constant(undefined), fc.constant(null)),
  status: maybe(status),
  finalizers: maybe(fc.constantFrom([FINALIZER], ["other/finalizer"], ["other/finalizer", FINALIZER])),
  generation: fc.constantFrom(1, 2),
  deleting: fc.boolean(),
  annotations: maybe(fc.dictionary(fc.constantFrom(...Object.values(ANNOTATION)), short)),
}).map((o) => ({
  apiVersion: "crd.my.domain/v1",
  kind: "ExternalDatabase",
  metadata: {
    name: "orders",
    namespace: "default",
    uid: UID,
    resourceVersion: "1",
    generation: o.generation,
    finalizers: o.finalizers,
    annotations: o.annotations,
    deletionTimestamp: o.deleting ? "2026-01-01T00:00:00Z" : undefined,
  },
  spec: o.spec,
  status: o.status,
} as unknown as ExternalDatabase));

const failure = fc.record({
  effect: fc.constantFrom(...EFFECTS),
  errorClass: fc.constantFrom("throttled", "busy", "rejected", "taken", "unknown", "kubernetes", "bug", "?"),
  code: maybe(fc.constantFrom("DeletionProtected", "TokenUsed")),
  attempt: fc.integer({ min: 1, max: 99 }),
  until: moment,
}).map((f) => ({ ...f, state: "Available" as const, message: "no" }));

const knowledge: fc.Arbitrary<Knowledge> = fc.record({
  object,
  now: moment,
  bornHere: fc.boolean(),
  provenNew: fc.boolean(),
  crdTerminating: fc.boolean(),
  retained: fc.boolean(),
  unknownSince: maybe(moment),
  createExists: maybe(fc.constantFrom("TokenUsed", "AlreadyExists")),
  observation: maybe(fc.oneof(
    fc.record({ kind: fc.constant("present" as const), database, sentAt: moment }),
    fc.record({ kind: fc.constant("absent" as const), id, sentAt: moment }),
  )),
  lookup: maybe(fc.record({ sentAt: moment, found: fc.array(database, { maxLength: 3 }) })),
  unlistedAt: maybe(moment),
  modifyUnknownSince: maybe(moment),
  refreshSince: maybe(moment),
  transitionalSince: maybe(moment),
  lastReadAt: moment,
  removals: fc.dictionary(id, moment),
  duplicates: fc.array(id, { maxLength: 2 }),
  unreadable: maybe(fc.record({ errorClass: fc.constantFrom("throttled", "?"), message: short })),
  failures: fc.array(failure, { maxLength: 3 }).map((all) =>
    Object.fromEntries(all.map((f) => [f.effect, f]))
  ),
}).map(({ object, now, ...more }) => ({ ...initialKnowledge(object, now), ...more }));

const view: fc.Arbitrary<View> = fc.record({
  provider: maybe(fc.record({
    account: maybe(fc.constantFrom("acct", "other")),
    clientTokens: fc.boolean(),
    readLagMs: fc.constantFrom(0, 1_000, 60_000),
    effectBoundMs: fc.constantFrom(0, 10_000),
    snapshots: maybe(fc.boolean()),
    deletionProtection: maybe(fc.boolean()),
  })),
  accountAt: fc.oneof(moment, fc.constant(-Infinity)),
  accountWords: fc.array(moment, { maxLength: 3 }),
  accountSince: fc.oneof(moment, fc.constant(-Infinity)),
  roundAt: fc.oneof(moment, fc.constant(-Infinity)),
  settleSince: moment,
  massAbsent: fc.boolean(),
  massAbsence: fc.boolean(),
  massAbsenceOverAt: fc.oneof(moment, fc.constant(-Infinity)),
  crowded: fc.boolean(),
}).map((v) => ({
  now: NOW,
  wallNow: Date.parse("2026-01-01T00:00:00Z"),
  providerError: undefined,
  clusterId: "cluster-1",
  pollMs: 300_000,
  cacheTtlMs: 300_000,
  ...v,
}));

const RUNS = { numRuns: 2_000 };

Deno.test("decide: whatever is known, the step belongs to its state, has a reason, and nothing throws", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const d = decide(k, v);
      if (d.state === "Finalized") assertEquals(d.step, "end");
      else if (isEffect(d.step)) {
        assert((STEPS[d.state] as readonly string[]).includes(d.step), `${d.state} runs ${d.step}`);
      } else assert(d.step !== "end", `${d.state} ends`);
      assert(d.ready.reason in REASONS || k.object.status?.conditions !== undefined, d.ready.reason);
      if (d.waitMs !== undefined) assert(d.waitMs > 0, `waits ${d.waitMs} ms`);
      if (d.step === "wait" || d.step === "backOff") assert(d.waitMs !== undefined, `${d.step} has no time`);
      if (d.step === "record") assert(d.database !== undefined);
      if (d.step === "release") assert(d.cause !== undefined);
      const status = statusOf(k, d);
      assertEquals(status.conditions.length, 2);
    }),
    RUNS,
  );
});

Deno.test("decide: the same knowledge gives the same decision, and nothing is changed by asking", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const before = JSON.stringify([k, v]);
      assertEquals(decide(k, v), decide(structuredClone(k), structuredClone(v)));
      assertEquals(JSON.stringify([k, v]), before);
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("rule 14: a deletion always leads to Deleting or Finalized, and the other way round", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const { state } = decide(k, v);
      const deleted = k.object.metadata.deletionTimestamp !== undefined;
      assertEquals(state === "Deleting" || state === "Finalized", deleted, state);
    }),
    RUNS,
  );
});

Deno.test("D4: nothing that may change the cloud is chosen for a paused resource", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const paused = { ...k, object: { ...k.object, spec: { ...k.object.spec, paused: true } } };
      const { step } = decide(paused, v);
      assert(!isEffect(step) || !MUTATING.has(step), step);
    }),
    RUNS,
  );
});

Deno.test("D4: nothing that may change the cloud is chosen for a resource that only observes, and nothing is begun anew", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const spec = { ...k.object.spec, managementPolicy: "ObserveOnly" as const };
      const { step } = decide({ ...k, object: { ...k.object, spec } }, v);
      assert(!isEffect(step) || !MUTATING.has(step), step);
    }),
    RUNS,
  );
});

Deno.test("D5: no database is deleted for a terminating resource whose spec protects it", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      fc.pre(k.object.metadata.deletionTimestamp !== undefined);
      const spec = { ...k.object.spec, deletionProtection: true };
      assert(decide({ ...k, object: { ...k.object, spec } }, v).step !== "remove");
    }),
    RUNS,
  );
});

Deno.test("Rule 17: under Snapshot no database that was usable is deleted before the status names its snapshot", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const spec = { ...k.object.spec, deletionPolicy: "Snapshot" as const };
      const object = { ...k.object, spec };
      const { step, database: target, finalSnapshot } = decide({ ...k, object }, v);
      if (step !== "remove" || target?.endpoint === undefined) return;
      assertEquals(finalSnapshot, finalSnapshotName(object, target.id));
      assertEquals(object.status?.finalSnapshot, finalSnapshot);
      assertEquals(v.provider?.snapshots, true);
    }),
    RUNS,
  );
});

Deno.test("A2: nothing that may change the cloud is chosen under another account than the recorded one", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const { object } = k;
      fc.pre(object.status?.account !== undefined && v.provider?.account !== undefined);
      fc.pre(object.status?.account !== v.provider?.account && object.status?.providerId !== undefined);
      const { step } = decide(k, v);
      assert(!isEffect(step) || !MUTATING.has(step) && step !== "reincarnate", step);
    }),
    RUNS,
  );
});

Deno.test("S3: no recorded database of another owner is changed, discarded or deleted", () => {
  fc.assert(
    fc.property(knowledge, view, database, (k, v, d) => {
      fc.pre(k.object.status?.providerId !== undefined);
      fc.pre(d.tags[TAG.uid] !== UID || d.tags[TAG.cluster] !== "cluster-1");
      const seen = { ...d, id: k.object.status?.providerId ?? "" };
      const foreign = { ...k, observation: { kind: "present" as const, database: seen, sentAt: NOW } };
      const { step, database: target } = decide(foreign, v);
      const harms = ["modify", "discard", "create", "reincarnate"].includes(step) ||
        (step === "remove" && (target?.id ?? seen.id) === seen.id);
      assert(!harms, step);
    }),
    RUNS,
  );
});

Deno.test("S6: without any observation or lookup nothing is re-created and no finalizer goes on an absence", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const blind = { ...k, observation: undefined, lookup: undefined };
      const { step, cause } = decide(blind, v);
      assert(step !== "reincarnate" && cause !== "deleted", step);
    }),
    RUNS,
  );
});

Deno.test("rule 12: in a mass absence no recorded database is replaced, unless we removed it or a person confirmed", () => {
  fc.assert(
    fc.property(knowledge, view, (k, v) => {
      const { annotations: { [ANNOTATION.confirmAbsence]: _, ...annotations } = {}, ...metadata } =
        k.object.metadata;
      const status = { ...k.object.status, providerId: "db-1" };
      const absent: Knowledge = {
        ...k,
        object: { ...k.object, metadata: { ...metadata, annotations }, status },
        observation: { kind: "absent", id: "db-1", sentAt: k.lastReadAt },
        removals: {},
      };
      const { step, cause } = decide(absent, { ...v, massAbsent: true, massAbsence: true });
      assert(step !== "reincarnate" && cause !== "deleted", step);
    }),
    RUNS,
  );
});
