/**
 * The operator as one object: reflector, supervisor, actors, observer, scheduler, wired over ports.
 *
 * Everything that touches time, randomness, the network or the cluster comes in through {@linkcode OperatorDeps};
 * `start`, `demo`, the tests and the simulation all run this same wiring.
 *
 * @module
 */
import { systemEntropy } from "../core/passwords.ts";
import { aborted } from "../core/wait.ts";
import type { ReflectorTimes } from "../kube/reflector_parts.ts";
import { Reflector } from "../kube/reflector.ts";
import { NO_PROVIDER } from "../providers/none.ts";
import type { Database, DatabaseProvider } from "../providers/port.ts";
import type { ClassView } from "../statechart/class_view.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { View } from "../statechart/view.ts";
import { CrdWord } from "./crd_word.ts";
import { BindingWatch } from "./binding_watch.ts";
import { fencedCluster, fencedSecrets } from "./fenced_cluster.ts";
import type { EffectEnv, SiteEnv } from "./effects/env.ts";
import { operatorMachine, type OperatorWorld } from "./effects/mod.ts";
import { ClusterIdentity } from "./cluster_identity.ts";
import { ClassDirectory } from "./classes.ts";
import { classedCluster } from "./classed_cluster.ts";
import type { OperatorDeps } from "./deps.ts";
import { recordedCluster, recordedSecrets } from "./history/calls.ts";
import { Passes } from "./passes.ts";
import { ProviderSite, type SiteFleet, type SiteTuning } from "./site.ts";
import { Supervisor } from "./supervisor.ts";

export type { OperatorDeps } from "./deps.ts";

const MINUTES = 60_000;

/** A running operator. */
export class Operator {
  readonly reflector: Reflector;
  readonly supervisor: Supervisor;
  /** The connection Secrets. */
  readonly bindings: BindingWatch;
  /** The site of the flags. */
  readonly site: ProviderSite;
  readonly classes: ClassDirectory;
  readonly #deps: OperatorDeps;
  readonly #stop = new AbortController();
  readonly #identity: ClusterIdentity;
  /** Process start or the taking of the lease (rule 5). */
  #settleSince: number;
  #draining = false;
  #background: Promise<unknown> = Promise.resolve();

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    const { clock, random, log, metrics, history } = deps;
    const passes = deps.tracing?.on === true ? new Passes(deps.tracing) : undefined;
    const cluster = fencedCluster(recordedCluster(deps.cluster, history?.book), deps.fence);
    this.#identity = new ClusterIdentity({ ...deps, given: deps.clusterId });
    this.#settleSince = clock.monotonic();
    const tuning: SiteTuning = {
      periodMs: deps.pollIntervalMs ?? 5 * MINUTES,
      concurrency: deps.concurrency ?? 64,
      ratePerSecond: deps.ratePerSecond ?? 0,
    };
    const callTimeoutMs = deps.callTimeoutMs ?? 30_000;
    const fleet = this.#fleet();
    const makeSite = (name: string, provider: DatabaseProvider): ProviderSite =>
      new ProviderSite({
        ...tuning,
        name,
        provider,
        cluster,
        clock,
        random,
        log,
        metrics,
        callTimeoutMs,
        clusterId: () => this.clusterId,
        fence: () => this.#fence(),
        fleet,
        stopped: this.#stop.signal,
        history: deps.history,
        tracing: deps.tracing,
      });
    this.site = makeSite("", deps.provider);
    this.classes = new ClassDirectory({
      classes: deps.classes,
      flags: this.site,
      makeSite,
      tuning,
      callTimeoutMs,
      clock,
      random,
      log,
      metrics,
      reflector: deps.reflector,
      fence: () => this.#fence(),
      isUsed: (site) => this.supervisor.isUsed(site),
      onChange: (site) => this.supervisor.onWorldChanged(site, true),
    });
    const common: Omit<EffectEnv, keyof SiteEnv> = {
      cluster: deps.classes === undefined ? cluster : classedCluster(cluster, this.classes),
      secrets: fencedSecrets(recordedSecrets(deps.secrets, history?.book), deps.fence),
      entropy: deps.entropy ?? systemEntropy,
      crd: new CrdWord(cluster, clock, this.#stop.signal),
      recorder: deps.recorder,
      clock,
      log,
      metrics,
      passes,
      clusterId: () => this.clusterId,
      requestRelist: () => this.reflector.relist(),
      history,
      classOf: (object) => this.classes.view(object)?.name ?? "",
    };
    const envs = new WeakMap<ProviderSite, EffectEnv>();
    const world: OperatorWorld = {
      view: (object) => this.view(object),
      random,
      envOf: (object) => {
        const site = this.siteOf(object);
        const env = envs.get(site) ?? { ...common, ...this.#siteEnv(site) };
        envs.set(site, env);
        return env;
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
      siteOf: (object) => this.siteOf(object),
      settled: (uid) => {
        for (const site of this.sites()) site.absences.settled(uid);
      },
      inspect: inspectors(inspectors(history?.inspect, passes?.inspect), deps.inspect),
      passes,
      onlooker: history,
      ...(deps.onTransition === undefined ? {} : { onTransition: deps.onTransition }),
      ...(deps.hibernateAfterMs === undefined ? {} : { hibernateAfterMs: deps.hibernateAfterMs }),
    });
    this.bindings = new BindingWatch({
      ...reflectorTimes(deps.reflector),
      secrets: deps.secrets,
      clock,
      random,
      log,
      metrics,
      namespaces: deps.namespaces,
      onChange: (uid, event) => this.supervisor.onBinding(uid, event),
      onListed: (namespace) => this.supervisor.onBindingsListed((uid) => this.bindings.of(uid), namespace),
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
        onUpsert: (object, lost) => {
          if (mayBind(object)) this.bindings.ask();
          this.supervisor.onUpsert(object, lost);
        },
        onGone: (object) => this.supervisor.onGone(object),
        onListed: () => this.supervisor.onListed((uid) => this.reflector.get(uid) !== undefined),
        onSynced: () => log.log("info", "The resources are listed", { count: this.reflector.size }),
      },
    });
  }

