/**
 * The situations that docs/describe.md shows: how each comes about, and what `kubectl describe` must say in it.
 *
 * @module
 */
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import type { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import type { Kube } from "../support/kube.ts";

/** What a situation works with. */
export interface Stage {
  readonly kube: Kube;
  readonly cloud: SimulatedCloud;
  /** Runs kubectl in the namespace; throws what it says when it fails. */
  readonly kubectl: (...args: string[]) => Promise<string>;
  /** Applies a resource and waits until it is Ready. */
  readonly ready: (name: string, spec?: Record<string, unknown>) => Promise<void>;
  readonly apply: (name: string, spec?: Record<string, unknown>) => Promise<void>;
  /** The database's id. */
  readonly idOf: (name: string) => Promise<string>;
}

/** One situation. */
export interface Situation {
  readonly title: string;
  /** The resource. */
  readonly name: string;
  /** What happened, for the page. */
  readonly story: string;
  /** Makes it happen. */
  readonly bring: (stage: Stage) => Promise<void>;
  /** Reason of the condition that it shows on. */
  readonly reason: string;
  readonly on: "Ready" | "Synced";
  /** What its message must say: why. */
  readonly why: RegExp;
  /** And what follows, or helps. */
  readonly next: RegExp;
  /** Reasons of its Events, in any order; repetitions of the same words are one. */
  readonly events: readonly string[];
}

const merge = (patch: unknown) => ["--type=merge", "-p", JSON.stringify(patch)];

/** In the order in which they are brought about: the last stops the whole account. */
export const SITUATIONS: readonly Situation[] = [
  {
    title: "Healthy",
    name: "orders",
    story: "Created, made by the provider, and in step.",
    bring: ({ ready }) => ready("orders"),
    reason: "Available",
    on: "Ready",
    why: /^The database accepts connections at /,
    next: / at \S+:5432$/,
    events: ["Created", "Available"],
  },
  {
    title: "Paused",
    name: "catalogue",
    story: "`spec.paused` was set to true.",
    bring: async ({ ready, kubectl }) => {
      await ready("catalogue");
      await kubectl("patch", "edb", "catalogue", ...merge({ spec: { paused: true } }));
    },
    reason: "Paused",
    on: "Synced",
    why: /^Paused by spec\.paused/,
    next: /until it is false/,
    events: ["Created", "Available", "Paused"],
  },
  {
    title: "Rejected spec",
    name: "reports",
    story: "The spec asks for a version that the provider does not offer.",
    bring: ({ apply }) => apply("reports", { version: "99" }),
    reason: "CreateFailed",
    on: "Ready",
    why: /InvalidParameter: Version 99 of postgres is not offered/,
    next: /an edit of the spec is tried at once \(retry step \d, the next within \d+ (s|min)\)/,
    events: ["CreateFailed"],
  },
  {
    title: "Deletion-protected",
    name: "ledger",
    story: "`kubectl delete` was run on a resource whose spec says `deletionProtection: true`.",
    bring: async ({ ready, kubectl }) => {
      await ready("ledger", { deletionProtection: true });
      await kubectl("delete", "edb", "ledger", "--wait=false");
    },
    reason: "DeletionProtected",
    on: "Synced",
    why: /is not deleted, as spec\.deletionProtection is true/,
    next: /set it to false, or set deletionPolicy to Retain/,
    events: ["Created", "Available", "DeletionProtected"],
  },
  {
    title: "Conflict",
    name: "copy-of-orders",
    story: "`spec.providerId` names a database that another resource of the namespace owns.",
    bring: async ({ apply, idOf }) => apply("copy-of-orders", { providerId: await idOf("orders") }),
    reason: "Conflict",
    on: "Ready",
    why: /belongs to .*orders/,
    next: /adopt-from/,
    events: ["Conflict"],
  },
  {
    title: "Drift not repairable",
    name: "archive",
    story: "`sizeGb` was raised from 20 to 40; the provider accepts the change and never makes it.",
    bring: async ({ ready, cloud, kubectl }) => {
      await ready("archive");
      cloud.configure({ stubborn: ["sizeGb"] });
      await kubectl("patch", "edb", "archive", ...merge({ spec: { sizeGb: 40 } }));
    },
    reason: "DriftNotRepairable",
    on: "Synced",
    why: /accepted the change three times without effect: sizeGb 20 → 40/,
    next: /again after 4 hours, or at once on an edit of the spec or db\.my\.domain\/reconcile/,
    events: ["Created", "Available", "Updating", "Updating", "DriftNotRepairable"],
  },
  {
    title: "Missing",
    name: "sessions",
    story: "Somebody deleted the database at the provider, and `onMissing` is `Report`.",
    bring: async ({ ready, cloud, idOf, kubectl }) => {
      await ready("sessions", { onMissing: "Report" });
      cloud.remove(await idOf("sessions"));
      await kubectl("annotate", "edb", "sessions", "db.my.domain/reconcile=now");
    },
    reason: "ExternalMissing",
    on: "Ready",
    why: /^The provider says that the database "[^"]+" is gone/,
    next: /restore it there, or set spec\.onMissing to Recreate/,
    events: ["Created", "Available", "ExternalMissing"],
  },
  {
    title: "Throttled",
    name: "events",
    story: "The provider limits the account's calls just as the database is to be resized.",
    bring: async ({ ready, cloud, kubectl }) => {
      await ready("events");
      cloud.faults.add({
        verbs: ["modify"],
        fault: { answer: { ...REFUSALS.throttled, retryAfterSeconds: 30 } },
      });
      await kubectl("patch", "edb", "events", ...merge({ spec: { sizeGb: 40 } }));
    },
    reason: "Throttled",
    on: "Synced",
    why: /^Changing the database failed: Throttled: Too many requests/,
    next: /all calls of the account wait, and go on by themselves \(retry step \d\)/,
    events: ["Created", "Available", "Throttled"],
  },
];
