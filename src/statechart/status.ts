/**
 * The status that a decision gives the CR: pure, and without times, which the effect that writes it adds.
 *
 * @module
 */
import { ANNOTATION, PINNED_CLASS, TAG } from "../api/constants.ts";
import type { Condition, ExternalDatabase, ExternalDatabaseStatus } from "../api/schema.ts";
import { equal } from "../core/equal.ts";
import { bindingStatus } from "./binding.ts";
import type { Decision, Verdict } from "./decision.ts";
import { driftOf } from "./drift.ts";
import {
  isObserveOnly,
  isReadDue,
  isRefreshDue,
  mayBeShown,
  policiesOf,
  presentDatabase,
  specProblem,
} from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import { hasFinalizer } from "./resource.ts";
import { pendingRepairs } from "./repair.ts";
import { quotaVerdict } from "./quota.ts";
import { oneLine } from "./verdicts.ts";
import { CONDITION_TYPES, type ConditionType } from "./vocabulary.ts";

/** A condition without its time. */
export type TimelessCondition = Omit<Condition, "lastTransitionTime">;
/** A status without the times of its conditions. */
export type TimelessStatus = Omit<ExternalDatabaseStatus, "conditions"> & {
  readonly conditions: readonly TimelessCondition[];
};

type Draft = { -readonly [K in keyof TimelessStatus]: TimelessStatus[K] };

const OWN_CONDITIONS: readonly string[] = CONDITION_TYPES;

/** What the status is to be under a decision. What is not known stays as it was (C5: the endpoint is kept). */
export function statusOf(k: Knowledge, decision: Decision): TimelessStatus {
  const { object } = k;
  const before = object.status ?? {};
  const generation = object.metadata.generation;
  const database = presentDatabase(k);
  const conditions = [
    condition("Ready", decision.ready, generation),
    condition("Synced", decision.synced, generation),
  ];
  const status: Draft = {
    ...before,
    state: decision.state,
    observedGeneration: generation,
    conditions,
  };
  if (database !== undefined && before.providerId === database.id) {
    // Nobody is sent to a database that is neither the CR's (S3) nor one that it may look at.
    const own = database.tags[TAG.uid] === object.metadata.uid;
    const shown = own || (isObserveOnly(object) && mayBeShown(object, database));
    if (own) drop(status, "observeOnly"); // adopted
    if (shown && database.endpoint !== undefined) status.endpoint = database.endpoint;
    // What has come to be another namespace's is told of no more (D8).
    if (mayBeShown(object, database)) {
      status.providerState = database.providerState;
      const { engine, version, sizeGb, usedGb } = database;
      status.observed = { engine, version, sizeGb, ...(shown && usedGb !== undefined ? { usedGb } : {}) };
    }
    const quota = shown ? quotaVerdict(database) : undefined;
    if (quota !== undefined) conditions.push(condition("WithinQuota", quota, generation));
    if (database.state === "Available" && object.metadata.deletionTimestamp === undefined) {
      drop(status, "provisioningFailures");
      drop(status, "removing");
      drop(status, "finalSnapshot");
    }
    // One that is deleted without a snapshot must not seem to have one; once under way, it may have.
    if (policiesOf(object).deletion !== "Snapshot" && database.state !== "Deleting") {
      drop(status, "finalSnapshot");
    }
    // A spec that is not valid wants nothing that could be compared.
    const repair = specProblem(object) === undefined
      ? pendingRepairs(k.repair, driftOf(object.spec, database).change)
      : k.repair;
    if (repair.length > 0) status.repair = [...repair];
    else drop(status, "repair");
  }
  if (database === undefined && before.providerId !== undefined) {
    const last = before.conditions?.find(({ type }) => type === "WithinQuota");
    if (last !== undefined) conditions.push(withoutTime(last));
  }
  if (decision.finalSnapshot !== undefined) status.finalSnapshot = decision.finalSnapshot;
  const binding = bindingStatus(k);
  if (binding !== undefined) status.binding = binding;
  else drop(status, "binding");
  const className = before.className ?? begunUnder(object);
  if (className !== undefined && className !== "") status.className = className;
  if (decision.removing !== undefined) status.removing = decision.removing;
  // A mass absence that holds a deletion back was met before anything was sent: the next process must hold it too.
  else if (decision.synced.reason === "MassAbsence") drop(status, "removing");
  const asked = object.metadata.annotations?.[ANNOTATION.reconcile];
  if (asked !== undefined && isAnswered(k)) status.lastHandledReconcile = asked;
  const confirmed = object.metadata.annotations?.[ANNOTATION.confirmAbsence];
  // It is over once the database is there, whatever else is the matter: the next absence is another (rule 12).
  if (confirmed !== undefined && (decision.synced.status === "True" || isThere(k, decision))) {
    status.lastHandledConfirmation = confirmed;
  }
  return status;
}

