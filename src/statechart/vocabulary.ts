/**
 * The words of the statechart: its states, its effects, and the reasons a condition can have.
 *
 * @module
 */

/** The six top-level states; `status.state` holds one of them. */
export const TOP_STATES = ["Pending", "Creating", "Available", "Drifted", "Deleting", "Finalized"] as const;
/** One of the six. */
export type TopState = (typeof TOP_STATES)[number];

/** The effects: named promise actors that the machine invokes and the operator provides. */
export const EFFECTS = [
  "finalize",
  "lookup",
  "adopt",
  "create",
  "record",
  "observe",
  "confirm",
  "modify",
  "bind",
  "setPassword",
  "discard",
  "reincarnate",
  "remove",
  "retain",
  "release",
  "report",
] as const;
/** One of the effects. */
export type Effect = (typeof EFFECTS)[number];

/** Effects that may change something at the cloud: never left before their answer or time-out (rule 14). */
export const MUTATING: ReadonlySet<Effect> = new Set<Effect>([
  "adopt",
  "create",
  "modify",
  "setPassword",
  "discard",
  "remove",
  "retain",
]);

/** The types of the conditions that the operator owns. */
export const CONDITION_TYPES = ["Ready", "Synced", "WithinQuota"] as const;
/** One of them. */
export type ConditionType = (typeof CONDITION_TYPES)[number];

/**
 * The reasons of the conditions, with the types they are used on.
 *
 * `Ready` says whether the database is usable now; `Synced` whether it is as the spec asks; `WithinQuota`, which is there
 * only where a provider measures it, whether the database holds no more than a `sizeGb` that nothing enforces.
 */
export const REASONS = {
  Available: ["Ready", "Synced"],
  Pending: ["Ready", "Synced"],
  Creating: ["Ready", "Synced"],
  Updating: ["Synced"],
  Deleting: ["Ready", "Synced"],
  Paused: ["Ready", "Synced"],
  ExternalMissing: ["Ready", "Synced"],
  MassAbsence: ["Ready", "Synced"],
  Throttled: ["Ready", "Synced"],
  ProviderUnavailable: ["Ready", "Synced"],
  Unauthorised: ["Ready", "Synced"],
  Unreadable: ["Ready", "Synced"],
  CreateFailed: ["Ready", "Synced"],
  ProvisioningFailed: ["Ready", "Synced"],
  DatabaseFailed: ["Ready", "Synced"],
  UpdateFailed: ["Synced"],
  DeleteFailed: ["Ready", "Synced"],
  DeletionProtected: ["Ready", "Synced"],
  SnapshotFailed: ["Ready", "Synced"],
  SnapshotUnsupported: ["Ready", "Synced"],
  ImmutableFieldChanged: ["Synced"],
  DriftNotRepairable: ["Synced"],
  DriftReported: ["Synced"],
  Conflict: ["Ready", "Synced"],
  Duplicate: ["Synced"],
  InvalidSpec: ["Ready", "Synced"],
  ClassMissing: ["Ready", "Synced"],
  NotAllowed: ["Ready", "Synced"],
  SecretPending: ["Ready", "Synced"],
  SecretConflict: ["Ready", "Synced"],
  ActorFailed: ["Ready", "Synced"],
  WithinQuota: ["WithinQuota"],
  QuotaExceeded: ["WithinQuota"],
} as const satisfies Record<string, readonly ConditionType[]>;
/** One reason. */
export type Reason = keyof typeof REASONS;