  /** The account of the flags. */
  get account(): ProviderSite["account"] {
    return this.site.account;
  }

  /** What turned absent together in the account of the flags. */
  get absences(): ProviderSite["absences"] {
    return this.site.absences;
  }

  /** The observer of the account of the flags. */
  get observer(): ProviderSite["observer"] {
    return this.site.observer;
  }

  /** The scheduler of the account of the flags. */
  get scheduler(): ProviderSite["scheduler"] {
    return this.site.scheduler;
  }

  /** The site of the flags, and those of all classes. */
  *sites(): Iterable<ProviderSite> {
    yield this.site;
    yield* this.classes.sites();
  }

  /** The databases without resource of all accounts. */
  get orphans(): { readonly orphans: readonly Database[] } {
    return { orphans: [...this.sites()].flatMap((site) => site.orphans.orphans) };
  }

  /** Mutating calls under way at all accounts: while there is one the lease is not released (rule 21). */
  get gateway(): { readonly mutationsInFlight: number } {
    return { mutationsInFlight: sum(this.sites(), (site) => site.gateway.mutationsInFlight) };
  }

  /** The cluster's identity, as tags have it (S3). */
  get clusterId(): string {
    return this.#identity.id;
  }

  /** Why the cluster's identity could not be read last, until it is known. */
  get identityError(): string | undefined {
    return this.#identity.error;
  }

  /** The site that a resource's database is, or is to be, at. */
  siteOf(object: ExternalDatabase): ProviderSite {
    return this.classes.siteOf(object);
  }

  /** What a decision about one CR may read now. */
  view(object: ExternalDatabase): View {
    return this.#viewOf(object.metadata.uid, this.siteOf(object), this.classes.view(object));
  }

  #viewOf(uid: string, site: ProviderSite, of: ClassView | undefined): View {
    const { clock, cacheTtlMs = 5 * MINUTES } = this.#deps;
    return {
      ...site.view(uid),
      now: clock.monotonic(),
      wallNow: clock.now(),
      settleSince: this.#settleSince,
      clusterId: this.clusterId,
      cacheTtlMs,
      secrets: this.bindings.of(uid),
      secretsListed: this.bindings.listed,
      ...(of === undefined ? {} : { class: of }),
    };
  }

  #siteEnv(site: ProviderSite): SiteEnv {
    return {
      gateway: site.gateway,
      view: (uid) => {
        const object = this.supervisor.held(uid);
        return this.#viewOf(uid, site, object && this.classes.view(object));
      },
      requestRound: () => site.observer.requestRound(),
      requestAccount: () => site.account.requestRefresh(),
      accountHeard: (since, signal) => site.account.heard(since, signal),
      noteAbsent: (uid) => site.absences.absent(uid),
      notePresent: (uid) => site.absences.present(uid),
    };
  }

  #fleet(): SiteFleet {
    const { namespaces } = this.#deps;
    const synced = () => this.reflector.synced && this.supervisor.backlog === 0;
    return {
      known: (site) => this.supervisor.known(site),
      isCrowded: (site) => this.supervisor.isCrowded(site),
      onRound: (round, site) => this.supervisor.onRound(round, site),
      onUnreadable: (error, site, once) => this.supervisor.onUnreadable(error, site, once),
      onWorldChanged: (site, everyone) => {
        if (site.account.info?.passwords === "always") this.bindings.ask();
        this.supervisor.onWorldChanged(site, everyone);
      },
      get synced() {
        return synced();
      },
      isKnown: (uid) => this.supervisor.has(uid) || this.reflector.get(uid) !== undefined,
      isWatched: (namespace) => namespaces?.length ? namespaces.includes(namespace) : true,
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
    if (!(await this.#identity.read(running))) return;
    const hasAccount = this.site.gateway.name !== NO_PROVIDER;
    const parts = [
      ...(hasAccount ? [this.site.account.run(running)] : []),
      this.reflector.run(running),
      this.bindings.run(running),
      ...(hasAccount ? [this.site.observer.run(running)] : []),
      ...(this.#deps.classes === undefined ? [] : [this.classes.run(running)]),
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
}

/** Whether a resource has, or asks for, a connection Secret, whatever its provider says. */
function mayBind({ spec, status }: ExternalDatabase): boolean {
  return status?.binding !== undefined ||
    (spec as typeof spec | undefined)?.connectionSecretRef !== undefined;
}

/** One inspector for both. */
function inspectors(
  first: OperatorDeps["inspect"],
  second: OperatorDeps["inspect"],
): OperatorDeps["inspect"] {
  if (first === undefined || second === undefined) return first ?? second;
  return (inspection) => {
    first(inspection);
    second(inspection);
  };
}

/** What a second reflector can share of the first one's options. */
function reflectorTimes(options: OperatorDeps["reflector"] = {}): Partial<ReflectorTimes> {
  const {
    cluster: _c,
    handler: _h,
    held: _u,
    what: _w,
    log: _l,
    metrics: _m,
    clock: _k,
    random: _r,
    ...times
  } = options;
  return times;
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}

/** Makes an operator; nothing runs until {@linkcode Operator.run}. */
export function createOperator(deps: OperatorDeps): Operator {
  return new Operator(deps);
}
