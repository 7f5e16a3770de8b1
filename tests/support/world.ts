/**
 * The whole operator over models of cluster and cloud, in virtual time: the world that behaviour tests act on.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import type { LogFields, LogLevel } from "../../src/core/log.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import type { EventRecord } from "../../src/kube/port.ts";
import type { Transition } from "../../src/operator/keeper.ts";
import { createOperator, type Operator, type OperatorDeps } from "../../src/operator/operator.ts";
import { SimulatedCloud, type SimulatedCloudOptions } from "../../src/providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { ManualClock } from "./manual_clock.ts";
import { ModelSecrets } from "./model_secrets.ts";
import { ModelCluster } from "./model_cluster.ts";

/** One process of the operator in the world. */
export interface Process {
  readonly operator: Operator;
  /** Ends it as a crash does: no call goes out any more, nothing is awaited. */
  crash(): void;
  /** Ends it as SIGTERM does; resolves to how many timers the world had at that moment. */
  stop(): Promise<number>;
}

/** A world. */
export class World {
  readonly clock = new ManualClock();
  readonly cluster = new ModelCluster(this.clock);
  readonly secrets = new ModelSecrets(
    this.clock,
    (uid) => this.cluster.all().some((o) => o.metadata.uid === uid),
  );
  readonly cloud: SimulatedCloud;
  readonly events: EventRecord[] = [];
  readonly lines: { level: LogLevel; message: string; fields: LogFields }[] = [];
  readonly transitions: Transition[] = [];
  readonly #random = seededRandom(42);
  readonly #processes: Process[] = [];

  constructor(cloud: Partial<SimulatedCloudOptions> = {}) {
    this.cloud = new SimulatedCloud({ clock: this.clock, random: seededRandom(7), jitter: 0, ...cloud });
  }

  /** Starts a process of the operator. */
  start(deps: Partial<OperatorDeps> = {}): Process {
    const dead = { yes: false };
    // A crashed process sends nothing more: its ports end in a promise that never settles.
    const gate = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (t, property) => {
          const value = Reflect.get(t, property);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) => dead.yes ? new Promise(() => {}) : Reflect.apply(value, t, args);
        },
      });
    const operator = createOperator({
      cluster: gate(this.cluster),
      secrets: gate(this.secrets.port),
      entropy: { bytes: (n) => Uint8Array.from({ length: n }, () => Math.floor(this.#random.next() * 256)) },
      provider: gate(createSimulatedProvider(this.cloud, { clock: this.clock })),
      recorder: { record: (event) => void (dead.yes || this.events.push(event)) },
      clock: this.clock,
      random: this.#random,
      log: {
        log: (level, message, fields = {}) => void (dead.yes || this.lines.push({ level, message, fields })),
      },
      metrics: noMetrics,
      onTransition: (t) => void (dead.yes || this.transitions.push(t)),
      ...deps,
    });
    const abort = new AbortController();
    const running = operator.run(abort.signal);
    const process: Process = {
      operator,
      crash: () => {
        dead.yes = true;
        abort.abort(new Error("crashed"));
        for (const keeper of operator.supervisor.keepers) keeper.stop();
      },
      stop: async () => {
        abort.abort(new Error("stopped"));
        const drained = operator.drain(5_000).then(() => this.clock.pending);
        await this.run(6_000);
        await running;
        return await drained;
      },
    };
    this.#processes.push(process);
    return process;
  }

  /** Lets `ms` milliseconds pass. */
  async run(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Lets time pass until `condition` holds; fails when it does not within `limitMs` of virtual time. */
  async until(what: string, condition: () => boolean, limitMs = 120_000, stepMs = 100): Promise<void> {
    for (let passed = 0; !condition(); passed += stepMs) {
      if (passed > limitMs) {
        throw new Error(`${what}: not within ${limitMs} ms of virtual time\n${this.describe()}`);
      }
      await this.run(stepMs);
    }
  }

  /** A resource of the namespace `default`. */
  get(name: string): ExternalDatabase | undefined {
    return this.cluster.read("default", name);
  }

  /** A condition as `status/reason`. */
  condition(name: string, type: "Ready" | "Synced" | "WithinQuota"): string {
    const c = this.get(name)?.status?.conditions?.find((c) => c.type === type);
    return c === undefined ? "none" : `${c.status}/${c.reason}`;
  }

  /** Waits until a resource is Available and in step. */
  async available(...names: string[]): Promise<void> {
    await this.until(
      `${names.join(", ")} in step`,
      () =>
        names.every((n) =>
          this.condition(n, "Ready") === "True/Available" && this.condition(n, "Synced") === "True/Available"
        ),
    );
  }

  /** Mutating calls that took effect, as `verb id`. */
  effects(): string[] {
    return this.cloud.ledger.effects({ by: "api" }).map((e) => `${e.kind} ${e.id}`);
  }

  /** S1 and S2 over the cloud's own books: one live database per UID at most, none without a CR. */
  assertSafe(): void {
    const uids = new Set(this.cluster.all().map((o) => o.metadata.uid));
    for (const [uid, live] of this.cloud.liveByUid()) {
      assert(live.length <= 1, `S1: ${live.length} live databases for UID ${uid}`);
      assert(uids.has(uid), `S2: a database without resource, UID ${uid}`);
    }
  }

  /** Ends all processes. */
  end(): void {
    for (const process of this.#processes) process.crash();
  }

  /** What a failing test wants to see. */
  describe(): string {
    const objects = this.cluster.all().map((o) =>
      JSON.stringify({
        meta: { f: o.metadata.finalizers, d: o.metadata.deletionTimestamp, g: o.metadata.generation },
        spec: o.spec,
        status: o.status,
      })
    );
    const lines = this.lines.slice(-25).map((l) => `${l.level} ${l.message} ${JSON.stringify(l.fields)}`);
    return [...objects, ...lines, ...this.effects()].join("\n");
  }
}

/** Runs `body` in a world and ends the world. */
export async function inWorld(
  cloud: Partial<SimulatedCloudOptions>,
  body: (world: World) => Promise<void>,
): Promise<void> {
  const world = new World(cloud);
  try {
    await body(world);
  } finally {
    world.end();
  }
}
