/**
 * Makers of the plain data that decisions are made of: a CR, a database, a view, and what an actor knows.
 *
 * @module
 */
import { API_VERSION, FINALIZER, KIND, OPERATOR_NAME, TAG } from "../../src/api/constants.ts";
import type {
  Condition,
  ExternalDatabase,
  ExternalDatabaseSpec,
  ExternalDatabaseStatus,
} from "../../src/api/schema.ts";
import { type ExternalState, initialKnowledge, type Knowledge } from "../../src/statechart/knowledge.ts";
import type { View } from "../../src/statechart/view.ts";

/** UID of the CR under test. */
export const UID = "00000000-0000-4000-8000-000000000001";
/** Monotonic time of every table's moment. */
export const NOW = 1_000_000;
/** Wall time of every table's moment. */
export const WALL = Date.parse("2026-01-01T00:00:00Z");
/** The settle window of {@linkcode view}. */
export const SETTLE = 11_000;

/** What a CR under test differs in. */
export interface CrChange {
  readonly meta?: Partial<ExternalDatabase["metadata"]>;
  readonly spec?: Partial<ExternalDatabaseSpec>;
  readonly status?: ExternalDatabaseStatus;
}

/** A CR that has our finalizer and nothing else. */
export function cr(change: CrChange = {}): ExternalDatabase {
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      name: "orders",
      namespace: "default",
      uid: UID,
      resourceVersion: "100",
      generation: 1,
      finalizers: [FINALIZER],
      ...change.meta,
    },
    spec: { engine: "postgres", version: "14.2", sizeGb: 20, ...change.spec },
    status: change.status ?? {},
  };
}

/** A CR that is being deleted. */
export function deleting(change: CrChange = {}): ExternalDatabase {
  return cr({ ...change, meta: { deletionTimestamp: "2026-01-01T00:00:00Z", ...change.meta } });
}

/** A condition of generation 1. */
export function condition(
  type: "Ready" | "Synced",
  status: Condition["status"] = "True",
  reason = "Available",
): Condition {
  return {
    type,
    status,
    reason,
    message: "as before",
    observedGeneration: 1,
    lastTransitionTime: "2025-12-31T00:00:00Z",
  };
}

/** The status of a CR whose database `db-1` is in step. */
export function inStep(change: Partial<ExternalDatabaseStatus> = {}): ExternalDatabaseStatus {
  return {
    state: "Available",
    providerId: "db-1",
    account: "acct",
    incarnation: 1,
    endpoint: "db-1.example:5432",
    providerState: "Available",
    observedGeneration: 1,
    observed: { engine: "postgres", version: "14.2", sizeGb: 20 },
    conditions: [condition("Ready"), condition("Synced")],
    ...change,
  };
}

/** The tags of the CR's own database. */
export function tags(more: Record<string, string> = {}): Record<string, string> {
  return {
    [TAG.crName]: "orders",
    [TAG.uid]: UID,
    [TAG.namespace]: "default",
    [TAG.cluster]: "cluster-1",
    [TAG.incarnation]: "1",
    [TAG.managedBy]: OPERATOR_NAME,
    ...more,
  };
}

/** The CR's database, in step. */
export function db(change: Partial<ExternalState> = {}): ExternalState {
  const state = change.state ?? "Available";
  return {
    id: "db-1",
    engine: "postgres",
    version: "14.2",
    sizeGb: 20,
    state,
    providerState: state,
    ...(state === "Available" || state === "Modifying" ? { endpoint: "db-1.example:5432" } : {}),
    tags: tags(),
    createdAt: "2025-12-31T00:00:00Z",
    ...change,
  };
}

/** An observation of a database, sent `ageMs` ago. */
export function seen(database: ExternalState = db(), ageMs = 100): Knowledge["observation"] {
  return { kind: "present", database, sentAt: NOW - ageMs };
}

/** An absence of `db-1`, read `ageMs` ago. */
export function absent(ageMs = 100, id = "db-1"): Knowledge["observation"] {
  return { kind: "absent", id, sentAt: NOW - ageMs };
}

/** What an actor knows that began long ago. */
export function known(object: ExternalDatabase, change: Partial<Knowledge> = {}): Knowledge {
  return { ...initialKnowledge(object, NOW - 100), ...change };
}

/** A provider with tokens, 1 s read lag and 10 s effect bound, known long ago; the last list was sent just now. */
export function view(change: Partial<View> = {}): View {
  return {
    now: NOW,
    wallNow: WALL,
    provider: { account: "acct", clientTokens: true, readLagMs: 1_000, effectBoundMs: 10_000 },
    accountAt: NOW,
    accountWords: Array.from({ length: 600 }, (_, i) => NOW - 1_000 * (599 - i)),
    accountSince: Number.NEGATIVE_INFINITY,
    providerError: undefined,
    settleSince: 0,
    clusterId: "cluster-1",
    pollMs: 300_000,
    cacheTtlMs: 300_000,
    massAbsent: false,
    massAbsence: false,
    massAbsenceOverAt: Number.NEGATIVE_INFINITY,
    crowded: false,
    roundAt: NOW,
    ...change,
  };
}

/** A provider without client tokens. */
export const TOKENLESS: NonNullable<View["provider"]> = {
  account: "acct",
  clientTokens: false,
  readLagMs: 1_000,
  effectBoundMs: 10_000,
};
