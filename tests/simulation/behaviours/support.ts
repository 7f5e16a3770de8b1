/**
 * Scripts written by hand in the simulated world: what users, cloud and fate do, and what must be seen of it at once.
 * The judges of the campaign (S1 to S7, settling, silence) sit over every one, and most scripts run once more for each
 * call at which their first process can die.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabase, ExternalDatabaseSpec } from "../../../src/api/schema.ts";
import { sleep } from "../../../src/core/wait.ts";
import type { EventRecord } from "../../../src/kube/port.ts";
import type { OperatorDeps } from "../../../src/operator/operator.ts";
import type { DatabaseProvider } from "../../../src/providers/port.ts";
import type { CallEntry, Effect } from "../../../src/providers/simulated/ledger.ts";
import type { CloudRecord } from "../../../src/providers/simulated/types.ts";
import { perform } from "../../../src/simulation/deeds.ts";
import { type Deed, PLAIN_PLAN, type Plan } from "../../../src/simulation/plan.ts";
import type { Doom } from "../../../src/simulation/process.ts";
import { runPlan, type RunResult } from "../../../src/simulation/run.ts";
import type { World } from "../../../src/simulation/world.ts";

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const NAMESPACE = "default";
/** What a script asks for unless it says otherwise. */
export const SPEC: ExternalDatabaseSpec = { engine: "postgres", version: "14.2", sizeGb: 20 };

/** A world for a script. */
export interface Scene {
  /** Length of the script, in virtual minutes; then all faults end and the world must settle. @default 10 */
  readonly minutes?: number | undefined;
  /** Differences from {@linkcode BASE}; `cloud` and `kube` are merged. */
  readonly plan?: Omit<Partial<Plan>, "kube"> & { readonly kube?: Partial<Plan["kube"]> } | undefined;
  readonly deps?: Partial<OperatorDeps> | undefined;
  /** Stands between the operator and its provider. */
  readonly wrap?: ((provider: DatabaseProvider, stage: () => Stage) => DatabaseProvider) | undefined;
}

/** A small, quick and honest world. */
export const BASE: Plan = {
  ...PLAIN_PLAN,
  pollMs: MINUTE,
  cloud: {
    readLagMs: 0,
    tokenMemoryMs: 3_000,
    effectBoundMs: 3_000,
    latencyMs: 40,
    provisionMs: 500,
    modifyMs: 300,
    deleteMs: 300,
    jitter: 0,
  },
  chaosMs: 10 * MINUTE,
};

/** Clouds that differ in what a script's outcome hangs on: tokens, and how late lists are. */
export const CLOUDS: Readonly<Record<string, Plan["cloud"]>> = {
  "tokens": {},
  "tokens, lists 20 s late": { readLagMs: 20 * SECOND },
  "no tokens": { clientTokens: false },
  "no tokens, lists 20 s late": { clientTokens: false, readLagMs: 20 * SECOND },
};

/** The kindest and the hardest of {@linkcode CLOUDS}: for what is played at many crash points. */
export const EXTREMES: typeof CLOUDS = {
  "tokens": CLOUDS["tokens"] ?? {},
  "no tokens, lists 20 s late": CLOUDS["no tokens, lists 20 s late"] ?? {},
};

/** A script's hands and eyes. */
export class Stage {
  readonly events: EventRecord[] = [];

  constructor(readonly world: World) {}

  get cloud(): World["cloud"] {
    return this.world.cloud;
  }

  /** Milliseconds since the beginning. */
  get time(): number {
    return this.world.time;
  }

  /** Lets `ms` milliseconds pass. */
  pause(ms: number): Promise<void> {
    return sleep(this.world.clock, ms);
  }

  /** Lets time pass until `condition` holds; fails when it does not within `limitMs`. How long it took, in milliseconds. */
  async until(what: string, condition: () => boolean, limitMs = 2 * MINUTE, stepMs = 50): Promise<number> {
    const from = this.time;
    while (!condition()) {
      if (this.time - from > limitMs) {
        const said = this.world.store.all().map((o) =>
          `${o.metadata.name}: Ready ${this.condition(o.metadata.name, "Ready")}, Synced ${
            this.condition(o.metadata.name, "Synced")
          }`
        );
        throw new Error(`${what}: not within ${limitMs} ms; ${said.join("; ")}`);
      }
      await this.pause(stepMs);
    }
    return this.time - from;
  }

