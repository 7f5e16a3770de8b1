/**
 * What a decision is.
 *
 * @module
 */
import type { Change } from "./drift.ts";
import type { ExternalState } from "./knowledge.ts";
import type { Effect, Reason, TopState } from "./vocabulary.ts";

/** What a condition is to say. */
export interface Verdict {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  /** For the owner of the database: what is the matter, and what helps. */
  readonly message: string;
}

/** What to do when there is nothing to do now: wait for a time, for an event only, for a failed effect's next try, or stop. */
export type Rest = "wait" | "idle" | "backOff" | "end";

/** Why a finalizer goes. */
export type ReleaseCause = "deleted" | "neverCreated" | "retain" | "abandon" | "crdDeleted" | "observeOnly";

/** The one next thing to do, and what to say meanwhile. */
export interface Decision {
  readonly state: TopState;
  readonly step: Effect | Rest;
  /** For `wait`, `idle` and `backOff`: decide again after this many milliseconds; absent means on the next event. */
  readonly waitMs?: number | undefined;
  readonly ready: Verdict;
  readonly synced: Verdict;
  /** The rest waits for a settle window, in which a list may bring what ends it early (rule 5). */
  readonly settling?: boolean | undefined;
  /** The rest will be over in a moment, and nothing is said of it. */
  readonly quiet?: boolean | undefined;
  /** For `modify`. */
  readonly change?: Change | undefined;
  /** For `record`: the database to record; for `remove`, `discard` and `retain`: the one to act on, when known. */
  readonly database?: ExternalState | undefined;
  /** For the `report` before a `remove` or `discard`: the database that is about to be deleted. */
  readonly removing?: string | undefined;
  /** For the same `report`: the name of the final snapshot that the delete will ask for (rule 17). */
  readonly finalSnapshot?: string | undefined;
  /** For `release`. */
  readonly cause?: ReleaseCause | undefined;
}

/** Whether a step is an effect rather than a rest. */
export function isEffect(step: Effect | Rest): step is Effect {
  return step !== "wait" && step !== "idle" && step !== "backOff" && step !== "end";
}
