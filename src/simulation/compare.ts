/**
 * The run with faults ends as the one without them: the same state of cloud and cluster, the same effects.
 *
 * Compared are the resources whose end does not depend on timing: nothing was done to their databases behind the
 * operator's back, users' deeds met the same answers in both runs, and no deed's meaning hangs on what came first (a
 * size or version that goes back, a pause, a drift that is only reported, a policy changed during the deletion).
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import { KIND_CLUSTER } from "./kube_port.ts";
import type { Action, Deed, Plan } from "./plan.ts";
import { type RunOptions, runPlan, type RunResult, type Violation } from "./run.ts";
import type { World } from "./world.ts";

/** What became of a resource's name. */
export interface End {
  /** What users did, and what it met. */
  readonly deeds: readonly string[];
  /** What the resource says, if there is one: generation, spec and what of its status the spec decides. */
  readonly resource: string | undefined;
  /** It is there and not being deleted. */
  readonly live: boolean;
  /** Its databases; where it is not {@linkcode live}, those of all resources that had its name. */
  readonly databases: readonly string[];
  /** Databases that were made for it, by UID in order of their birth. */
  readonly creates: readonly number[];
  /** Changes of version or size that happened. */
  readonly modifies: number;
  /** Processes that ended before the world did. */
  readonly deaths: number;
}

const USER: ReadonlySet<Deed["do"]> = new Set(["create", "edit", "delete", "annotate", "label"]);
/** Deeds behind the operator's back: the whole world is not compared. */
const BEHIND: ReadonlySet<Deed["do"]> = new Set(
  [
    "restore",
    "deleteCrd",
    "switchAccount",
    "console",
    "vanish",
    "duplicate",
    "retag",
    "adopt",
    "takeOver",
    "editStatus",
  ],
);

/** The same script without faults, or `undefined` where things happen behind the operator's back. */
export function withoutFaults(plan: Plan): Plan | undefined {
  const { autogrowAfterMs = 0, minorUpgradeAfterMs = 0, provisionFailures = 0 } = plan.cloud;
  if (autogrowAfterMs + minorUpgradeAfterMs + provisionFailures > 0) return undefined;
  if (plan.actions.some((a) => BEHIND.has(a.do)) || mayTakeOver(plan)) return undefined;
  if (comparable(plan).length === 0) return undefined;
  const { latencyMs, watchLagMs } = plan.kube;
  return {
    ...plan,
    dooms: [],
    actions: plan.actions.filter((a) => USER.has(a.do)),
    kube: { ...KIND_CLUSTER, latencyMs, watchLagMs: Math.min(watchLagMs, 1_000) },
    cloud: {
      ...plan.cloud,
      loseAnswers: 0,
      failBefore: 0,
      failAfter: 0,
      lateEffects: 0,
      snapshotFailures: 0,
      ratePerSecond: 0,
    },
  };
}

/** Whether a resource that observes somebody's database is told to manage it, as an adoption does: whose it is by then is a matter of timing. */
function mayTakeOver({ actions }: Plan): boolean {
  const observers = new Set(actions.flatMap((a) => a.do === "observe" ? a.name : []));
  return actions.some((a) => a.do === "manage" && a.policy === "Full" && observers.has(a.name));
}

/** The names whose end does not depend on timing. */
export function comparable(plan: Plan): string[] {
  const byName = new Map<string, Action[]>();
  for (const action of plan.actions) {
    if (!("name" in action) || action.do === "foreign") continue;
    byName.set(action.name, [...byName.get(action.name) ?? [], action]);
  }
  const shared = sharedSecrets(byName);
  return [...byName]
    .filter(([, actions]) => isOrderly(actions, plan) && !secretsOf(actions).some((s) => shared.has(s)))
    .map(([name]) => name);
}

