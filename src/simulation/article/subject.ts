/**
 * The article's reconciler as a subject of the simulation, and what it is judged by: only what the article itself
 * promises, in worlds from which everything is taken that it never spoke of.
 *
 * @module
 */
import { FINALIZER, TAG } from "../../api/constants.ts";
import type { ExternalDatabase, ExternalDatabaseSpec } from "../../api/schema.ts";
import type { OperatorDeps } from "../../operator/operator.ts";
import type { CallOptions, DatabaseProvider } from "../../providers/port.ts";
import type { Action, Plan } from "../plan.ts";
import type { Problem } from "../ending.ts";
import type { Subject } from "../subject.ts";
import { ACCOUNT, type World } from "../world.ts";
import { ArticleController } from "./controller.ts";

/**
 * The article's own promises: no second database, no orphan, a finalizer that stays "until the external dependency is
 * successfully removed", the state that the spec asks for, and no calls for what is in step.
 */
export const ARTICLE_PROMISES: ReadonlySet<string> = new Set(["S1", "S2", "S4", "S5", "L1"]);

/** Makes the article's operator. */
export function createArticle({ cluster, provider, clock }: OperatorDeps): Subject {
  const gateway = { mutationsInFlight: 0 };
  const counted = <A extends unknown[], T>(send: (...args: A) => Promise<T>) => async (...args: A) => {
    gateway.mutationsInFlight++;
    try {
      return await send(...args);
    } finally {
      gateway.mutationsInFlight--;
    }
  };
  const counting: DatabaseProvider = {
    ...provider,
    get: (id: string, options: CallOptions) => provider.get(id, options),
    create: counted(provider.create),
    modify: counted(provider.modify),
    delete: counted(provider.delete),
  };
  const controller = new ArticleController({
    cluster,
    provider: counting,
    clock,
    tags: ({ metadata }) => ({ [TAG.uid]: metadata.uid, [TAG.crName]: metadata.name }),
  });
  const { objects } = controller;
  return {
    run: (signal) => controller.run(signal),
    drain: (graceMs) => controller.drain(graceMs),
    gateway,
    supervisor: {
      get keepers() {
        return [...objects.values()].map((object) => ({ object }));
      },
      get size() {
        return objects.size;
      },
    },
    reflector: {
      get: (uid) => [...objects.values()].find((o) => o.metadata.uid === uid),
      get size() {
        return objects.size;
      },
    },
  };
}

/** A plan without what the article does not speak of: nothing that is left out can be held against it. */
export function articlePlan(plan: Plan): Plan {
  return {
    ...plan,
    cloud: {
      ...plan.cloud,
      describesItself: true,
      provisionFailures: 0,
      autogrowAfterMs: 0,
      minorUpgradeAfterMs: 0,
      engineCase: "as-is",
      minorVersion: null,
    },
    kube: { ...plan.kube, silentWatch: 0 },
    actions: growing(plan.actions.filter((a) => SPOKEN_OF.has(a.do))),
  };
}

/** What users, the cluster, the cloud and fate may do to it. No one's hand at the console, no policy, no pause, no adoption. */
const SPOKEN_OF: ReadonlySet<Action["do"]> = new Set([
  "create",
  "edit",
  "delete",
  "label",
  "breakWatches",
  "compact",
  "kubeOutage",
  "crash",
  "freeze",
  "stop",
  "skew",
  "cloudOutage",
]);

/** Versions that clouds offer, oldest first. */
const VERSIONS = ["14", "14.2", "15", "15.1", "16"];

/** The specs of the article's three fields, and none that asks a cloud to shrink or to go back, which none does. */
function growing(actions: readonly Action[]): Action[] {
  const asked = new Map<string, { sizeGb: number; version: number }>();
  const grown = <T extends Partial<ExternalDatabaseSpec>>(
    name: string,
    { sizeGb = 0, version = "14" }: T,
  ) => {
    const before = asked.get(name) ?? { sizeGb: 0, version: 0 };
    const after = {
      sizeGb: Math.max(before.sizeGb, sizeGb),
      version: Math.max(before.version, VERSIONS.indexOf(version)),
    };
    asked.set(name, after);
    return { sizeGb: after.sizeGb, version: VERSIONS[after.version] ?? version };
  };
  return actions.flatMap((a): Action[] => {
    if (a.do === "create") {
      const { engine } = a.spec;
      return [{ at: a.at, do: "create", name: a.name, spec: { engine, ...grown(a.name, a.spec) } }];
    }
    if (a.do !== "edit") return [a];
    if (a.change.sizeGb === undefined && a.change.version === undefined) return [];
    return [{ ...a, change: grown(a.name, a.change) }];
  });
}

/** What of the world is not as the article says it will be. */
export function judgeArticle(world: World): Problem[] {
  const problems: Problem[] = [];
  const all = world.store.all();
  const late = (what: string) => problems.push({ oracle: "L1", what });
  if (world.working === undefined) late("no process works");
  for (const object of all) {
    const what = object.metadata.deletionTimestamp === undefined
      ? liveProblem(world, object)
      : object.metadata.finalizers?.includes(FINALIZER)
      ? "is still being deleted"
      : undefined;
    if (what !== undefined) late(`${object.metadata.name} ${what}`);
  }
  const uids = new Set(all.map((o) => o.metadata.uid));
  for (const { id, state, tags } of world.cloud.databases(ACCOUNT)) {
    if (uids.has(tags[TAG.uid] ?? "")) continue;
    problems.push({ oracle: "S2", what: `${id} (${state}) outlives its CR ${tags[TAG.crName]}` });
  }
  return problems;
}

function liveProblem(world: World, { spec, status, metadata }: ExternalDatabase): string | undefined {
  if (!metadata.finalizers?.includes(FINALIZER)) return "has no finalizer";
  if (status?.providerId === undefined) return `has no database: ${status?.state ?? "no state"}`;
  const record = world.cloud.get(status.providerId);
  if (record === undefined) return `has a database that is gone: ${status.state}`;
  if (record.state !== "Available") return `has a database that is ${record.state}`;
  if (status.state !== record.state) {
    return `is stuck ${status.state}, though its database is ${record.state}`;
  }
  if (status.endpoint !== record.endpoint) return "does not have its database's endpoint";
  if (record.sizeGb === spec.sizeGb && record.version === spec.version) return undefined;
  return `differs: ${record.version}, ${record.sizeGb} GiB, not ${spec.version}, ${spec.sizeGb} GiB`;
}
