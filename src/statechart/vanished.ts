/**
 * A CR that vanished with our finalizer on it, while its database was being made (S2, C6).
 *
 * An API server looks at the finalizers when a DELETE begins, and removes the object some moments later whatever was
 * written in between (seen on 1.37: of a thousand DELETEs that crossed the finalizer's write three hundred removed the
 * object, finalizer and all). So a create may be under way for a CR that nothing holds any more. Its database is
 * deleted as if the CR were still there. That takes nothing from anyone: its id was never recorded, so that nobody
 * was ever told of it. Whatever a CR has named, or is not surely ours to delete, is reported as an orphan instead.
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import { incarnationOf, isAdopted, isObserveOnly, policiesOf, specOf, wasAdopted } from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import { hasFinalizer } from "./resource.ts";

/**
 * What is known, as if the vanished CR were being deleted and named its database; `undefined` where it did not vanish
 * so, or where nothing was made for it.
 */
export function vanished(k: Knowledge): Knowledge | undefined {
  const { object } = k;
  const { metadata, status } = object;
  // Born here and never recorded: this process alone has sent creates for it, and knows of each.
  if (!k.gone || k.released || !k.bornHere || !k.mayExist) return undefined;
  if (k.crdTerminating) return undefined; // rule 13
  if (!hasFinalizer(object) || metadata.deletionTimestamp !== undefined) return undefined;
  // It was recorded, or may have been, and a cluster that was restored or a status that was wiped since have forgotten
  // that: somebody may know of it.
  if (k.named) return undefined;
  const id = madeId(k);
  if (status?.providerId !== undefined || incarnationOf(object) > 1 || isAdopted(object, id)) {
    return undefined;
  }
  const { observation: seen } = k;
  if (seen?.kind === "present" && wasAdopted(object, seen.database)) return undefined;
  if (policiesOf(object, id).deletion !== "Delete" || specOf(object).paused || isObserveOnly(object)) {
    return undefined;
  }
  if (specOf(object).deletionProtection === true) return undefined;
  return {
    ...k,
    gone: false,
    object: {
      ...object,
      metadata: { ...metadata, deletionTimestamp: metadata.creationTimestamp ?? "1970-01-01T00:00:00Z" },
      // `removing` as the status would say it before the delete is sent: there is no status left to write.
      status: id === undefined ? status : { ...status, providerId: id, removing: id },
    },
  };
}

/** What a step of a deletion becomes without a CR: nothing can be written, and where the finalizer would go it is over. */
export function withoutResource(decision: Decision, over: Decision): Decision {
  if (decision.step === "record") return { ...decision, step: "idle" };
  return decision.step === "release" ? over : decision;
}

/** The id of what was made: by the create's answer, or by what was asked to go. */
function madeId(k: Knowledge): string | undefined {
  const { observation } = k;
  if (observation === undefined) return Object.keys(k.removals).at(-1);
  return observation.kind === "present" ? observation.database.id : observation.id;
}
