/**
 * Events and log lines about what happened, for the owner of the CR (L4, F2).
 *
 * @module
 */
import type { Condition, ExternalDatabase } from "../../api/schema.ts";
import type { EventRecord } from "../../kube/port.ts";
import type { ReleaseCause } from "../../statechart/decision.ts";
import { quote } from "../../statechart/drift.ts";
import { presentDatabase } from "../../statechart/facts.ts";
import type { Knowledge } from "../../statechart/knowledge.ts";
import type { EffectEnv } from "./env.ts";

/** Records an Event about a CR. */
export function emit(
  env: EffectEnv,
  regarding: ExternalDatabase,
  event: Omit<EventRecord, "regarding">,
): void {
  env.recorder.record({ regarding, ...event });
}

/** Events for a status that says something new: what went wrong, or that all is well again. */
export function announceStatus(env: EffectEnv, before: ExternalDatabase, after: ExternalDatabase): void {
  announceQuota(env, before, after);
  const was = condition(before, "Synced");
  const is = condition(after, "Synced");
  if (is === undefined) return;
  const ready = condition(after, "Ready");
  if (ready?.status === "True" && isFirst(before)) {
    const age = env.clock.now() - Date.parse(after.metadata.creationTimestamp ?? "");
    if (Number.isFinite(age)) env.metrics.ready(env.gateway.databaseClass, age / 1_000);
  }
  if (is.status === "True" && ready?.status === "True") {
    if (was?.status === "True" && condition(before, "Ready")?.status === "True") return;
    emit(env, after, {
      type: "Normal",
      reason: "Available",
      action: "Observe",
      note: `${ready.message}; ${is.message.charAt(0).toLowerCase()}${is.message.slice(1)}`,
    });
    return;
  }
  // D4: what held the resource back before holds its deletion now, which is news.
  const begun = before.status?.state !== "Deleting" && after.status?.state === "Deleting";
  if ((was?.reason === is.reason && !begun) || QUIET.has(is.reason)) return;
  emit(env, after, {
    type: is.reason === "Paused" ? "Normal" : "Warning",
    reason: is.reason,
    action: after.metadata.deletionTimestamp === undefined ? "Reconcile" : "Delete",
    note: is.message,
  });
}

/** That the database outgrew its quota, once however far it grows, and that it is within it again. */
function announceQuota(env: EffectEnv, before: ExternalDatabase, after: ExternalDatabase): void {
  const is = condition(after, "WithinQuota");
  const within = is?.status !== "False";
  if (is === undefined || within === (condition(before, "WithinQuota")?.status !== "False")) return;
  emit(env, after, {
    type: within ? "Normal" : "Warning",
    reason: is.reason,
    action: "Observe",
    note: is.message,
  });
}

/** Reasons of the ordinary course, which the Events of create, change and delete tell already. */
const QUIET: ReadonlySet<string> = new Set(["Pending", "Creating", "Updating", "Deleting"]);

const RELEASED: Record<ReleaseCause, { readonly reason: string; readonly words: (id: string) => string }> = {
  deleted: { reason: "Deleted", words: (id) => `The database ${id} is deleted` },
  neverCreated: { reason: "Deleted", words: () => "No database was ever created" },
  retain: {
    reason: "Retained",
    words: (id) => `The database ${id} is kept (deletionPolicy Retain) and marked as retained`,
  },
  abandon: {
    reason: "Abandoned",
    words: (id) => `The database ${id} is left as it is, as the abandon annotation asks`,
  },
  observeOnly: {
    reason: "Released",
    words: (id) => `The database ${id} is left as it is, as it was only observed`,
  },
  crdDeleted: {
    reason: "Retained",
    words: (id) => `The database ${id} is kept, as the CustomResourceDefinition itself is being deleted`,
  },
};

/** Says in Event, log and metric why the finalizer went, and names what is left behind (rule 16). */
export function announceRelease(
  env: EffectEnv,
  object: ExternalDatabase,
  cause: ReleaseCause,
  k: Knowledge,
): void {
  const id = object.status?.providerId ?? presentDatabase(k)?.id;
  const { reason, words } = RELEASED[cause];
  const note = id === undefined && cause === "deleted"
    ? "No database carries this resource's UID"
    : kept(cause, k)
    ? words(id === undefined ? "(none known)" : quote(id))
    : `The database ${quote(id ?? "")} was to be kept, but is gone or being deleted at the provider`;
  emit(env, object, { type: cause === "abandon" ? "Warning" : "Normal", reason, action: "Delete", note });
  const left = cause !== "deleted" && cause !== "neverCreated";
  if (left) env.metrics.released(cause);
  env.log.log(left ? "warn" : "info", note, {
    namespace: object.metadata.namespace,
    name: object.metadata.name,
    uid: object.metadata.uid,
    providerId: id,
    cause,
  });
}

/** Whether a database that was to be kept can be: nobody is told so of one that was last seen gone, or on its way. */
function kept(cause: ReleaseCause, k: Knowledge): boolean {
  const { observation } = k;
  if (cause !== "retain" || observation === undefined) return true;
  return observation.kind === "present" && observation.database.state !== "Deleting";
}

/** Whether a resource as it was before it became Ready had never been Ready: a lost database is another matter. */
function isFirst(before: ExternalDatabase): boolean {
  const ready = condition(before, "Ready");
  if (ready?.status === "True" || before.status?.losses !== undefined) return false;
  const state = before.status?.state ?? "Pending";
  if (state === "Pending" || state === "Creating") return true;
  // It serves, and waits for the first password of its connection Secret.
  return state === "Available" && ready?.reason === "SecretPending" &&
    before.status?.binding?.revision === undefined;
}

function condition(object: ExternalDatabase, type: string): Condition | undefined {
  return object.status?.conditions?.find((c) => c.type === type);
}
