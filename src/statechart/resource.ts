/**
 * What a copy of a CR says by itself: whether it is ours, new, unbegun, and whether a newer one asks for something.
 *
 * @module
 */
import { ANNOTATION, FINALIZER, PINNED_CLASS } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";

/** Whether our finalizer is on the object. */
export function hasFinalizer(object: ExternalDatabase): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

/** Rule 1: new is only a CR with neither our finalizer nor anything in its status. */
export function isNew(object: ExternalDatabase): boolean {
  return !hasFinalizer(object) && (Object.keys(object.status ?? {}).length === 0 || isBarred(object));
}

/** What is said of a CR for which nothing can be begun yet. */
const BARRED: ReadonlySet<string | undefined> = new Set(["ClassMissing", "NotAllowed"]);
/** What may be said of a CR before anything is begun. */
const HELD: ReadonlySet<string | undefined> = new Set([...BARRED, "Paused", "InvalidSpec"]);

/** Whether all that was ever done for a CR is to say that its class lets nothing be begun. */
function isBarred(object: ExternalDatabase): boolean {
  return hasNothing(object) && BARRED.has(syncedReason(object));
}

/** Whether nothing can have been begun for a CR: our finalizer is not on it, and its status says why not. */
export function isUnbegun(object: ExternalDatabase): boolean {
  return !hasFinalizer(object) && hasNothing(object) && HELD.has(syncedReason(object));
}

/** Whether neither a status nor the pin of a class speaks of anything that was begun. */
function hasNothing({ metadata, status }: ExternalDatabase): boolean {
  return status?.providerId === undefined && status?.className === undefined &&
    status?.incarnation === undefined && metadata.annotations?.[PINNED_CLASS] === undefined;
}

function syncedReason({ status }: ExternalDatabase): string | undefined {
  return status?.conditions?.find((c) => c.type === "Synced")?.reason;
}

/** Whether the CR carries a `db.my.domain/reconcile` value that the status does not acknowledge (F3). */
export function reconcileDue(object: ExternalDatabase): boolean {
  const asked = object.metadata.annotations?.[ANNOTATION.reconcile];
  return asked !== undefined && asked !== object.status?.lastHandledReconcile;
}

/** Whether a newer copy of the CR resets back-off: rule 23. */
export function isStimulus(
  before: ExternalDatabase,
  after: ExternalDatabase,
  annotations: readonly string[],
): boolean {
  return before.metadata.generation !== after.metadata.generation ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    annotations.some((a) => before.metadata.annotations?.[a] !== after.metadata.annotations?.[a]);
}
