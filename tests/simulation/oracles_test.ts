/**
 * Each judge of the simulation can find somebody guilty: a world that is quiet but for one planted misdeed.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase, ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { type DatabaseProvider, ProviderError } from "../../src/providers/port.ts";
import { runSeeds } from "../../src/simulation/campaign.ts";
import { runAndCompare } from "../../src/simulation/compare.ts";
import { SETTLE_BOUND_MS } from "../../src/simulation/ending.ts";
import { KIND_CLUSTER } from "../../src/simulation/kube_port.ts";
import { type Action, PLAIN_PLAN, type Plan } from "../../src/simulation/plan.ts";
import type { Mutation } from "../../src/simulation/gates.ts";
import { type RunOptions, runPlan } from "../../src/simulation/run.ts";
import type { World } from "../../src/simulation/world.ts";

const SPEC = { engine: "postgres", version: "14.2", sizeGb: 20 };
const KEY = { namespace: "default", name: "a" };
const CREATE: Action = { at: 0, do: "create", name: "a", spec: SPEC };
const MINUTE = 60_000;

function quiet(actions: readonly Action[] = [CREATE], change: Partial<Plan> = {}): Plan {
  return {
    ...PLAIN_PLAN,
    cloud: { latencyMs: 5, provisionMs: 100, modifyMs: 5_000, deleteMs: 5_000, jitter: 0 },
    kube: { ...KIND_CLUSTER, watchLagMs: 5 },
    chaosMs: 3 * MINUTE,
    restartMs: 500,
    actions,
    ...change,
  };
}

interface Misdeed {
  readonly oracle: string;
  readonly what: string;
  readonly actions?: readonly Action[];
  readonly change?: Partial<Plan>;
  /** When, in milliseconds. @default 10_000 */
  readonly at?: number;
  readonly act: (world: World) => void;
}

function get(world: World): ExternalDatabase {
  return world.store.get(KEY);
}

/** Writes a status as the operator would. */
function say(world: World, change: (status: ExternalDatabaseStatus) => ExternalDatabaseStatus): void {
  world.store.patchStatus(
    KEY,
    [{ op: "replace", path: "/status", value: change(get(world).status ?? {}) }],
    "p1",
  );
}

function conditions(world: World, change: (c: Record<string, unknown>) => Record<string, unknown>) {
  say(world, (s) => ({ ...s, conditions: (s.conditions ?? []).map((c) => change({ ...c })) }) as typeof s);
}

/** Tells the judges that the operator sends this. */
function send(world: World, mutation: Partial<Mutation> & Pick<Mutation, "verb" | "target">) {
  const process = world.working;
  assert(process !== undefined);
  return world.observer.mutation(process, { uid: undefined, values: true, ...mutation });
}

function id(world: World): string {
  return get(world).status?.providerId ?? "";
}

/** Calls the cloud as the operator would. */
function call(world: World, what: Parameters<World["cloud"]["call"]>[0]): void {
  world.cloud.call(what, { caller: "p1" }).catch(() => {});
}

function dropFinalizers(world: World, kept: readonly string[] = []): void {
  world.store.patch(KEY, [{ op: "replace", path: "/metadata/finalizers", value: kept }], "p1");
}

const create = (uid: string) =>
  ({
    verb: "create",
    body: { name: "a", ...SPEC, tags: { [TAG.uid]: uid, [TAG.crName]: "a" } },
  }) as const;
/** When the quiet plan's silence is under way. */
const SILENCE = 3 * MINUTE + 1_000 + 33_000 + MINUTE + 60_000;