  /** Fails unless `condition` holds all the time for `ms` milliseconds. */
  async always(what: string, condition: () => boolean, ms: number, stepMs = 250): Promise<void> {
    for (const until = this.time + ms; this.time < until;) {
      assert(condition(), `${what}: not so at ${Math.round(this.time)} ms`);
      await this.pause(Math.min(stepMs, until - this.time));
    }
    assert(condition(), `${what}: not so at ${Math.round(this.time)} ms`);
  }

  /** Lets a deed happen. */
  do(deed: Deed): void {
    perform(this.world, { at: 0, ...deed });
  }

  /** A user applies manifests. */
  create(names: string | readonly string[], spec: Partial<ExternalDatabaseSpec> = {}): void {
    for (const name of [names].flat()) this.do({ do: "create", name, spec: { ...SPEC, ...spec } });
  }

  edit(name: string, change: Partial<ExternalDatabaseSpec>): void {
    this.do({ do: "edit", name, change });
  }

  remove(name: string): void {
    this.do({ do: "delete", name });
  }

  /** The resource, or `undefined`. */
  find(name: string): ExternalDatabase | undefined {
    return this.world.store.find({ namespace: NAMESPACE, name });
  }

  /** The resource, which must be there. */
  get(name: string): ExternalDatabase {
    const object = this.find(name);
    if (object === undefined) throw new Error(`There is no ${name}`);
    return object;
  }

  /** A condition as `status/reason`. */
  condition(name: string, type: "Ready" | "Synced"): string {
    const c = this.find(name)?.status?.conditions?.find((c) => c.type === type);
    return c === undefined ? "none" : `${c.status}/${c.reason}`;
  }

  /** A condition's message. */
  message(name: string, type: "Ready" | "Synced" = "Synced"): string {
    return this.find(name)?.status?.conditions?.find((c) => c.type === type)?.message ?? "";
  }

  /** Whether all of them are in step. */
  inStep(...names: readonly string[]): boolean {
    return names.every((n) =>
      this.condition(n, "Ready") === "True/Available" && this.condition(n, "Synced") === "True/Available" &&
      this.get(n).status?.observedGeneration === this.get(n).metadata.generation
    );
  }

  /** Waits until they are Available and in step. */
  available(names: string | readonly string[], limitMs = 3 * MINUTE): Promise<number> {
    const all = [names].flat();
    return this.until(`${all.join(", ")} in step`, () => this.inStep(...all), limitMs);
  }

  /** Waits until they are gone. */
  gone(names: string | readonly string[], limitMs = 3 * MINUTE): Promise<number> {
    const all = [names].flat();
    return this.until(`${all.join(", ")} gone`, () => all.every((n) => this.find(n) === undefined), limitMs);
  }

  /** The id that a resource's status names. */
  id(name: string): string {
    return this.get(name).status?.providerId ?? "";
  }

  /** The recorded database of a resource. */
  database(name: string): CloudRecord {
    const record = this.cloud.get(this.id(name));
    if (record === undefined) throw new Error(`There is no database ${this.id(name)} of ${name}`);
    return record;
  }

  /** A mark to count from. */
  mark(): number {
    return this.cloud.ledger.mark();
  }

  /** Mutating calls sent since a mark. */
  mutations(since = 0): CallEntry[] {
    return this.cloud.ledger.mutatingCalls(since);
  }

  /** Calls of one kind sent since a mark. */
  calls(verb: CallEntry["verb"], since = 0): CallEntry[] {
    return this.cloud.ledger.calls({ verb, since });
  }

  /** Changes that the operator made at the cloud since a mark. */
  effects(kind: Effect["kind"], since = 0): Effect[] {
    return this.cloud.ledger.effects({ kind, by: "api", since });
  }

