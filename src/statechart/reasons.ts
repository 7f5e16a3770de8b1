/**
 * What each reason of a condition means and what follows from it, in words: the one place that docs/reasons.md and the
 * page are made from.
 *
 * Typed by {@linkcode REASONS}, so that a reason without an entry does not compile.
 *
 * @module
 */
import type { Reason } from "./vocabulary.ts";

/** Whose turn it is while a condition says so. */
export type Turn =
  /** Nobody's: all is well, or as it was asked for. */
  | "nobody"
  /** The operator's or the provider's: it goes on by itself. */
  | "operator"
  /** A person's: it is tried again, but will hardly end by itself. */
  | "person";

/** One reason, for the owner of the database. Markdown, without links. */
export interface ReasonMeaning {
  readonly turn: Turn;
  /** What is the matter. */
  readonly means: string;
  /** What the operator does by itself. */
  readonly operator: string;
  /** What a person does. */
  readonly person: string;
  /** Commands that do it, for a resource named `orders`; each line is one. */
  readonly commands?: readonly string[];
}

const PATCH = "kubectl patch edb orders --type=merge -p";
const RECONCILE = 'kubectl annotate edb orders --overwrite db.my.domain/reconcile="$(date +%s)"';
const LET_GO =
  'kubectl annotate edb orders db.my.domain/abandon="$(kubectl get edb orders -o jsonpath={.metadata.uid})"';