const MISDEEDS: readonly Misdeed[] = [
  { oracle: "S1", what: "a second database for one UID", act: (w) => call(w, create(get(w).metadata.uid)) },
  {
    oracle: "S2",
    what: "a database for a resource that is gone",
    actions: [CREATE, { at: 5_000, do: "delete", name: "a" }],
    at: 30_000,
    act: (w) => call(w, create("00000000-0000-4000-8000-000000000001")),
  },
  {
    oracle: "L1",
    what: "a database that outlives its resource",
    actions: [CREATE, { at: 5_000, do: "delete", name: "a" }],
    at: 30_000,
    act: (w) => void w.cloud.insert({ tags: { [TAG.uid]: "00000000-0000-4000-8000-000000000001" } }),
  },
  {
    oracle: "S3",
    what: "a change of a database that is nobody's",
    at: 100_000,
    actions: [CREATE, { at: 1_000, do: "foreign", name: "x" }],
    act: (w) => {
      const theirs = w.cloud.databases().find((d) => d.tags["owner"] === "someone");
      call(w, { verb: "modify", id: theirs?.id ?? "", body: { sizeGb: 90 } });
    },
  },
  {
    oracle: "S3",
    what: "a delete of a database that is nobody's",
    at: 100_000,
    actions: [CREATE, { at: 1_000, do: "foreign", name: "x" }],
    act: (w) => {
      const theirs = w.cloud.databases().find((d) => d.tags["owner"] === "someone");
      send(w, { verb: "delete", target: theirs?.id ?? "" });
    },
  },
  {
    oracle: "S3",
    what: "a delete of the database of a resource that lives",
    at: 100_000,
    act: (w) => void send(w, { verb: "delete", target: id(w) }),
  },
  {
    oracle: "S3",
    what: "the record of another's database",
    at: 100_000,
    actions: [CREATE, { at: 1_000, do: "foreign", name: "x" }],
    act: (w) => {
      const theirs = w.cloud.databases().find((d) => d.tags["owner"] === "someone");
      say(w, (s) => ({ ...s, providerId: theirs?.id ?? "" }));
    },
  },
  { oracle: "S4", what: "the release of a resource that is not deleted", act: (w) => dropFinalizers(w) },
  {
    oracle: "S4",
    what: "a release while the database is there",
    actions: [CREATE, { at: 5_000, do: "delete", name: "a" }],
    at: 5_500,
    act: (w) => dropFinalizers(w),
  },
  {
    oracle: "S5",
    what: "a thousand calls in a minute",
    act: (w) => {
      const process = w.working;
      assert(process !== undefined);
      for (let n = 0; n < 1_000; n++) w.observer.call(process, "cloud get x");
    },
  },
  {
    oracle: "S5",
    what: "a mutating call that is sent again and again",
    act: (w) => {
      for (let n = 0; n < 50; n++) send(w, { verb: "modify", target: id(w), values: false })(undefined);
    },
  },
  {
    oracle: "S5",
    what: "a mutating call though all is in step",
    at: SILENCE,
    act: (w) => call(w, { verb: "modify", id: id(w), body: { tags: { x: "y" } } }),
  },
  {
    oracle: "S5",
    what: "a write though all is in step",
    at: SILENCE,
    act: (w) => void w.store.patch(KEY, [{ op: "add", path: "/metadata/labels", value: { x: "y" } }], "p1"),
  },
  {
    oracle: "S5",
    what: "a hundred timers",
    act: (w) => {
      for (let n = 0; n < 100; n++) w.working?.clock.setTimeout(() => {}, 100 * MINUTE);
    },
  },
  {
    oracle: "S5",
    what: "reads in silence without an end",
    at: SILENCE,
    act: (w) => {
      const process = w.working;
      assert(process !== undefined);
      Object.defineProperty(process, "calls", { value: 100_000 });
    },
  },
  {
    oracle: "S6",
    what: "a database given up that is there",
    act: (w) => say(w, ({ providerId: _, ...s }) => s),
  },
  {
    oracle: "S7",
    what: "a change of the spec by the operator",
    act: (w) => void w.store.patch(KEY, [{ op: "replace", path: "/spec/sizeGb", value: 30 }], "p1"),
  },
  {
    oracle: "D6",
    what: "another's finalizer taken away",
    actions: [{ ...CREATE, foreignFinalizer: true } as Action],
    act: (w) => dropFinalizers(w, [FINALIZER]),
  },
  {
    oracle: "rule 14",
    what: "a create though it knew of the pause",
    actions: [CREATE, { at: 5_000, do: "edit", name: "a", change: { paused: true } }],
    act: (w) => void send(w, { verb: "create", target: get(w).metadata.uid }),
  },
  {
    oracle: "D4",
    what: "a create for a resource that was paused long ago, by one who had not heard of it",
    actions: [CREATE, { at: 5_000, do: "edit", name: "a", change: { paused: true } }],
    at: 100_000,
    act: (w) => {
      Object.assign(w.working?.hearing ?? {}, { known: () => undefined });
      send(w, { verb: "create", target: get(w).metadata.uid });
    },
  },
  {
    oracle: "rule 9",
    what: "a delete though the policy is Retain, by one who had not heard of it",
    actions: [
      { ...CREATE, spec: { ...SPEC, deletionPolicy: "Retain" }, foreignFinalizer: true } as Action,
      { at: 5_000, do: "delete", name: "a" },
    ],
    at: 100_000,
    act: (w) => {
      Object.assign(w.working?.hearing ?? {}, { known: () => undefined });
      send(w, { verb: "delete", target: w.cloud.databases()[0]?.id ?? "" });
    },
  },
  {
    oracle: "rule 13",
    what: "a delete while the CRD is being deleted",
    actions: [{ ...CREATE, foreignFinalizer: true } as Action, { at: 5_000, do: "deleteCrd" }],
    at: 100_000,
    act: (w) => void send(w, { verb: "delete", target: w.cloud.databases()[0]?.id ?? "" }),
  },
  {
    oracle: "rule 7",
    what: "the record of a database that is being deleted",
    actions: [CREATE],
    act: (w) => {
      const made = w.cloud.insert({
        tags: { [TAG.uid]: get(w).metadata.uid },
        state: "Deleting",
      });
      say(w, (s) => ({ ...s, providerId: made.id }));
    },
  },
  {
    oracle: "rule 8",
    what: "a change within the effect bound of one of unknown outcome",
    act: (w) => {
      send(w, { verb: "modify", target: id(w) })(new ProviderError("unknown", "no answer"));
      send(w, { verb: "modify", target: id(w) });
    },
  },
  {
    oracle: "in-flight",
    what: "two mutations at once",
    act: (w) => {
      send(w, { verb: "modify", target: id(w) });
      send(w, { verb: "delete", target: id(w) });
    },
  },
  {
    oracle: "H1",
    what: "a mutation by one who does not lead",
    change: { replicas: 2 },
    act: (w) => {
      const standby = w.processes.find((p) => !p.leads);
      assert(standby !== undefined);
      const { uid } = get(w).metadata;
      w.observer.mutation(standby, { verb: "create", target: uid, uid, values: true });
    },
  },
  {
    oracle: "observedGeneration",
    what: "a generation that is still to come",
    act: (w) => say(w, (s) => ({ ...s, observedGeneration: 99 })),
  },
  {
    oracle: "observedGeneration",
    what: "a generation that it had not heard of when it sent the claim",
    act: (w) => {
      const process = w.working;
      assert(process !== undefined);
      w.observer.call(process, "kube patchStatus a +/status/observedGeneration");
      w.store.edit(KEY, { pollInterval: "1m" });
      say(w, (s) => ({ ...s, observedGeneration: 2 }));
    },
  },
  {
    oracle: "observedGeneration",
    what: "a generation that the database does not show",
    act: (w) => {
      w.store.edit(KEY, { sizeGb: 40 });
      conditions(w, (c) => ({ ...c, observedGeneration: 2 }));
    },
  },
  {
    oracle: "L4",
    what: "a condition without a reason",
    act: (w) => conditions(w, (c) => ({ ...c, reason: "" })),
  },
  {
    oracle: "L4",
    what: "a condition that is not True and does not say why",
    act: (w) => conditions(w, (c) => ({ ...c, status: "False", message: "" })),
  },
  {
    oracle: "L4",
    what: "a status written again with nothing new",
    act: (w) => {
      const process = w.working;
      assert(process !== undefined);
      w.observer.call(process, "kube patchStatus a +/status/conditions");
      conditions(w, (c) => ({ ...c, lastTransitionTime: "2026-01-01T00:00:00Z" }));
    },
  },
  {
    oracle: "F4",
    what: "an actor that crashes",
    act: (w) => {
      const process = w.working;
      assert(process !== undefined);
      w.observer.log(process, "error", "An actor crashed", {});
    },
  },
  {
    oracle: "F4",
    what: "a rejection that nobody handles",
    act: () => void Promise.reject(new Error("planted")),
  },
  {
    oracle: "wait",
    what: "a timer that outlives the process's end",
    act: (w) => void w.working?.clock.setTimeout(() => {}, 100 * MINUTE),
  },
  {
    oracle: "wait",
    what: "an end that does not come",
    act: (w) => {
      Object.assign(w.working?.operator ?? {}, { drain: () => new Promise(() => {}) });
    },
  },
  {
    oracle: "L1",
    what: "an actor too many",
    act: (w) => {
      Object.defineProperty(w.working?.operator.supervisor, "size", { value: 7 });
    },
  },
  { oracle: "L1", what: "no process that works", act: (w) => w.working?.crash("the end") },
];

