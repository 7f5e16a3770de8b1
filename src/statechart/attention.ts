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

/** The condition that says most: `Ready`, or `Synced` where that is True. */
export function sayingMost<T extends Said>(ready: T | undefined, synced: T | undefined): T | undefined {
  return ready?.status === "True" ? synced ?? ready : ready ?? synced;
}
