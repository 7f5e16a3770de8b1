/**
 * Repairs are counted per field (R6, S5): the third that did not stick is the last, until a person stirs or hours pass.
 *
 * @module
 */
import type { Repair } from "../api/schema.ts";
import type { Change } from "./drift.ts";
import type { Knowledge } from "./knowledge.ts";
import { reconcileDue } from "./knowledge.ts";
import type { View } from "./view.ts";

/** Repairs of one field towards one value before the operator stops (R6). */
export const MAX_REPAIRS = 3;
/** Time after which a given-up repair is tried again, in milliseconds (R6: hours). */
export const REPAIR_AGAIN_MS = 4 * 3_600_000;

/** The part of a change that may be sent now, and when the rest may. */
export function permitted(
  k: Knowledge,
  view: View,
  change: Change,
): { readonly change: Change; readonly againMs: number | undefined } {
  const stirred = reconcileDue(k.object) ||
    k.object.status?.observedGeneration !== k.object.metadata.generation;
  const sent: { version?: string; sizeGb?: number } = {};
  let againMs: number | undefined;
  const wait = (field: Repair["field"], wanted: string) => {
    const known = k.repair.find((r) => r.field === field && r.wanted === wanted);
    if (known === undefined || known.attempts < MAX_REPAIRS || stirred) return undefined;
    const left = Date.parse(known.lastAttemptTime) + REPAIR_AGAIN_MS - view.wallNow;
    // Further away than the wait itself is a wall clock that was set back: no reason to wait for years.
    return left > 0 && left <= REPAIR_AGAIN_MS ? left : undefined;
  };
  if (change.version !== undefined) {
    const left = wait("version", change.version);
    if (left === undefined) sent.version = change.version;
    else againMs = left;
  }
  if (change.sizeGb !== undefined) {
    const left = wait("sizeGb", String(change.sizeGb));
    if (left === undefined) sent.sizeGb = change.sizeGb;
    else againMs = Math.min(againMs ?? left, left);
  }
  return { change: sent, againMs };
}

/** The counts after a change was accepted; `time` is RFC 3339. */
export function countRepairs(repair: readonly Repair[], change: Change, time: string): readonly Repair[] {
  const wanted = new Map<Repair["field"], string>();
  if (change.version !== undefined) wanted.set("version", change.version);
  if (change.sizeGb !== undefined) wanted.set("sizeGb", String(change.sizeGb));
  const kept = repair.filter((r) => !wanted.has(r.field));
  const counted = [...wanted].map(([field, value]): Repair => {
    const before = repair.find((r) => r.field === field && r.wanted === value);
    return { field, wanted: value, attempts: (before?.attempts ?? 0) + 1, lastAttemptTime: time };
  });
  return [...kept, ...counted];
}

/** The counts that still matter: a field that is in step, or asks for another value, starts anew. */
export function pendingRepairs(repair: readonly Repair[], change: Change): readonly Repair[] {
  return repair.filter((r) =>
    r.field === "version" ? change.version === r.wanted : String(change.sizeGb) === r.wanted
  );
}