for (const { oracle, what, actions, change, at = 10_000, act } of MISDEEDS) {
  Deno.test(`The judge of ${oracle} sees ${what}`, async () => {
    const onWorld = (world: World) => void world.clock.setTimeout(() => act(world), at);
    const plan = quiet(actions, change);
    const honest = await runPlan(plan);
    assertEquals(honest.violation, undefined, "guilty without the misdeed");
    const { violation } = await runPlan(plan, { onWorld });
    assertEquals(violation?.oracle, oracle, violation?.what);
  });
}

/** A provider that refuses one kind of call for ever. */
function refusing(verb: "create" | "delete" | "modify"): RunOptions["wrapProvider"] {
  return (provider): DatabaseProvider => ({
    ...provider,
    [verb]: () => Promise.reject(new ProviderError("retryable", "not today")),
  });
}

for (
  const [verb, actions] of [
    ["create", [CREATE]],
    ["modify", [CREATE, { at: 5_000, do: "edit", name: "a", change: { sizeGb: 40 } }]],
    ["delete", [CREATE, { at: 5_000, do: "delete", name: "a" }]],
  ] as const
) {
  Deno.test(`The judge of L1 waits ${SETTLE_BOUND_MS / MINUTE} minutes for a ${verb} that never succeeds, and no longer`, async () => {
    const { violation } = await runPlan(quiet(actions), { wrapProvider: refusing(verb) });
    assertEquals(violation?.oracle, "L1");
    assert((violation?.at ?? 0) > SETTLE_BOUND_MS, "judged too early");
    assert((violation?.at ?? 0) < SETTLE_BOUND_MS + 10 * MINUTE, "judged too late");
  });
}

Deno.test("The judge of the same end sees a run with faults that ends with another size", async () => {
  let runs = 0;
  const wrapProvider = (provider: DatabaseProvider): DatabaseProvider => {
    const first = runs++ === 0;
    return {
      ...provider,
      create: (request, options) =>
        provider.create({ ...request, sizeGb: request.sizeGb + (first ? 10 : 0) }, options),
    };
  };
  const { violation, coverage } = await runAndCompare(quiet(), { wrapProvider });
  assertEquals(violation?.oracle, "same end");
  assertEquals(coverage.compared["resources"], 1);
  const fair = await runAndCompare(quiet());
  assertEquals(fair.violation, undefined);
  assertEquals(fair.coverage.compared["worlds"], 1);
});

Deno.test("An error of the simulation itself is a failure of its seed, and the next seed runs", async () => {
  const { count, failures } = await runSeeds(1, 2, {
    wrapProvider: () => {
      throw new Error("planted");
    },
  });
  assertEquals(count, 2);
  assertEquals(failures.map((f) => f.violation.oracle), ["simulation", "simulation"]);
});
