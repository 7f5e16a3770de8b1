/**
 * Databases that vanish again and again: each is created anew, after a wait that grows with their number and that the
 * status keeps, so that a restart does not forget it (rule 7, S5).
 *
 * @module
 */
import type { ExternalDatabaseStatus } from "../api/schema.ts";
import { type BackoffPolicy, growingMs } from "../core/backoff.ts";
import type { Knowledge } from "./knowledge.ts";
import { reconcileDue } from "./resource.ts";
import type { View } from "./view.ts";

/** Wait before the second in a row is created anew, doubled for each that follows, and the longest. */
const WAIT: BackoffPolicy = { baseMs: 60_000, capMs: 900_000 };
/** A loss that comes so long after the last one, in milliseconds, is the first of a new row. */
const ROW_MS = 4 * 3_600_000;

/** Losses in a row so far. */
export function lossesInARow(status: ExternalDatabaseStatus | undefined, wallNow: number): number {
  const last = Date.parse(status?.lastLossTime ?? "");
  return Number.isNaN(last) || wallNow - last > ROW_MS ? 0 : status?.losses ?? 0;
}

/** Milliseconds until a lost database may be created anew: none for the first, and none when a person asks. */
export function recreationWaitMs(k: Knowledge, view: View): number {
  const { status, metadata } = k.object;
  const losses = lossesInARow(status, view.wallNow);
  if (losses === 0 || reconcileDue(k.object) || status?.observedGeneration !== metadata.generation) return 0;
  const wait = growingMs(WAIT, losses - 1);
  const left = Date.parse(status?.lastLossTime ?? "") + wait - view.wallNow;
  // A loss that is long to come was written by a wall clock that was wrong: when it was nobody can say. One that is a
  // little ahead is waited for.
  return left > 2 * wait ? 0 : Math.max(left, 0);
}
