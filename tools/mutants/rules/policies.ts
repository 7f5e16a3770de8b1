/**
 * Planted bugs of the policies of a spec: final snapshots (rule 17), deletion protection, and resources that only observe.
 *
 * @module
 */
import { mutant, type RuleMutant } from "../rule.ts";

const removal = "statechart/decide_removal.ts";
const deletion = "statechart/decide_deletion.ts";
const decide = "statechart/decide.ts";
const facts = "statechart/facts.ts";
const snapshot = "statechart/snapshot.ts";
const unadopted = "statechart/decide_unadopted.ts";
const env = "operator/effects/env.ts";
const remove = "operator/effects/remove.ts";
const reads = "operator/effects/reads.ts";
const absences = "operator/absences.ts";

/** Rule 17 and the policies of D4 and D5. */
export const POLICIES: readonly RuleMutant[] = [
  mutant(
    "rule 17",
    "snapshot not asked for",
    "a database under Snapshot is deleted without one",
    snapshot,
    "snapshotOf",
    'policiesOf(object).deletion !== "Snapshot"',
    "true",
  ),
  mutant(
    "rule 17",
    "snapshot unnamed",
    "the delete is sent before the status names its snapshot",
    removal,
    "removeOne",
    "snapshot !== undefined && !isSnapshotSaid(k, k.object, snapshot)",
    "false",
    {
      and: [{
        file: remove,
        in: "removeOne",
        find: "!isSnapshotSaid(latest(), object, finalSnapshot)",
        replace: "false",
      }],
    },
  ),
  mutant(
    "rule 17",
    "snapshot asked for too late",
    "a delete that waits for its turn does not heed that a snapshot is wanted now",
    remove,
    "removeOne",
    "finalSnapshot === undefined && snapshotOf(now, database) !== undefined",
    "false",
  ),
  mutant(
    "rule 17",
    "snapshot of one name",
    "all databases of a UID get the snapshot of one name",
    snapshot,
    "finalSnapshotName",
    "digest(`${uid}/${databaseId}`)",
    '"0000000"',
  ),
  mutant(
    "rule 17",
    "snapshot unsupported",
    "a final snapshot is asked of a provider that takes none",
    removal,
    "heldBySpec",
    "snapshot !== undefined && view.provider?.snapshots !== true",
    "false",
    {
      and: [{ file: remove, in: "removeOne", find: "view.provider?.snapshots !== true", replace: "false" }],
    },
  ),
  mutant(
    "rule 17",
    "snapshot of nothing",
    "a database that failed before it was usable is to be kept in a snapshot",
    snapshot,
    "snapshotOf",
    'database.state === "Failed" && !used',
    "false",
  ),
  mutant(
    "rule 9",
    "protection of the spec ignored",
    "a database is deleted though its spec protects it",
    removal,
    "heldBySpec",
    "specOf(k.object).deletionProtection === true",
    "false",
    {
      and: [{
        file: remove,
        in: "mayRemove",
        find: "specOf(object).deletionProtection !== true",
        replace: "true",
      }],
    },
  ),
  mutant(
    "rule 9",
    "protection comes too late",
    "a delete that waits for its turn does not heed that the spec protects the database now",
    remove,
    "mayRemove",
    "specOf(object).deletionProtection !== true",
    "true",
  ),
  mutant(
    "rule 9",
    "protection not lifted",
    "protection that the spec lifts is not lifted at the provider for a deletion",
    remove,
    "unprotect",
    "database.deletionProtection !== true || specOf(object).deletionProtection !== false",
    "true",
  ),
  mutant(
    "S3",
    "observed is managed",
    "a resource that only observes is handled as any other",
    decide,
    "plan",
    "isObserveOnly(object)",
    "false",
  ),
  mutant(
    "S3",
    "looked at is its own",
    "a database that was only looked at is recorded by a resource that manages now",
    facts,
    "unrecordedDatabase",
    "!onlyObserved",
    "true",
  ),
  mutant(
    "rule 14",
    "observe-only comes too late",
    "a change that waits for its turn does not heed that its resource only observes now",
    env,
    "isManaged",
    "!isObserveOnly(object)",
    "true",
  ),
  mutant(
    "S3",
    "observe-only deletes",
    "the deletion of a resource that only observes is one of its database",
    deletion,
    "decideDeletion",
    "isObserveOnly(object) && !specOf(object).paused",
    "false",
    { and: [{ file: env, in: "isInReach", find: "!isObserveOnly(object)", replace: "true" }] },
  ),
  mutant(
    "S3",
    "observe-only shows all",
    "a resource that only observes shows the databases of other namespaces",
    facts,
    "mayBeShown",
    "tags[TAG.namespace] === object.metadata.namespace",
    "true",
  ),
  mutant(
    "rule 12",
    "observed is counted",
    "databases that are only observed, and that no list shows, count as absent",
    absences,
    "isExpected",
    "!isObserveOnly(object)",
    "true",
    {
      and: [
        {
          file: absences,
          in: "isExpected",
          find: "status?.observeOnly !== true",
          replace: "true",
        },
        { file: reads, in: "absent", find: "isObserveOnly(k.object)", replace: "false" },
      ],
    },
  ),
  mutant(
    "rule 18",
    "observed is never adopted",
    "a database that was only observed is not adopted by what is to manage it, if it bears a tag",
    unadopted,
    "decideUnadopted",
    "object.status?.observeOnly !== true",
    "true",
  ),
  mutant(
    "S3",
    "observed holds its resource",
    "a resource that never adopted what it observed waits with its deletion for its tags",
    unadopted,
    "isLeftAlone",
    "k.object.status?.observeOnly === true",
    "false",
  ),
];