/** Secrets that several resources ask for: whose one becomes is a matter of timing (K2). */
function sharedSecrets(byName: ReadonlyMap<string, readonly Action[]>): ReadonlySet<string> {
  const asked = [...byName.values()].flatMap((actions) => [...new Set(secretsOf(actions))]);
  return new Set(asked.filter((secret, i) => asked.indexOf(secret) !== i));
}

/** The names of Secrets that a resource's user ever named. */
function secretsOf(actions: readonly Action[]): string[] {
  return actions.flatMap((action) => {
    const spec = action.do === "edit" ? action.change : "spec" in action ? action.spec : undefined;
    return spec?.connectionSecretRef?.name ?? [];
  });
}

function isOrderly(actions: readonly Action[], { cloud }: Plan): boolean {
  let sizeGb = 0;
  let major = 0;
  for (const action of actions) {
    if (!USER.has(action.do)) return false;
    if (action.do !== "create" && action.do !== "edit") continue;
    const spec: Partial<ExternalDatabaseSpec> = action.do === "create" ? action.spec : action.change;
    if (spec.paused !== undefined || spec.driftPolicy !== undefined) return false;
    // What is held back waits for good where there is something to hold, which is a matter of timing too.
    if (spec.deletionProtection !== undefined) return false;
    if (spec.deletionPolicy === "Snapshot" && cloud.snapshots === false) return false;
    // One that is made anew must go on too: whether the first is gone by then is a matter of timing.
    if (spec.sizeGb !== undefined && spec.sizeGb < sizeGb) return false;
    sizeGb = spec.sizeGb ?? sizeGb;
    if (spec.version === undefined) continue;
    const next = Number.parseInt(spec.version);
    if (next < major || (next === major && action.do === "edit")) return false;
    major = next;
  }
  return true;
}

/** Writes down what users' deeds met, and at the end what became of each name. */
export class Ends {
  readonly #deeds = new Map<string, string[]>();
  #last: string[] | undefined;
  #deaths = 0;

  /** A deed is about to happen. */
  deed(world: World, deed: Deed): void {
    this.#last = undefined;
    if (!("name" in deed) || !USER.has(deed.do)) return;
    const object = world.store.find({ namespace: "default", name: deed.name });
    const policy = deed.do === "edit" &&
      (deed.change.deletionPolicy ?? deed.change.deletionProtection) !== undefined;
    const late = policy && object?.metadata.deletionTimestamp !== undefined;
    this.#last = this.#deeds.get(deed.name) ?? [];
    this.#deeds.set(deed.name, this.#last);
    this.#last.push(late ? `${deed.do}, too late at ${world.time}` : deed.do);
  }

  /** It was refused. */
  refused(): void {
    const deeds = this.#last;
    if (deeds !== undefined) deeds.push(`${deeds.pop()}, refused`);
  }

  /** A process has ended. */
  died(): void {
    this.#deaths++;
  }

