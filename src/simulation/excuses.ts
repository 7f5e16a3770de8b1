/**
 * The cells of the coverage table that no world reaches, each with its reason, and those that only some worlds in
 * thousands reach.
 *
 * @module
 */
import type { TopState } from "../statechart/vocabulary.ts";
import type { FaultName } from "./faults.ts";

/** Cells that cannot be reached. */
export interface Excuse {
  readonly faults: readonly FaultName[];
  readonly states: readonly TopState[];
  readonly why: string;
}

/** In writing. */
export const EXCUSES: readonly Excuse[] = [
  {
    faults: [
      "cloud throttled",
      "cloud busy",
      "cloud exists",
      "cloud unauthorised",
      "cloud rejected",
      "hidden by read lag",
    ],
    states: ["Finalized"],
    why:
      "An actor that is Finalized has ended and makes no call; a read that it gave up at its end is retryable, and a mutating call is not left before its answer (rule 14).",
  },
  {
    faults: ["kube conflict", "kube invalid"],
    states: ["Finalized"],
    why: "Nothing is written for a resource whose actor has ended; only the watch for orphans reads it.",
  },
  {
    faults: ["cloud exists"],
    states: ["Pending", "Available", "Drifted", "Deleting"],
    why: "Only a create meets an earlier one, and creates are sent in Creating alone.",
  },
  {
    faults: ["cloud rejected"],
    states: ["Available"],
    why:
      "Available sets passwords, which every cloud takes that says it can, and sends no other mutating call; a read is never rejected.",
  },
  {
    faults: ["hidden by read lag"],
    states: ["Available"],
    why: "Available makes no lookup: it reads its database by id, which knows no lag.",
  },
  {
    faults: ["provisioning fails"],
    states: ["Finalized"],
    why: "Nothing is observed or written for a resource whose actor has ended.",
  },
];

/** Cells that few worlds reach. */
export interface Rare {
  readonly fault: FaultName;
  readonly states: readonly TopState[];
}

/** Campaigns of at least this many seeds must reach the rare cells too. */
export const RARE_SEEDS = 30_000;

/** Reached by fewer than one world in three hundred: neither demanded of a smaller campaign nor forbidden. */
export const RARE: readonly Rare[] = [
  { fault: "dies before", states: ["Finalized"] },
  { fault: "dies sent", states: ["Finalized"] },
  { fault: "dies answered", states: ["Finalized"] },
  { fault: "stopped", states: ["Finalized"] },
  { fault: "lost its lease", states: ["Creating", "Drifted", "Deleting", "Finalized"] },
  { fault: "cloud absent", states: ["Pending", "Finalized"] }, // an actor ends while its call is under way
  { fault: "cloud busy", states: ["Pending", "Creating", "Drifted"] },
  { fault: "cloud unknown", states: ["Pending", "Finalized"] },
  { fault: "cloud rejected", states: ["Pending", "Creating", "Drifted"] },
  { fault: "cloud stall", states: ["Finalized"] },
  { fault: "late effect", states: ["Available"] },
  { fault: "hidden by read lag", states: ["Creating", "Drifted"] },
  { fault: "provisioning fails", states: ["Pending", "Available", "Drifted"] },
  { fault: "grows by itself", states: ["Pending"] },
  { fault: "console grow", states: ["Pending"] },
  { fault: "console shrink", states: ["Pending"] },
  { fault: "console version", states: ["Pending"] },
  { fault: "console full", states: ["Pending"] },
  { fault: "console fail", states: ["Pending", "Drifted"] },
  { fault: "console protect", states: ["Pending", "Deleting"] },
  { fault: "duplicate", states: ["Pending", "Drifted"] },
  { fault: "retag", states: ["Pending", "Drifted"] },
  { fault: "kube notFound", states: ["Creating", "Available", "Drifted"] },
  { fault: "kube throttled", states: ["Finalized"] },
  { fault: "kube unauthorised", states: ["Pending", "Finalized"] },
  { fault: "kube forbidden", states: ["Pending", "Drifted", "Finalized"] },
  { fault: "kube server", states: ["Finalized"] },
  { fault: "kube unavailable", states: ["Finalized"] },
  { fault: "kube network", states: ["Finalized"] },
  { fault: "kube timeout", states: ["Finalized"] },
  { fault: "stale list", states: ["Finalized"] },
  { fault: "cluster unavailable", states: ["Finalized"] },
  { fault: "cluster unauthorised", states: ["Finalized"] },
  { fault: "cluster forbidden", states: ["Finalized"] },
  { fault: "deleteCrd", states: ["Finalized"] },
  { fault: "crossDelete", states: ["Drifted", "Finalized"] },
  { fault: "abandon", states: ["Finalized"] },
  { fault: "stripFinalizers", states: ["Finalized"] },
  { fault: "stripStatus", states: ["Finalized"] },
  { fault: "editStatus", states: ["Pending", "Finalized"] },
];
