/**
 * A simulated world: clock, cluster, cloud, lease and the operator's processes, in which a plan happens.
 *
 * @module
 */
import type { Logger } from "../core/log.ts";
import type { OperatorDeps } from "../operator/operator.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import { SimulatedCloud } from "../providers/simulated/cloud.ts";
import { KIND_CLUSTER, SimulatedKube } from "./kube_port.ts";
import { KubeStore } from "./kube_store.ts";
import { SimulatedLease } from "./lease.ts";
import type { Deed, Plan } from "./plan.ts";
import { type ProcessObserver, SimulatedProcess } from "./process.ts";
import { Dice } from "./random.ts";
import { perform } from "./deeds.ts";
import type { SubjectFactory } from "./subject.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** The account that everything belongs in. */
export const ACCOUNT = "simulated";

/** What a world tells. */
export interface WorldObserver extends ProcessObserver {
  /** One readable line; `who` did it. */
  say(who: string, line: string): void;
  /** A deed of the plan happens. */
  deed(deed: Deed): void;
  /** A person put a second database of this UID in. */
  duplicated(uid: string): void;
  /** The cluster went back in time; these UIDs had changed since. */
  restored(uids: readonly string[], secrets: readonly string[]): void;
  /** The credentials lead to another account now. */
  accountSwitched(): void;
}

/** What replaces parts of a world. */
export interface WorldOptions {
  readonly deps?: Partial<OperatorDeps> | undefined;
  /** What the processes run. @default the operator */
  readonly subject?: SubjectFactory | undefined;
  /** Stands between the operator and its provider. */
  readonly wrapProvider?: ((provider: DatabaseProvider) => DatabaseProvider) | undefined;
}

/** A world. */
export class World {
  readonly clock = new VirtualClock();
  readonly store: KubeStore;
  readonly kube: SimulatedKube;
  readonly cloud: SimulatedCloud;
  readonly processes: SimulatedProcess[] = [];
  readonly origin: number;
  readonly #lease: SimulatedLease | undefined;
  readonly #seed: number;
  #born = 0;
  #calm = false;

  constructor(
    readonly plan: Plan,
    readonly observer: WorldObserver,
    readonly options: WorldOptions = {},
  ) {
    const { clock } = this;
    this.#seed = plan.seed;
    this.origin = clock.monotonic();
    this.store = new KubeStore(clock);
    this.kube = new SimulatedKube(this.store, clock, new Dice(plan.seed, "kube"));
    this.kube.faults = { ...plan.kube };
    this.cloud = new SimulatedCloud({
      clock,
      random: new Dice(plan.seed, "cloud"),
      account: ACCOUNT,
      ...plan.cloud,
    });
    this.#lease = plan.lease ?? plan.replicas === 2 ? new SimulatedLease() : undefined;
    for (const action of plan.actions) {
      clock.setTimeout(() => perform(this, action), action.at);
    }
    for (let n = 0; n < plan.replicas; n++) this.#spawn(0);
    clock.setTimeout(() => this.#endFaults(), plan.chaosMs);
  }

  /** Milliseconds since the beginning. */
  get time(): number {
    return this.clock.monotonic() - this.origin;
  }

  /** Faults have ended. */
  get calm(): boolean {
    return this.#calm;
  }

  /** The process that works, if one does. */
  get working(): SimulatedProcess | undefined {
    return this.processes.find((p) => p.working);
  }

  /** The `nth` living process. */
  process(nth: number): SimulatedProcess | undefined {
    const alive = this.processes.filter((p) => p.alive);
    return alive[nth % Math.max(1, alive.length)];
  }

  /** Ends every process. */
  end(): void {
    for (const process of this.processes) {
      process.crash("the end");
    }
  }

  #spawn(afterMs: number): void {
    const n = ++this.#born;
    const dice = new Dice(this.#seed, `process ${n}`);
    const secret = new Dice(this.#seed, `passwords ${n}`);
    this.clock.setTimeout(() => {
      const process = new SimulatedProcess({
        name: `p${n}`,
        clock: this.clock,
        kube: this.kube,
        cloud: this.cloud,
        lease: this.#lease,
        dice,
        doom: this.#calm ? undefined : this.plan.dooms[n - 1] ?? undefined,
        skewMs: this.plan.skews?.[n - 1] ?? 0,
        deps: {
          pollIntervalMs: this.plan.pollMs,
          cacheTtlMs: this.plan.pollMs,
          hibernateAfterMs: this.plan.hibernateAfterMs,
          concurrency: this.plan.concurrency,
          entropy: { bytes: (size) => Uint8Array.from({ length: size }, () => secret.int(0, 255)) },
          reflector: { pageSize: this.plan.pageSize },
          ...this.options.deps,
        },
        subject: this.options.subject,
        wrapProvider: this.options.wrapProvider,
        observer: {
          call: (...a) => this.observer.call(...a),
          answer: (...a) => this.observer.answer(...a),
          mutation: (...a) => this.observer.mutation(...a),
          log: (p, ...line: Parameters<Logger["log"]>) => this.observer.log(p, ...line),
          event: (...a) => this.observer.event(...a),
          transition: (...a) => this.observer.transition(...a),
          stopped: (...a) => this.observer.stopped(...a),
          died: (dead, why) => {
            this.processes.splice(this.processes.indexOf(dead), 1);
            this.observer.died(dead, why);
            if (why !== "the end") {
              this.#spawn(100 + dice.next() * (this.#calm ? 1_000 : this.plan.restartMs));
            }
          },
        },
      });
      this.processes.push(process);
      this.observer.say(process.name, "starts");
      process.start();
    }, afterMs);
  }

  #endFaults(): void {
    this.#calm = true;
    this.observer.say("world", "all faults end");
    const { latencyMs, ratePerSecond } = this.plan.kube;
    this.kube.faults = {
      ...KIND_CLUSTER,
      latencyMs,
      watchLagMs: 1_000,
      ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
    };
    this.kube.outage = undefined;
    this.kube.denied.clear();
    this.kube.breakWatches();
    this.store.installCrd();
    this.cloud.faults.clear();
    this.cloud.configure({
      loseAnswers: 0,
      failBefore: 0,
      failAfter: 0,
      lateEffects: 0,
      provisionFailures: 0,
      snapshotFailures: 0,
      ratePerSecond: 0,
    });
    if (this.cloud.settings.account !== ACCOUNT) {
      this.cloud.configure({ account: ACCOUNT });
      this.observer.accountSwitched();
    }
    for (const process of this.processes) {
      process.spare();
      process.clock.wake();
    }
  }
}
