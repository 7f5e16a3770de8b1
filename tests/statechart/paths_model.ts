/**
 * A small world for walks through the pure machine: where an actor may start, and what may happen to it next. Time
 * stands still; what is old or new is said by the facts themselves.
 *
 * @module
 */
import type { AnyMachineSnapshot, SnapshotFrom } from "xstate";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { factsOf, factsText, type SecretSeen } from "../../src/binding/facts.ts";
import { wantedFacts } from "../../src/statechart/binding.ts";
import type { DatabaseInput } from "../../src/statechart/context.ts";
import { isEffect } from "../../src/statechart/decision.ts";
import type { ExternalState, Knowledge } from "../../src/statechart/knowledge.ts";
import type { Learned } from "../../src/statechart/learned.ts";
import type { DatabaseMachine } from "../../src/statechart/machine.ts";
import { statusChange, statusOf, withTimes } from "../../src/statechart/status.ts";
import { StepError } from "../../src/statechart/step_error.ts";
import type { Effect } from "../../src/statechart/vocabulary.ts";
import type { View } from "../../src/statechart/view.ts";
import { cr, db, inStep, NOW, tags, view } from "./support.ts";

/** A machine's snapshot. */
export type Snapshot = SnapshotFrom<DatabaseMachine>;
/** An event of a walk; the machine's own and XState's. */
export type WalkEvent = { readonly type: string } & Record<string, unknown>;

const DELETED = "2026-01-01T00:00:00Z";
/** A read that is due again. */
const OLD = NOW - 60_000;

function start(object: ExternalDatabase, change: Partial<View> = {}): DatabaseInput {
  return { object, world: { view: () => view(change), random: { next: () => 0.5 } } };
}

const deleting = { deletionTimestamp: DELETED };

/** A provider that sets passwords, and whose changes of before this process are all over. */
const ASKED: Partial<View> = {
  provider: {
    account: "acct",
    clientTokens: true,
    readLagMs: 1_000,
    effectBoundMs: 10_000,
    name: "simulated",
    passwords: "asked",
  },
};
const ACCESS = { type: "postgresql", database: "orders", username: "dbadmin" };

/** Where walks begin. */
export const STARTS: Readonly<Record<string, DatabaseInput>> = {
  "a new resource": start(cr({ meta: { finalizers: [] } })),
  "a resource with a finalizer": start(cr()),
  "a resource in a fresh process": start(cr(), { settleSince: NOW }),
  "a resource that adopts": start(cr({ spec: { providerId: "db-9" } })),
  "a resource that only observes": start(
    cr({ meta: { finalizers: [] }, spec: { providerId: "db-9", managementPolicy: "ObserveOnly" } }),
  ),
  "a database in step": start(cr({ status: inStep() })),
  "a database that is created": start(cr({ status: inStep({ state: "Creating", endpoint: undefined }) })),
  "a database that drifted": start(cr({ status: inStep({ state: "Drifted" }) })),
  "a database that failed twice": start(
    cr({ status: inStep({ state: "Creating", endpoint: undefined, provisioningFailures: 2 }) }),
  ),
  "a database that lost its tags": start(
    cr({ status: inStep({ state: "Drifted" }), spec: { providerId: "db-1" } }),
  ),
  "a database that a person asks after": start(
    cr({ status: inStep(), meta: { annotations: { [ANNOTATION.reconcile]: "1" } } }),
  ),
  "a database of an unknown account": start(cr({ status: inStep({ account: "other" }) })),
  "a database whose provider is silent": start(cr({ status: inStep() }), { provider: undefined }),
  "a database in a mass absence": start(cr({ status: inStep() }), { massAbsent: true, massAbsence: true }),
  "a new resource that asks for a Secret": start(
    cr({ meta: { finalizers: [] }, spec: { connectionSecretRef: {} } }),
    ASKED,
  ),
  "a database whose Secret is asked for": start(
    cr({ status: inStep(), spec: { connectionSecretRef: {} } }),
    { ...ASKED, secretsListed: true },
  ),
  "a database that drifts under a Secret": start(
    cr({ status: inStep(), spec: { connectionSecretRef: {}, driftPolicy: "Report", sizeGb: 50 } }),
    { ...ASKED, secretsListed: true },
  ),
  "a database without an endpoint whose Secret is there": start(
    cr({ status: inStep({ state: "Creating", endpoint: undefined }), spec: { connectionSecretRef: {} } }),
    {
      ...ASKED,
      secrets: [{
        kind: "ours",
        name: "orders-connection",
        uid: "secret-1",
        resourceVersion: "1",
        revision: "r1",
        facts: factsText(factsOf("simulated", "postgres", { access: ACCESS })),
      }],
    },
  ),
  "a database whose Secret is asked for no more": start(
    cr({ status: inStep({ binding: { name: "orders-connection" } }) }),
    ASKED,
  ),
  "a deletion": start(cr({ meta: deleting, status: inStep() })),
  "a deletion in a fresh process": start(cr({ meta: deleting }), { settleSince: NOW }),
  "a deletion whose provider is silent": start(cr({ meta: deleting, status: inStep() }), {
    provider: undefined,
    providerError: "no route",
  }),
};