  /** What became of each name. */
  of(world: World): Map<string, End> {
    const deaths = this.#deaths;
    return new Map([...this.#deeds].map(([name, deeds]) => [name, { ...endOf(world, name, deeds), deaths }]));
  }
}

function endOf({ store, cloud }: World, name: string, deeds: readonly string[]): Omit<End, "deaths"> {
  const object = store.find({ namespace: "default", name });
  const live = object !== undefined && object.metadata.deletionTimestamp === undefined;
  const words = object?.status?.conditions?.map((c) => `${c.type} ${c.status}/${c.reason}`);
  const mine = cloud.ledger.effects({ by: "api" })
    .filter((e) => e.tags[TAG.crName] === name && e.uid !== undefined);
  const creates = new Map<string, number>();
  for (const { kind, uid = "" } of mine) if (kind === "create") creates.set(uid, (creates.get(uid) ?? 0) + 1);
  return {
    deeds,
    resource: object && JSON.stringify({
      generation: object.metadata.generation,
      deleting: object.metadata.deletionTimestamp !== undefined,
      finalizers: object.metadata.finalizers,
      spec: object.spec,
      // What is kept for others' finalizers says how its deletion went.
      ...(object.metadata.deletionTimestamp === undefined
        ? {
          state: object.status?.state,
          observedGeneration: object.status?.observedGeneration,
          observed: object.status?.observed,
          incarnation: object.status?.incarnation,
          words,
        }
        : {}),
    }),
    live,
    databases: cloud.databases()
      .filter((d) =>
        live
          ? d.tags[TAG.uid] === object?.metadata.uid
          : d.tags[TAG.crName] === name && d.tags[TAG.uid] !== undefined
      )
      .map((d) =>
        // A deletion goes ahead of an edit: whether that was carried out before is a matter of timing.
        !live && d.tags[TAG.retained] !== undefined
          ? `${d.engine}, retained`
          : `${d.engine} ${d.version}, ${d.sizeGb} GiB, ${d.state}`
      ),
    creates: [...creates].toSorted(([a], [b]) => a < b ? -1 : 1).map(([, n]) => n),
    modifies: mine.filter((e) => e.kind === "modify" && /"(sizeGb|version)"/.test(e.detail)).length,
  };
}

/** What of an end differs though it must not, one sentence each; `undefined` where the two cannot be compared. */
export function differences(name: string, faulty: End, free: End): string[] | undefined {
  if (faulty.deeds.some((d) => d.includes("too late")) || free.deeds.some((d) => d.includes("too late"))) {
    return undefined;
  }
  if (faulty.deeds.join() !== free.deeds.join()) return undefined;
  const problems: string[] = [];
  const same = (what: string, a: unknown, b: unknown) => {
    if (JSON.stringify(a) !== JSON.stringify(b)) {
      problems.push(`${name} ends with ${what} ${JSON.stringify(a)}, without faults ${JSON.stringify(b)}`);
    }
  };
  same("resource", faulty.resource, free.resource);
  // One that was deleted early may have had a database in one run and none in the other.
  if (faulty.live || faulty.creates.join() === free.creates.join()) {
    same("databases", faulty.databases, free.databases);
  }
  for (const n of faulty.creates) if (n > 1) problems.push(`${n} databases were made for one ${name}`);
  const edits = faulty.deeds.filter((d) => d === "edit").length;
  // A lost answer costs no second change, for what is there is read first and the effect bound is waited for (rule 8);
  // but a process that dies takes with it that a change may be on its way, and the next sends the same again.
  if (faulty.modifies > edits + faulty.deaths) {
    problems.push(
      `${faulty.modifies} changes for ${edits} edits of ${name} and ${faulty.deaths} deaths of processes`,
    );
  }
  return problems;
}

/** Runs a plan and, where that can be compared, its script without faults; a difference is a violation. */
export async function runAndCompare(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const result = await runPlan(plan, options);
  const script = result.violation === undefined ? withoutFaults(plan) : undefined;
  if (script === undefined) return result;
  const { promises: _, trace: _trace, ...rest } = options;
  const free = await runPlan(script, { ...rest, digest: false });
  const count = (word: string) => {
    result.coverage.compared[word] = (result.coverage.compared[word] ?? 0) + 1;
  };
  if (free.violation !== undefined) {
    return broken(result, free.violation.oracle, `without faults: ${free.violation.what}`);
  }
  let compared = false;
  for (const name of comparable(plan)) {
    const ends = [result.ends.get(name), free.ends.get(name)] as const;
    if (ends[0] === undefined || ends[1] === undefined) continue;
    const found = differences(name, ends[0], ends[1]);
    count(found === undefined ? "resources left out for what users' deeds met" : "resources");
    compared ||= found !== undefined;
    if (found !== undefined && found.length > 0) return broken(result, "same end", found.join("; "));
  }
  if (compared) count("worlds");
  return result;
}

function broken(result: RunResult, oracle: string, what: string): RunResult {
  const violation: Violation = { oracle, what, at: result.ms };
  return { ...result, violation, violations: [violation] };
}
