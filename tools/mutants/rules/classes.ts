/**
 * Planted bugs of classes: several accounts side by side, and a resource that stays where it was begun.
 *
 * @module
 */
import { mutant, type RuleMutant } from "../rule.ts";

const view = "statechart/class_view.ts";
const decide = "statechart/decide.ts";
const resource = "statechart/resource.ts";
const writes = "operator/effects/writes.ts";
const site = "operator/site.ts";
const classSite = "operator/class_site.ts";
const classes = "operator/classes.ts";

/** What the scheduler's and the observer's parts of the design say of one account holds for each of several. */
export const CLASSES: readonly RuleMutant[] = [
  mutant(
    "S1",
    "no class pinned",
    "the finalizer is written without the class under which all is begun",
    writes,
    "finalize",
    "annotate(object.metadata, PINNED_CLASS, env.classOf(object))",
    "[]",
  ),
  mutant(
    "S1",
    "another default moves",
    "what was begun goes to the class that is the default now",
    view,
    "classNameOf",
    'if (!isNew(object)) { const pinned = metadata.annotations?.[PINNED_CLASS]; if (pinned !== undefined) return pinned; if (hasFinalizer(object)) return ""; }',
    "",
  ),
  mutant(
    "S1",
    "class edit unheeded",
    "another spec.className than that of what was begun is not told",
    view,
    "classVerdict",
    "wanted === undefined || wanted === name",
    "true",
  ),
  mutant(
    "S2",
    "missing class is let go",
    "a deletion does not wait for the class that its database is of",
    view,
    "classlessDeletion",
    "missing === undefined",
    "true",
  ),
  mutant(
    "design 5",
    "unknown classes decide",
    "a resource is bound to the flags before the classes are listed",
    classes,
    "ClassDirectory.constructor",
    "classes === undefined",
    "true",
  ),
  mutant(
    "design 5",
    "bounds unheeded",
    "what the class does not allow is created",
    view,
    "notAllowed",
    "allowed === undefined",
    "true",
  ),
  mutant(
    "design 5",
    "bounds change a database",
    "what the class does not allow is changed to",
    view,
    "heedClass",
    'if (next.step === "modify") return { ...next, step: "idle", synced: verdict };',
    "",
    {
      and: [{
        file: "operator/effects/modify.ts",
        in: "modify",
        find: "notAllowed(object, view) !== undefined",
        replace: "false",
      }],
    },
  ),
  mutant(
    "design 5",
    "rotation waits",
    "rotated credentials wait for the back-off of those that were refused",
    view,
    "isRotatedSince",
    "(view.class?.credentialsAt ?? Number.NEGATIVE_INFINITY) >= at",
    "false",
  ),
  mutant(
    "A2",
    "another account is changed",
    "a mutation is sent to an account that has not said its name since the class changed",
    site,
    "ProviderSite.#mayChange",
    "this.account.infoAt < this.#replacedAt",
    "false",
  ),
  mutant(
    "rule 19",
    "adopted by the class's policy",
    "a class's policies hold for what was adopted, too",
    "statechart/facts.ts",
    "policiesOf",
    "adopted ? undefined : object.class?.defaults",
    "object.class?.defaults",
  ),
  mutant(
    "design 5",
    "refused class works",
    "a class that cannot be used keeps its site at work",
    classSite,
    "ClassSite.#update",
    "missing === undefined",
    "true",
  ),
  mutant(
    "rule 1",
    "barred is not new",
    "a resource that was only told of its missing class is taken for one that lost its finalizer",
    resource,
    "isNew",
    "isBarred(object)",
    "false",
    { and: [{ file: decide, in: "plan", find: "mayBegin(object, view)", replace: "true" }] },
  ),
];