/** What merges the states of a walk: all that a decision turns on, coarsely. */
export function serialize(snapshot: AnyMachineSnapshot): string {
  const { value, context: { knowledge: k, decision } } = snapshot as Snapshot;
  const { metadata, spec, status } = k.object;
  const seen = (d: ExternalState) =>
    `${d.id} ${d.state} ${d.sizeGb} ${d.tags[TAG.uid] ?? "-"} ${d.access && d.endpoint}`;
  return JSON.stringify([
    value,
    isEffect(decision.step) ? "" : decision.synced.reason,
    metadata.deletionTimestamp !== undefined,
    metadata.finalizers?.length,
    spec.paused,
    spec.providerId,
    spec.sizeGb,
    spec.deletionPolicy,
    spec.managementPolicy,
    status?.observeOnly,
    status?.finalSnapshot,
    status?.providerId,
    status?.state,
    status?.removing,
    k.observation?.kind === "present" ? seen(k.observation.database) : k.observation?.id,
    k.lookup?.found.map(seen),
    Object.keys(k.failures),
    Object.keys(k.removals),
    k.secret?.kind === "ours" ? [k.secret.revision, k.secret.facts] : k.secret?.kind,
    k.passwordSet?.revision,
    [k.gone, k.provenNew, k.mayExist, k.retained, k.createExists, k.unlistedAt !== undefined],
  ]);
}

/** Everything that may happen next. */
export function eventsAt(snapshot: AnyMachineSnapshot): WalkEvent[] {
  const s = snapshot as Snapshot;
  const [leaf] = s._nodes.filter((n) => Object.keys(n.states).length === 0);
  const all: WalkEvent[] = [
    ...objects(s.context.knowledge).map((object) => ({ type: "object.changed", object })),
    { type: "object.gone" },
    { type: "external.listed", database: db(), sentAt: NOW, duplicates: [] },
    { type: "external.listed", database: db({ tags: {} }), sentAt: NOW, duplicates: ["db-2"] },
    { type: "external.found", found: [db()], sentAt: NOW },
    { type: "external.unlisted", sentAt: NOW },
    { type: "external.unreadable", errorClass: "throttled", message: "no" },
    { type: "binding.changed", gone: "secret-1" },
    { type: "world.changed" },
  ];
  const own: WalkEvent[] = [...leaf?.transitions.keys() ?? []].flatMap((type): WalkEvent[] => {
    const effect = leaf?.key as Effect;
    if (type.startsWith("xstate.done.actor.")) return outcomes(effect, s).map((output) => ({ type, output }));
    if (type.startsWith("xstate.error.actor.")) return errors(effect).map((error) => ({ type, error }));
    return type.startsWith("xstate.after.") ? [{ type }] : [];
  });
  return [...own, ...all.filter((e) => leaf?.transitions.has(e.type as never))];
}

type Meta = ExternalDatabase["metadata"];

/** A newer copy of the CR. */
function newer(
  k: Knowledge,
  change: { meta?: Partial<Meta>; spec?: object; status?: ExternalDatabase["status"] },
): ExternalDatabase {
  const { object } = k;
  const { metadata } = object;
  return {
    ...object,
    metadata: {
      ...metadata,
      resourceVersion: String(Number(metadata.resourceVersion) + 1),
      generation: metadata.generation + (change.spec === undefined ? 0 : 1),
      ...change.meta,
    },
    spec: { ...object.spec, ...change.spec },
    status: change.status ?? object.status ?? {},
  };
}

/** What users and other processes do to the CR. */
function objects(k: Knowledge): ExternalDatabase[] {
  const { metadata, spec, status } = k.object;
  const { deletionTimestamp: _, ...alive } = metadata;
  const back = {
    ...newer(k, {}),
    metadata: { ...alive, resourceVersion: newer(k, {}).metadata.resourceVersion },
  };
  return [
    newer(k, { meta: { labels: { a: "b" } } }),
    newer(k, { spec: { sizeGb: 50 } }),
    newer(k, { spec: { paused: !spec.paused } }),
    newer(k, { spec: { deletionPolicy: "Retain" } }),
    newer(k, { spec: { providerId: spec.providerId === undefined ? "db-9" : undefined } }),
    newer(k, { meta: { finalizers: [] } }),
    newer(k, { meta: { annotations: { [ANNOTATION.abandon]: metadata.uid } } }),
    newer(k, { meta: { annotations: { [ANNOTATION.reconcile]: "1" } } }),
    newer(k, { status: {} }),
    newer(k, { status: inStep(status?.providerId === undefined ? {} : { providerId: "db-2" }) }),
    ...(metadata.deletionTimestamp === undefined ? [newer(k, { meta: deleting })] : [back]), // a cluster restored from a backup
  ];
}