/** Takes a field out. It stays, as undefined: an object that loses fields is slow from then on, and one is made at each decision. */
function drop(status: Draft, field: Exclude<keyof Draft, "state" | "conditions">): void {
  if (status[field] !== undefined) status[field] = undefined;
}

/** The class under which something was, or may have been, begun for a CR. */
function begunUnder(object: ExternalDatabase): string | undefined {
  if (hasFinalizer(object)) return object.metadata.annotations?.[PINNED_CLASS];
  return object.status?.providerId === undefined ? undefined : object.class?.name;
}

/** Whether the recorded database was seen, and no list that can be read has missed it since. */
function isThere(k: Knowledge, { synced }: Decision): boolean {
  const database = presentDatabase(k);
  return database !== undefined && database.id === k.object.status?.providerId &&
    synced.status !== "Unknown" && !isReadDue(k);
}

/** Whether what was asked for was done (F3): an observation; without a database, the next try to get one. */
function isAnswered(k: Knowledge): boolean {
  if (!isRefreshDue(k)) return true;
  // A stimulus forgets failures, so one that is known came after it.
  return k.object.status?.providerId === undefined && k.failure !== undefined;
}

function condition(type: ConditionType, verdict: Verdict, generation: number): TimelessCondition {
  return {
    type,
    status: verdict.status,
    reason: verdict.reason,
    message: oneLine(verdict.message),
    observedGeneration: generation,
  };
}

/** Whether a status says something else than the CR's, times apart. */
export function statusDiffers(before: ExternalDatabaseStatus | undefined, after: TimelessStatus): boolean {
  return changedFields(before, after).length > 0;
}

/** The fields of a status that say something else than the CR's, times apart, as text; empty when none does. */
export function statusChange(before: ExternalDatabaseStatus | undefined, after: TimelessStatus): string {
  const is: Readonly<Record<string, unknown>> = after;
  return changedFields(before, after).sort().map((field) => `${field}: ${canonical(is[field])}`).join("\n");
}

function changedFields(before: ExternalDatabaseStatus = {}, after: TimelessStatus): string[] {
  const was: Readonly<Record<string, unknown>> = before;
  const is: Readonly<Record<string, unknown>> = after;
  const changed: string[] = [];
  for (const field in is) {
    const same = field === "conditions"
      ? saySame(before.conditions ?? [], after.conditions)
      : equal(was[field], is[field]);
    if (!same) changed.push(field);
  }
  for (const field in was) if (!(field in is) && was[field] !== undefined) changed.push(field);
  return changed;
}

/** Whether the operator's own among the conditions before say what those after do. */
function saySame(before: readonly Condition[], after: readonly TimelessCondition[]): boolean {
  const own = OWN_CONDITIONS.flatMap((type) => before.find((c) => c.type === type) ?? []);
  return own.length === after.length &&
    own.every((condition, n) => equal({ ...condition, lastTransitionTime: undefined }, after[n]));
}

function withoutTime({ lastTransitionTime: _, ...rest }: Condition): TimelessCondition {
  return rest;
}

/** Conditions with their times: a condition keeps its time while its status stays, as `metav1.Condition` asks. Those of others are kept. */
export function withTimes(
  before: ExternalDatabaseStatus | undefined,
  after: readonly TimelessCondition[],
  time: string,
): Condition[] {
  const known = before?.conditions ?? [];
  const foreign = known.filter((c) => !OWN_CONDITIONS.includes(c.type));
  const own = after.map((c): Condition => {
    const same = known.find((k) => k.type === c.type);
    return { ...c, lastTransitionTime: same?.status === c.status ? same.lastTransitionTime : time };
  });
  return [...own, ...foreign];
}

/** JSON whose keys are in order. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(ordered(value));
}

function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
}
