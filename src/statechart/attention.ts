/**
 * Which resources wait for a person: what the page puts first and the alerts speak of.
 *
 * @module
 */
import { REASON_MEANINGS } from "./reasons.ts";
import type { Reason } from "./vocabulary.ts";

/** The part of a condition that is judged. */
export interface Said {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
}

/** Whether a reason is one that waits for a person: it is tried again, but will hardly end by itself. */
export function waitsForPerson(reason: string): boolean {
  return Object.hasOwn(REASON_MEANINGS, reason) && REASON_MEANINGS[reason as Reason].turn === "person";
}

/** The condition that says most: `Ready`, or `Synced` where `Ready` is True and `Synced` is not. */
export function sayingMost<R extends Said | undefined, S extends Said>(
  ready: R,
  synced: S | undefined,
): R | S {
  if (ready === undefined) return synced ?? ready;
  return ready.status === "True" && synced !== undefined && synced.status !== "True" ? synced : ready;
}