/** What an effect may bring. */
function outcomes(effect: Effect, s: Snapshot): Learned[] {
  const { context: { knowledge: k, decision } } = s;
  const status = k.object.status ?? {};
  const { spec } = k.object;
  const named = spec.managementPolicy === "ObserveOnly" ? spec.providerId : undefined;
  const id = status.providerId ?? decision.database?.id ?? named ?? "db-1";
  const see = (change: Partial<ExternalState> = {}, sentAt = NOW): Learned => ({
    observation: { kind: "present", database: db({ id, ...change }), sentAt },
  });
  const lookup = (...found: ExternalState[]): Learned => ({ lookup: { found, sentAt: NOW } });
  const absent: Learned = { observation: { kind: "absent", id, sentAt: NOW } };
  const reads: Learned[] = [
    see(),
    see({ state: "Provisioning" }, OLD),
    see({ state: "Modifying" }),
    see({ state: "Deleting" }),
    see({ state: "Failed" }),
    see({ sizeGb: 10 }),
    ...(k.object.spec.connectionSecretRef === undefined
      ? []
      : [see({ access: ACCESS }), see({ access: ACCESS, endpoint: undefined })]),
    see({ tags: {} }),
    see({ tags: tags({ [TAG.uid]: "someone" }) }),
  ];
  switch (effect) {
    case "finalize": {
      const object = newer(k, { meta: { finalizers: [FINALIZER] } });
      return [{ object, finalizerWritten: true, finalizerWrittenOnNew: true }, {
        object,
        finalizerOfAnother: true,
      }];
    }
    case "lookup":
      return [lookup(), lookup(db()), lookup(db({ state: "Deleting" })), lookup(db({ id: "db-2" }))];
    case "observe":
      return [...reads, absent];
    case "confirm":
      return [...reads, { ...absent, ...lookup() }, { ...absent, ...lookup(db({ id: "db-2" })) }];
    case "adopt":
      return [{ ...see({ id: "db-9" }), tagged: { id: "db-9", at: OLD } }, { object: newer(k, {}) }];
    case "create":
      return [{ ...see({ state: "Provisioning" }), create: { outcome: "answered", at: NOW } }];
    case "record":
      return [{
        object: newer(k, { status: { ...inStep(), ...status, state: "Creating", providerId: id } }),
      }];
    case "modify":
      return [{ ...see({ state: "Modifying" }), modify: { outcome: "answered", at: NOW } }];
    case "bind":
      return [{ secret: { kind: "unasked" } }, ...[1, 2].map((n) => ({ secret: secret(s, n) }))];
    case "setPassword": {
      const revision = k.secret?.kind === "ours" ? k.secret.revision ?? "" : "";
      return [{ passwordSet: { id, revision }, modify: { outcome: "answered", at: NOW } }];
    }
    case "discard":
    case "remove":
      return [{ removed: { id, at: OLD } }];
    case "reincarnate": {
      const { providerId: __, ...rest } = status;
      return [{ object: newer(k, { status: { ...rest, incarnation: (status.incarnation ?? 1) + 1 } }) }];
    }
    case "retain":
      return [{ retained: true }];
    case "release":
      return [{ object: newer(k, { meta: { finalizers: [] } }), released: true }, { gone: true }];
    case "report": {
      const said = statusOf(k, decision);
      const conditions = withTimes(status, said.conditions, DELETED);
      const object = newer(k, { status: { ...said, conditions } });
      const { resourceVersion } = object.metadata;
      return [{ object, reported: { text: statusChange(status, said), resourceVersion } }];
    }
  }
}

/** The Secret, in order. */
function secret({ context: { knowledge, world } }: Snapshot, n: number): SecretSeen {
  return {
    kind: "ours",
    name: "orders-connection",
    uid: "secret-1",
    resourceVersion: String(n),
    revision: `r${n}`,
    facts: factsText(wantedFacts(knowledge, world.view(knowledge.object))),
  };
}

/** How an effect may fail. */
function errors(effect: Effect): unknown[] {
  const refused = new StepError("kubernetes", "The API server is away");
  if (effect !== "create") return [refused];
  const failed = (outcome: "unknown" | "exists") =>
    new StepError(outcome, "no", {
      code: "TokenUsed",
      learned: { create: { outcome, at: NOW, code: "TokenUsed" } },
    });
  return [refused, failed("unknown"), failed("exists")];
}
