/**
 * Planted bugs of what changes between a decision and the moment in which it is sent, or is forgotten over a crash or a restore.
 *
 * @module
 */
import { mutant, type RuleMutant } from "../rule.ts";

const adopt = "operator/effects/adopt.ts";
const create = "operator/effects/create.ts";
const modify = "operator/effects/modify.ts";
const remove = "operator/effects/remove.ts";

/** Of rules 3, 8, 9, 12, 18 and 25, of S1, S3 and S5, and of A2 and D4. */
export const BETWEEN: readonly RuleMutant[] = [
  mutant(
    "S3",
    "change at another account",
    "a change is sent though its database was read before the provider was replaced",
    "operator/site.ts",
    "ProviderSite.#mayChange",
    "readAt <= Math.max(this.#replacedAt, this.account.since)",
    "false",
  ),
  mutant(
    "D4",
    "adoption past a pause",
    "an adoption does not heed what its own read shows of the resource",
    adopt,
    "adopt",
    "!isManaged(object)",
    "false",
  ),
  mutant(
    "rule 18",
    "consent once given stays",
    "a consent that is taken back before the tags are sent still counts",
    adopt,
    "tag",
    "consent === undefined || consentsTo(now, consent)",
    "true",
  ),
  mutant(
    "rule 25",
    "restored sleeper trusts its password",
    "a sleeper whose cluster is restored takes the password for set",
    "operator/keeper.ts",
    "Keeper.#restored",
    "{ ...this.#unsure(), passwordUnsure: true }",
    "this.#unsure()",
  ),
  mutant(
    "S1",
    "unrecorded account is forgotten",
    "a create does not go by the account in which an unrecorded database was seen",
    "statechart/facts.ts",
    "isCreatedElsewhere",
    "k.seenUnder !== undefined",
    "false",
  ),
  mutant(
    "A2",
    "restore forgets accounts",
    "where the cluster goes back, the account of a create of unknown outcome is forgotten",
    "statechart/learn.ts",
    "afterRewind",
    "{ bornHere: false, unknownSince: now, observation, mutatedAt, lastReadAt, unknownUnder, seenUnder, }",
    "{ bornHere: false, unknownSince: now, observation, mutatedAt, lastReadAt }",
  ),
  mutant(
    "rule 9",
    "delete by an old class",
    "a delete goes by the policy that the class had when it was decided",
    remove,
    "removeOne",
    "byClassOfNow(env, now.object)",
    "now.object",
  ),
  mutant(
    "rule 8",
    "change by an old class",
    "a change goes by the policy that the class had when it was decided",
    modify,
    "modify",
    'policiesOf(byClassOfNow(env, object)).drift === "Report"',
    "false",
    { and: [{ file: modify, in: "modify", find: "byClassOfNow(env, now.object)", replace: "now.object" }] },
  ),
  mutant(
    "rule 3",
    "create by an old spec",
    "a create is sent by the spec as it was before an edit",
    create,
    "create",
    "now.metadata.generation !== object.metadata.generation",
    "false",
  ),
  mutant(
    "rule 9",
    "unknown management is none",
    "a deletion goes on under a management policy that only another build knows",
    "operator/effects/env.ts",
    "isInReach",
    "isManagementKnown(object)",
    "true",
  ),
  mutant(
    "rule 12",
    "confirmation stays",
    "a confirmation of an absence stands until its resource is in step",
    "statechart/status.ts",
    "statusOf",
    "isThere(k, decision)",
    "false",
  ),
  mutant(
    "S5",
    "pending is read for without steps",
    "a change that is pending is read for twice a second, however long it is",
    "statechart/learn.ts",
    "learnObservation",
    "isUnfinished(observation.database)",
    "false",
  ),
  mutant(
    "L1",
    "pending holds all",
    "a change that waits at the provider holds the other changes back",
    "statechart/decide_observed.ts",
    "serving",
    "drift.pending && isEmpty(drift.change)",
    "drift.pending",
  ),
];