/** What {@linkcode Reason}s mean. */
export const REASON_MEANINGS: Readonly<Record<Reason, ReasonMeaning>> = {
  Available: {
    turn: "nobody",
    means:
      "On `Ready`: the database accepts connections at its endpoint. On `Synced`: it is as the spec asks.",
    operator: "Looks at it once a poll period, and writes nothing while nothing changes.",
    person: "Nothing.",
  },
  Pending: {
    turn: "operator",
    means:
      "Accepted and not begun yet: the database is looked for, or an earlier create, a dying database or a first read " +
      "is waited for. Also: the provider does something else first, or a write to Kubernetes failed.",
    operator: "Goes on as soon as what the message names is over.",
    person: "Wait. Where it lasts, the message says for what.",
  },
  Creating: {
    turn: "operator",
    means: "The create was sent, or a database of this resource was found; the provider is making it.",
    operator: "Records its id, reads it at growing intervals, and says `Available` once it serves.",
    person: "Wait.",
  },
  Updating: {
    turn: "operator",
    means: "A change is planned, sent or under way, or waits for the database to be free for one.",
    operator: "Sends one change at a time and reads until it shows. `Ready` stays as it was.",
    person: "Wait.",
  },
  Deleting: {
    turn: "operator",
    means:
      "The deletion goes on: it was sent, or its end, a state that allows it or the time after which no late create " +
      "can take effect is waited for.",
    operator: "Removes the finalizer once nothing is left that carries the resource's UID.",
    person: "Wait.",
  },
  Paused: {
    turn: "nobody",
    means: "`spec.paused` is true: nothing is changed at the provider, a deletion waits too.",
    operator: "Goes on reading, so that `Ready` tells the truth.",
    person: "Set `paused` to false to go on.",
    commands: [`${PATCH} '{"spec":{"paused":false}}'`],
  },
  ExternalMissing: {
    turn: "person",
    means: "The provider says that the database is gone, or is deleting it though nobody asked for it here.",
    operator:
      "With `onMissing: Recreate` it makes sure (two looks and a whole list) and creates another, later each time it " +
      "happens in a row. With `Report` (the default of an adopted database) it only says so.",
    person: "With `Recreate`: nothing. Else restore it at the provider, or have a new, empty one made.",
    commands: [`${PATCH} '{"spec":{"onMissing":"Recreate"}}'`],
  },
  MassAbsence: {
    turn: "person",
    means:
      "Many databases of the account turned absent together. That is what wrong credentials or a wrong region look like.",
    operator: "Creates nothing anew and lets no finalizer go until they are back.",
    person:
      "Check account, region and credentials of the operator. If the databases are truly gone, say so on each resource.",
    commands: ['kubectl annotate edb orders --overwrite db.my.domain/confirm-absence="$(date +%s)"'],
  },
  Throttled: {
    turn: "operator",
    means: "The provider limits the calls of the account: all of them wait as long as it says.",
    operator: "Waits, then goes on with the most urgent calls first. `Ready` stays as it was.",
    person:
      "Nothing, unless it lasts: raise the account's limit, or lower `--rate` and lengthen `--poll-interval`.",
  },
  ProviderUnavailable: {
    turn: "operator",
    means:
      "The provider does not answer: nothing was read for three poll periods, a read failed, or it does not say which " +
      "account it is, for which a deletion waits. The database itself may well be in order; its endpoint is kept.",
    operator: "Tries again, at most every 30 seconds.",
    person: "Where it lasts: look at the provider and at the network between it and the operator.",
  },
  Unauthorised: {
    turn: "person",
    means: "The provider refuses the operator's credentials.",
    operator: "Reads them again by itself and uses new ones at once.",
    person: "Whoever runs the operator renews the credentials or their rights. No restart is needed.",
  },
  Unreadable: {
    turn: "person",
    means:
      "The bulk list failed twice in a row or more, what it says of this database is not valid, or the database is in " +
      "a state that is not known here, such as `Stopped`.",
    operator: "Changes nothing on such a word, and reads again.",
    person: "Look at the database at the provider, and bring it back to an ordinary state.",
  },
  CreateFailed: {
    turn: "person",
    means:
      "The provider refuses to create or adopt the database, or its answer was lost. Also: it knows an earlier create " +
      "whose database does not show.",
    operator:
      "What was refused is tried again after 15 s to 10 min; after a lost answer it looks for the database first, so " +
      "that there is never a second one.",
    person: "Mend the spec as the message says. An edit is tried at once.",
    commands: ["kubectl edit edb orders", RECONCILE],
  },
  ProvisioningFailed: {
    turn: "person",
    means: "A database failed before it was ever available.",
    operator: "Removes it and creates another, three in a row; then it stops.",
    person: "Look at the provider for the cause. Then edit the spec, or ask for one more try.",
    commands: [RECONCILE],
  },
  DatabaseFailed: {
    turn: "person",
    means: "The provider says that a database has failed that was available before. It holds data.",
    operator: "Never replaces it; goes on looking at it.",
    person: "Repair or restore it at the provider; the resource follows by itself.",
  },
  UpdateFailed: {
    turn: "person",
    means: "The provider refused a change, or its answer was lost.",
    operator:
      "What was refused is tried again after 15 s to 10 min; after a lost answer it looks first. The database serves on.",
    person: "Mend the spec as the message says. An edit is tried at once.",
    commands: ["kubectl edit edb orders"],
  },
  DeleteFailed: {
    turn: "person",
    means:
      "The provider refused the delete or the tag of a retained database, or accepts the delete without effect.",
    operator: "Tries again; a delete without effect in steps of 5 s to 10 min.",
    person:
      "Mend the cause that the message names. The last way out lets the resource go and leaves the database.",
    commands: [LET_GO],
  },
  DeletionProtected: {
    turn: "person",
    means: "The resource is being deleted, but the spec, or the provider, protects the database.",
    operator:
      "Sends no delete while the spec protects it; asks again in growing steps where the provider does.",
    person:
      "Lift the protection in the spec (or at the provider), or keep the database. Both work while the resource is " +
      "terminating.",
    commands: [
      `${PATCH} '{"spec":{"deletionProtection":false}}'`,
      `${PATCH} '{"spec":{"deletionPolicy":"Retain"}}'`,
    ],
  },
  SnapshotFailed: {
    turn: "person",
    means: "The final snapshot that `deletionPolicy: Snapshot` asks for failed. The database is kept.",
    operator: "Tries again, slowly; nothing is deleted without the snapshot.",
    person: "Mend the cause at the provider, or choose another policy.",
    commands: [`${PATCH} '{"spec":{"deletionPolicy":"Retain"}}'`],
  },
  SnapshotUnsupported: {
    turn: "person",
    means: "`deletionPolicy` is `Snapshot`, and this provider takes none.",
    operator: "Holds the deletion.",
    person: "Choose `Delete` or `Retain`.",
    commands: [`${PATCH} '{"spec":{"deletionPolicy":"Retain"}}'`],
  },
  ImmutableFieldChanged: {
    turn: "person",
    means: "The provider shows another engine than the spec. No change mends that in place.",
    operator: "Leaves the database as it is.",
    person: "Set `spec.engine` back, or make another resource for the other engine.",
  },
  DriftNotRepairable: {
    turn: "person",
    means:
      "The provider accepted a change three times without effect, or the database's version is beyond the wanted one " +
      "and is never lowered.",
    operator: "Stops sending it; tries again after 4 hours.",
    person: "Edit the spec to what the database has, or have the change tried now.",
    commands: [RECONCILE],
  },
  DriftReported: {
    turn: "person",
    means: "The database differs, and `driftPolicy` is `Report`, or `managementPolicy` is `ObserveOnly`.",
    operator: "Says what differs and changes nothing.",
    person: "Have it repaired, or edit the spec to what the database has.",
    commands: [`${PATCH} '{"spec":{"driftPolicy":"Repair"}}'`],
  },
  Conflict: {
    turn: "person",
    means:
      "What is at hand is not this resource's: the database carries another resource's UID or another cluster's " +
      "identity, the credentials belong to another account than the one that holds the database, a snapshot of that " +
      "name is another's, or spec and status name different databases or classes.",
    operator: "Touches nothing, and looks again from time to time.",
    person:
      "As the message says: name the right database, put the credentials back, have the other owner let go of it, or " +
      "consent to take it over (same namespace or another cluster).",
    commands: ["kubectl annotate edb orders db.my.domain/adopt-from=UID-OF-THE-OWNER"],
  },
  Duplicate: {
    turn: "person",
    means: "More than one live database carries this resource's UID. The one in `status.providerId` is kept.",
    operator: "Changes and deletes none of the others, unless the resource is deleted: then all of them go.",
    person: "Compare them at the provider, and remove the others, or their tags, by hand.",
  },
  InvalidSpec: {
    turn: "person",
    means: "The stored spec does not fit the schema: it was stored under an older one.",
    operator:
      "Begins and changes nothing, and goes on reading. A deletion goes on, unless it is its policy that is not known.",
    person: "Edit the resource as the message says.",
    commands: ["kubectl edit edb orders"],
  },
  ClassMissing: {
    turn: "person",
    means:
      "The class that the resource is of is not there or cannot be used, or the classes could not be listed yet.",
    operator: "Begins, changes and deletes nothing until it is there.",
    person: "Create or mend the class. The last way out lets a deleted resource go and leaves the database.",
    commands: ["kubectl get externaldatabaseclasses", LET_GO],
  },
  NotAllowed: {
    turn: "person",
    means: "The class does not allow what the spec asks for.",
    operator: "Creates nothing; leaves a database that is there as it is.",
    person: "Edit the resource as the message says; or whoever owns the class widens it.",
    commands: ["kubectl edit edb orders"],
  },
  SecretPending: {
    turn: "operator",
    means:
      "The connection Secret is not in order yet, or its password is not set at the database yet; the message says " +
      "which, and what failed.",
    operator: "Writes the Secret first, then sets its password, and tries again what failed.",
    person: "Wait. Where Kubernetes refuses the Secret, grant the operator the rights of `deploy/`.",
  },
  SecretConflict: {
    turn: "person",
    means: "There is a Secret of that name which is another owner's, or nobody's. Nothing is written on it.",
    operator: "Looks again, at most every 10 minutes.",
    person: "Give another name in `spec.connectionSecretRef.name`, or remove that Secret.",
    commands: [`${PATCH} '{"spec":{"connectionSecretRef":{"name":"orders-login"}}}'`],
  },
  ActorFailed: {
    turn: "person",
    means: "The operator itself failed on this resource: a defect.",
    operator: "Starts its actor again after 1 s to 60 s; other resources are not touched.",
    person: "Report it, with the operator's log lines that name the resource.",
  },
  WithinQuota: {
    turn: "nobody",
    means:
      "On `WithinQuota`: the database holds no more than `sizeGb`, which is a quota that nothing enforces.",
    operator: "Measures it with every look at the database.",
    person: "Nothing.",
  },
  QuotaExceeded: {
    turn: "person",
    means:
      "On `WithinQuota`: the database holds more than `sizeGb`, which is a quota that nothing enforces. It serves as before.",
    operator: "Tells it by this condition and one Event, and refuses, stops and repairs nothing.",
    person: "Raise `sizeGb`, or remove data.",
    commands: [`${PATCH} '{"spec":{"sizeGb":40}}'`],
  },
};

/** The anchor of a reason's entry in docs/reasons.md: `#driftnotrepairable`. */
export function reasonAnchor(reason: Reason): string {
  return `#${reason.toLowerCase()}`;
}