  /** Reasons of the Events about a resource, in order. */
  told(name: string): string[] {
    return this.events.filter((e) => e.regarding.metadata.name === name).map((e) => e.reason);
  }

  /** Writes of the operator on a resource since version `rv`. */
  writes(name: string, rv: number): number {
    return this.world.store.since(rv)
      .filter((c) => c.by !== "user" && c.object.metadata.name === name).length;
  }
}

/** A script. */
export type Body = (stage: Stage) => Promise<void>;

/** How a script went. */
interface Played extends RunResult {
  /** Calls that the first process had made when the script was over. */
  readonly scripted: number;
}

/** Lines of the trace that a failure quotes. */
const LINES = Number(Deno.env.get("TRACE_LINES") ?? 30);

/** Plays a script once. Rejects with what it, or a judge, found, and the last lines of the trace. */
export async function play(scene: Scene, body: Body): Promise<void> {
  await run(scene, body);
}

async function run(scene: Scene, body: Body): Promise<Played> {
  const minutes = scene.minutes ?? 10;
  const { plan = {}, wrap, deps } = scene;
  const whole: Plan = {
    ...BASE,
    ...plan,
    cloud: { ...BASE.cloud, ...plan.cloud },
    kube: { ...BASE.kube, ...plan.kube },
    chaosMs: minutes * MINUTE,
  };
  let stage: Stage | undefined;
  let scripted: number | undefined;
  const onStage = (): Stage => {
    assert(stage !== undefined, "The stage is not set yet");
    return stage;
  };
  const result = await runPlan(whole, {
    trace: true,
    deps,
    ...(wrap === undefined ? {} : { wrapProvider: (provider) => wrap(provider, onStage) }),
    onEvent: (event) => onStage().events.push(event),
    onWorld: (world, fail) => {
      stage = new Stage(world);
      body(stage).then(
        () => {
          scripted = world.processes[0]?.calls ?? 0;
        },
        (error: unknown) =>
          fail("script", error instanceof Error ? error.stack ?? error.message : String(error)),
      );
    },
  });
  const { violation, trace } = result;
  const wrong = violation !== undefined
    ? `${violation.oracle}: ${violation.what}`
    : scripted === undefined
    ? `the script was not over within ${minutes} minutes`
    : undefined;
  if (wrong !== undefined) throw new Error(`${wrong}\n${trace.slice(-LINES).join("\n")}`);
  return { ...result, scripted: scripted ?? 0 };
}

const WHENS: readonly Doom["when"][] = ["before", "sent", "answered"];

/**
 * Plays a script, then again with its first process killed before, right after and at the answer of every call that it
 * makes while the script lasts; of a long one at `points` calls, spread evenly.
 */
export async function playAtEveryCrash(scene: Scene, body: Body, points = 25): Promise<void> {
  const { scripted } = await run(scene, body);
  const step = Math.max(1, scripted / points);
  let runs = 1;
  for (let at = 0; at < scripted; at += step) {
    const call = Math.floor(at);
    for (const when of WHENS) {
      const plan = { ...scene.plan, dooms: [{ call, when }] };
      try {
        await play({ ...scene, plan }, body);
      } catch (error) {
        throw new Error(`killed ${when} call ${call}: ${error instanceof Error ? error.message : error}`);
      }
      runs++;
    }
  }
  assert(runs > 3, "no call to die at");
}

/** A test for each variant, with what differs in its title. */
export function each<T>(
  variants: Readonly<Record<string, T>>,
  title: (words: string) => string,
  body: (variant: T) => Promise<void>,
): void {
  for (const [words, variant] of Object.entries(variants)) Deno.test(title(words), () => body(variant));
}

/** S1 and S2 by hand: exactly one database for each of these, and none besides. */
export function assertOneEach(stage: Stage, ...names: readonly string[]): void {
  const databases = stage.cloud.databases("simulated");
  assertEquals(databases.length, names.length, `databases: ${databases.map((d) => d.id).join(", ")}`);
  for (const name of names) stage.database(name);
}
