/**
 * The operator as one object: reflector, supervisor, actors, observer, scheduler, wired over ports.
 *
 * Everything that touches time, randomness, the network or the cluster comes in through {@linkcode OperatorDeps};
 * `start`, `demo`, the tests and the simulation all run this same wiring.
 *
 * @module
 */
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Random } from "../core/random.ts";
import { sleep } from "../core/wait.ts";
import type { Cluster, EventRecorder } from "../kube/port.ts";
import { Reflector, type ReflectorOptions } from "../kube/reflector.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import type { View } from "../statechart/view.ts";
import { AbsenceLedger } from "./absences.ts";
import { CrdWord } from "./crd_word.ts";
import { AccountWatch } from "./account.ts";
import { fencedCluster } from "./fenced_cluster.ts";
import { operatorMachine, type OperatorWorld } from "./effects/mod.ts";
import { ProviderGateway } from "./gateway.ts";
import type { KeeperEnv, Transition } from "./keeper.ts";
import { Observer } from "./observer.ts";
import { OrphanWatch } from "./orphans.ts";
import { Scheduler } from "./scheduler.ts";
import { Supervisor } from "./supervisor.ts";

/** What the operator is made of and tuned by. Times are in milliseconds. */
export interface OperatorDeps {
  readonly cluster: Cluster;
  readonly provider: DatabaseProvider;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** @default all */
  readonly namespaces?: readonly string[] | undefined;
  /** Period of the bulk list. @default 300_000 */
  readonly pollIntervalMs?: number;
  /** @default 300_000 */
  readonly cacheTtlMs?: number;
  /** Calls to the provider at once. @default 64 */
  readonly concurrency?: number;
  /** Calls to the provider a second; 0 means no limit. @default 0 */
  readonly ratePerSecond?: number;
  /** @default 30_000 */
  readonly callTimeoutMs?: number;
  /** Identity of the cluster; absent means the UID of the namespace kube-system. */
  readonly clusterId?: string | undefined;
  /** Throws when this process may not change anything at the provider now (rule 21). */
  readonly fence?: (() => void) | undefined;
  /** @default 600_000 */
  readonly hibernateAfterMs?: number;
  readonly onTransition?: (transition: Transition) => void;
  readonly inspect?: KeeperEnv["inspect"];
  readonly reflector?: Partial<ReflectorOptions>;
}

const MINUTES = 60_000;

/** A running operator. */
export class Operator {
  readonly reflector: Reflector;
  readonly supervisor: Supervisor;
  readonly gateway: ProviderGateway;
  readonly account: AccountWatch;
  readonly absences: AbsenceLedger;
  readonly orphans: OrphanWatch;
  readonly observer: Observer;
  readonly scheduler: Scheduler;
  readonly #deps: OperatorDeps;
  readonly #stop = new AbortController();
  #clusterId: string | undefined;
  #identityError: string | undefined;
  /** Process start or the taking of the lease (rule 5). */
  #settleSince: number;
  #draining = false;
  #background: Promise<unknown> = Promise.resolve();

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    const { clock, random, log, metrics } = deps;
    const cluster = fencedCluster(deps.cluster, deps.fence);
    this.#settleSince = clock.monotonic();
    const periodMs = deps.pollIntervalMs ?? 5 * MINUTES;
    this.scheduler = new Scheduler({
      clock,
      concurrency: deps.concurrency ?? 64,
      ratePerSecond: deps.ratePerSecond ?? 0,
      onDepth: (depth) => metrics.queueDepth(depth),
    });
    this.gateway = new ProviderGateway({
      provider: deps.provider,
      scheduler: this.scheduler,
      clock,
      metrics,
      callTimeoutMs: deps.callTimeoutMs ?? 30_000,
      fence: () => this.#fence(),
      // The list, whose failures are told else, waits behind all that is more urgent and may not be sent for long (L4).
      onThrottled: (error) => {
        this.supervisor.onUnreadable(error, true);
        this.observer.requestRound(); // for when it is over
      },
    });
    this.account = new AccountWatch({
      gateway: this.gateway,
      clock,
      random,
      log,
      onChange: () => this.supervisor.onWorldChanged(true),
    });
    this.absences = new AbsenceLedger({
      clock,
      periodMs,
      known: () => this.supervisor.known(),
      onChange: (active, held) => {
        log.log(
          active ? "error" : "info",
          active ? "Many databases turned absent together" : "Mass absence is over",
          {
            held,
          },
        );
        this.supervisor.onWorldChanged();
      },
    });
    this.observer = new Observer({
      gateway: this.gateway,
      clock,
      random,
      log,
      periodMs,
      clusterId: () => this.clusterId,
      hurried: () => this.supervisor.crowded,
      sink: {
        onRound: async (round) => {
          await this.supervisor.onRound(round);
          await this.orphans.judge(round, this.#stop.signal);
        },
        onUnreadable: (error) => this.supervisor.onUnreadable(error),
      },
    });
    const world: OperatorWorld = {
      view: (uid) => this.view(uid),
      random,
      env: {
        cluster,
        crd: new CrdWord(cluster, clock),
        gateway: this.gateway,
        recorder: deps.recorder,
        clock,
        log,
        metrics,
        clusterId: () => this.clusterId,
        view: (uid) => this.view(uid),
        requestRound: () => this.observer.requestRound(),
        requestRelist: () => this.reflector.relist(),
        requestAccount: () => this.account.requestRefresh(),
        accountHeard: (since, signal) => this.account.heard(since, signal),
        noteAbsent: (uid) => this.absences.absent(uid),
        notePresent: (uid) => this.absences.present(uid),
      },
    };
    this.supervisor = new Supervisor({
      machine: operatorMachine,
      world,
      clock,
      random,
      cluster,
      log,
      metrics,
      absences: this.absences,
      inspect: deps.inspect,
      ...(deps.onTransition === undefined ? {} : { onTransition: deps.onTransition }),
      ...(deps.hibernateAfterMs === undefined ? {} : { hibernateAfterMs: deps.hibernateAfterMs }),
    });
    this.reflector = new Reflector({
      ...deps.reflector,
      cluster,
      clock,
      random,
      log,
      metrics,
      namespaces: deps.namespaces,
      held: (uid) => this.supervisor.held(uid),
      released: (object) => this.supervisor.released(object),
      handler: {
        onUpsert: (object, lost) => this.supervisor.onUpsert(object, lost),
        onGone: (object) => this.supervisor.onGone(object),
        onSynced: () => log.log("info", "The resources are listed", { count: this.reflector.size }),
      },
    });
    this.orphans = new OrphanWatch({
      cluster,
      log,
      metrics,
      synced: () => this.reflector.synced && this.supervisor.backlog === 0,
      isKnown: (uid) => this.supervisor.has(uid) || this.reflector.get(uid) !== undefined,
      isWatched: (namespace) => deps.namespaces?.length ? deps.namespaces.includes(namespace) : true,
    });
  }

