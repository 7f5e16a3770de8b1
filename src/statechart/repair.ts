/**
 * Repairs are counted per field (R6, S5): the third that did not stick is the last, until a person stirs or hours pass.
 *
 * @module
 */
import type { Repair } from "../api/schema.ts";
import type { Change } from "./drift.ts";
import type { Knowledge } from "./knowledge.ts";
import { reconcileDue } from "./resource.ts";
import type { View } from "./view.ts";

/** Repairs of one field towards one value before the operator stops (R6). */
export const MAX_REPAIRS = 3;
/** Time after which a given-up repair is tried again, in milliseconds (R6: hours). */
export const REPAIR_AGAIN_MS = 4 * 3_600_000;

const FIELDS: readonly Repair["field"][] = ["version", "sizeGb", "deletionProtection"];

/** The part of a change that may be sent now, and when the rest may. */
export function permitted(
  k: Knowledge,
  view: View,
  change: Change,
): { readonly change: Change; readonly againMs: number | undefined } {
  // Where the status cannot be written it never says that what a person asked for was heard (S5).
  const stirred = (k.repairsSince ?? 0) < MAX_REPAIRS &&
    (reconcileDue(k.object) || k.object.status?.observedGeneration !== k.object.metadata.generation);
  const sent: Record<string, Change[Repair["field"]]> = {};
  let againMs: number | undefined;
  for (const [field, value] of wishes(change)) {
    const known = k.repair.find((r) => r.field === field && r.wanted === String(value));
    const left = known === undefined || known.attempts < MAX_REPAIRS || stirred
      ? 0
      : Date.parse(known.lastAttemptTime) + REPAIR_AGAIN_MS - view.wallNow;
    // Further away than the wait itself is a wall clock that was set back: no reason to wait for years.
    if (left > 0 && left <= REPAIR_AGAIN_MS) againMs = Math.min(againMs ?? left, left);
    else sent[field] = value;
  }
  return { change: sent as Change, againMs };
}

/** What a change asks for, by field. */
function wishes(change: Change): (readonly [Repair["field"], NonNullable<Change[Repair["field"]]>])[] {
  return FIELDS.flatMap((field) => {
    const value = change[field];
    return value === undefined ? [] : [[field, value] as const];
  });
}

/** A change as one for each of its fields, those first that a provider is most likely to take. */
export function partsOf(change: Change): readonly Change[] {
  return wishes(change).map(([field, value]) => ({ [field]: value })).reverse();
}

/** The counts after a change was accepted; `time` is RFC 3339. */
export function countRepairs(repair: readonly Repair[], change: Change, time: string): readonly Repair[] {
  const wanted = new Map(wishes(change).map(([field, value]) => [field, String(value)]));
  const kept = repair.filter((r) => !wanted.has(r.field));
  const counted = [...wanted].map(([field, value]): Repair => {
    const before = repair.find((r) => r.field === field && r.wanted === value);
    return { field, wanted: value, attempts: (before?.attempts ?? 0) + 1, lastAttemptTime: time };
  });
  return [...kept, ...counted];
}

/** The counts that still matter: a field that is in step, or asks for another value, starts anew. */
export function pendingRepairs(repair: readonly Repair[], change: Change): readonly Repair[] {
  return repair.filter((r) => change[r.field] !== undefined && String(change[r.field]) === r.wanted);
}