  /** The cluster's identity, as tags have it (S3). */
  get clusterId(): string {
    if (this.#clusterId === undefined) throw new Error("The cluster's identity is not known yet");
    return this.#clusterId;
  }

  /** Why the cluster's identity could not be read last, until it is known. */
  get identityError(): string | undefined {
    return this.#identityError;
  }

  /** What a decision about one CR may read now. */
  view(uid: string): View {
    const { clock } = this.#deps;
    const info = this.account.info;
    return {
      now: clock.monotonic(),
      wallNow: clock.now(),
      provider: info && {
        account: info.account,
        clientTokens: info.clientTokens,
        readLagMs: info.readLagSeconds * 1_000,
        effectBoundMs: info.effectBoundSeconds * 1_000,
      },
      accountAt: this.account.infoAt,
      accountWords: this.account.words,
      accountSince: this.account.since,
      accountLeft: this.account.left,
      providerError: this.account.error,
      providerErrorClass: this.account.errorClass,
      settleSince: this.#settleSince,
      clusterId: this.clusterId,
      // A list that takes longer than its period is the period: else a large account under load would be called silent.
      pollMs: Math.max(this.#deps.pollIntervalMs ?? 5 * MINUTES, this.observer.roundMs),
      cacheTtlMs: this.#deps.cacheTtlMs ?? 5 * MINUTES,
      crowded: this.supervisor.crowded,
      massAbsent: this.absences.isHeld(uid),
      massAbsence: this.absences.active,
      massAbsenceOverAt: this.absences.overAt,
      roundAt: this.observer.roundAt,
    };
  }

  /**
   * Runs until the signal aborts, then resolves at once; {@linkcode drain} ends what is in flight. Called when the
   * lease is held, or at the start where there is none.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    this.#settleSince = clock.monotonic();
    const running = AbortSignal.any([signal, this.#stop.signal]);
    if (!(await this.#identify(running))) return;
    const parts = [
      this.account.run(running),
      this.reflector.run(running),
      this.observer.run(running),
      this.supervisor.sweep(running),
    ];
    this.#background = Promise.allSettled(parts);
    await Promise.race([Promise.all(parts), aborted(running)]);
  }

  /** Takes no new work, lets mutating calls in flight end within `graceMs`, and stops everything. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    await this.supervisor.drain(graceMs);
    this.#stop.abort(new Error("The operator is stopping"));
    await this.#background;
  }

  #fence(): void {
    if (this.#draining) throw new Error("The operator is stopping and sends nothing more");
    this.#deps.fence?.();
  }

  /** Reads the cluster's identity, until it has it or the signal aborts. */
  async #identify(signal: AbortSignal): Promise<boolean> {
    const { cluster, clock, random, log, clusterId } = this.#deps;
    this.#clusterId = clusterId;
    for (let attempt = 0; this.#clusterId === undefined; attempt++) {
      try {
        this.#clusterId = await cluster.clusterId({ signal });
        this.#identityError = undefined;
      } catch (error) {
        if (signal.aborted) return false;
        this.#identityError = error instanceof Error ? error.message : String(error);
        log.log("warn", "Failed to read the cluster's identity", { error: this.#identityError });
        await sleep(clock, backoffMs({ baseMs: 500, capMs: 30_000 }, attempt, random), signal).catch(
          () => {},
        );
        if (signal.aborted) return false;
      }
    }
    return true;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Makes an operator; nothing runs until {@linkcode Operator.run}. */
export function createOperator(deps: OperatorDeps): Operator {
  return new Operator(deps);
}
