/**
 * The supervisor: a plain map from UID to keeper (design.md 7). It follows the reflector, fans the observer's lists out,
 * and never lets one CR touch another.
 *
 * @module
 */
import type { Cluster } from "../kube/port.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import { absenceConfirmed, isObserveOnly, isRemovalAsked } from "../statechart/facts.ts";
import { hasFinalizer } from "../statechart/resource.ts";
import type { ProviderError } from "../providers/port.ts";
import type { SecretSeen } from "../binding/facts.ts";
import { tellListed } from "./bindings_listed.ts";
import { isExpected } from "./absences.ts";
import type { BindingEvent } from "./binding_watch.ts";
import { reportCrash } from "./crash_report.ts";
import { Drifts } from "./drifts.ts";
import { fanOut } from "./fan_out.ts";
import { FormerUids } from "./former_uids.ts";
import type { History } from "./history/history.ts";
import { Inbox } from "./inbox.ts";
import { type DatabaseSnapshot, Keeper, type KeeperEnv, type Transition } from "./keeper.ts";
import type { Round } from "./observer.ts";
import type { Passes } from "./passes.ts";
import { Settling } from "./settling.ts";
import { ShownAgain } from "./shown_again.ts";
import type { ProviderSite } from "./site.ts";

/** What a {@linkcode Supervisor} takes. */
export interface SupervisorOptions
  extends Omit<KeeperEnv, "onTransition" | "onCrash" | "onCacheHit" | "onSettling" | "onFinal"> {
  readonly cluster: Cluster;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The site of the account that a resource's database is, or is to be, at. */
  readonly siteOf: (object: ExternalDatabase) => ProviderSite;
  /** An absence was confirmed by a person, or the resource is gone: no site counts it any more (rule 12). */
  readonly settled: (uid: string) => void;
  readonly onTransition?: (transition: Transition) => void;
  /** The spans that a transition is told in. @default none */
  readonly passes?: Pick<Passes, "within" | "crashed"> | undefined;
  /** Told of every resource that the cluster brought news of, of every crash of an actor, and of those that went. */
  readonly onlooker?: Pick<History, "touch" | "crashed" | "retire"> | undefined;
  /** Idle time after which an actor sleeps, in milliseconds. @default 600_000 */
  readonly hibernateAfterMs?: number;
}

/** CRs that wait for their settle window and make a crowd. */
const CROWD = 10;
/** Time between two looks for actors that may sleep, in milliseconds. */
const SWEEP_MS = 60_000;
/** Time between two looks at what is still in flight while draining, in milliseconds. */
const DRAIN_STEP_MS = 20;

/** One keeper per live CR. */
export class Supervisor {
  readonly #o: SupervisorOptions;
  readonly #keepers = new Map<string, Keeper>();
  readonly #inbox: Inbox;
  readonly #env: KeeperEnv;
  readonly #drifts: Drifts;
  readonly #former = new FormerUids();
  readonly #shownAgain: ShownAgain;
  /** Those that went by our own release. */
  readonly #released = new FormerUids();
  /** Those that wait for their settle window. */
  readonly #settling = new Settling();
  /** Aborts what the supervisor itself has under way. */
  readonly #stopped = new AbortController();

  constructor(options: SupervisorOptions) {
    this.#o = options;
    this.#shownAgain = new ShownAgain({ ...options, onThere: (object) => this.#bring(object) });
    this.#drifts = new Drifts(options.metrics);
    this.#inbox = new Inbox(
      options.clock,
      (d) => d.kind === "gone" ? this.#gone(d.object) : this.#upsert(d.object, d.lost),
      (d, error) =>
        options.log.log("error", "Failed to hand a resource to its actor", {
          namespace: d.object.metadata.namespace,
          name: d.object.metadata.name,
          error: messageOf(error),
        }),
    );
    this.#env = {
      machine: options.machine,
      world: options.world,
      clock: options.clock,
      random: options.random,
      onTransition: (t) => {
        const told = () => this.#transition(t);
        if (options.passes === undefined) told();
        else options.passes.within(t.object.metadata.uid, told);
      },
      inspect: options.inspect,
      onCrash: (keeper, error, crashes) => {
        options.metrics.crash();
        options.onlooker?.crashed(keeper.object.metadata.uid, error);
        reportCrash(options, keeper.object, error, crashes, this.#stopped.signal);
        options.passes?.crashed(keeper.object.metadata.uid);
      },
      onCacheHit: () => options.metrics.cache(true),
      onSettling: (keeper, waits) => this.#settling.follow(keeper, waits, options.siteOf),
      onFinal: (keeper, snapshot) => this.#final(keeper, snapshot),
    };
  }

  /** The keepers of all live CRs. */
  get keepers(): IterableIterator<Keeper> {
    return this.#keepers.values();
  }

  /** The keeper of the CR of this UID. */
  keeper(uid: string): Keeper | undefined {
    return this.#keepers.get(uid);
  }

  /** How many CRs have a keeper. */
  get size(): number {
    return this.#keepers.size;
  }

  /** Deliveries that wait. */
  get backlog(): number {
    return this.#inbox.size;
  }

  /** So many CRs of a site wait for their settle window that one list for all costs less than a lookup each. */
  isCrowded(site: ProviderSite): boolean {
    return this.#settling.of(site) >= CROWD;
  }

  /** Whether a CR of this UID is known. */
  has(uid: string): boolean {
    return this.#keepers.has(uid);
  }

  /** The newest copy of a CR that its actor holds, the answers of its own writes among them. */
  held(uid: string): ExternalDatabase | undefined {
    return this.#keepers.get(uid)?.newest;
  }

  /** Whether a copy shows a CR with our finalizer on it though its actor has ended: as it was before the release. */
  released(object: ExternalDatabase): boolean {
    return this.#keepers.get(object.metadata.uid)?.finished === true && hasFinalizer(object);
  }

  /** The reflector's word: an object is new or changed, or stands for a newer copy that is `lost`. */
  onUpsert(object: ExternalDatabase, lost?: string): void {
    this.#inbox.push({ kind: "upsert", object, lost });
  }

  /** The reflector's word: an object is gone. */
  onGone(object: ExternalDatabase): void {
    this.#inbox.push({ kind: "gone", object });
  }

  /**
   * The reflector took in a whole list, and knows the UIDs that `isThere` says: a released CR beside them will not be
   * told to be gone, as it was once before a restored cluster had it again.
   */
  onListed(isThere: (uid: string) => boolean): void {
    for (const keeper of [...this.#keepers.values()]) {
      if (!isThere(keeper.object.metadata.uid)) this.#gone(keeper.object);
    }
  }

  /** Whether a CR is of a site. */
  isUsed(site: ProviderSite): boolean {
    for (const _ of this.#of(site)) return true;
    return false;
  }

  /** How many databases of a site ought to be there: once available, and not being deleted (rule 12). */
  known(site: ProviderSite): number {
    let n = 0;
    for (const { object } of this.#of(site)) if (isExpected(object)) n++;
    return n;
  }

  /** Tells the actors of a site what its complete list shows and misses, and then that the world changed. */
  async onRound(round: Round, site: ProviderSite): Promise<void> {
    await fanOut(round, [...this.#of(site)], site.absences, () => sleep(this.#o.clock, 0));
    this.onWorldChanged(site);
  }

  /** A site's list failed: every actor of it is told (C5). With `once`, not those that know of a failure of its class: another call's words are no news. */
  onUnreadable(error: ProviderError, site: ProviderSite, once = false): void {
    for (const keeper of this.#of(site)) {
      if (keeper.object.status?.providerId === undefined) continue;
      const known = keeper.snapshot?.context.knowledge.unreadable?.errorClass;
      if (once && known === error.errorClass) continue;
      keeper.send({ type: "external.unreadable", errorClass: error.errorClass, message: error.message });
    }
  }

  /** Something of a site's account changed: whoever rests there without being in step decides anew; `everyone` includes sleepers. */
  onWorldChanged(site: ProviderSite, everyone = false): void {
    for (const keeper of this.#of(site)) {
      const decision = keeper.snapshot?.context.decision;
      if (everyone || (decision !== undefined && decision.synced.status !== "True")) {
        keeper.send({ type: "world.changed" });
      }
    }
  }

  /** A connection Secret of the CR of this UID changed. */
  onBinding(uid: string, event: BindingEvent): void {
    this.#keepers.get(uid)?.send(event);
  }

  /** The connection Secrets of a namespace, or all, are listed; `of` finds those that were written for a UID. */
  onBindingsListed(of: (uid: string) => readonly SecretSeen[], namespace: string | undefined): void {
    for (const keeper of this.#keepers.values()) {
      const { uid, namespace: own } = keeper.object.metadata;
      if (namespace === undefined || own === namespace) tellListed(keeper, of(uid));
    }
  }

  /** Puts idle actors to sleep until the signal aborts. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { clock, hibernateAfterMs = 600_000 } = this.#o;
    while (!signal.aborted) {
      await sleep(clock, SWEEP_MS, signal).catch(() => {}); // the abort itself
      if (!signal.aborted) {
        for (const keeper of this.#keepers.values()) keeper.hibernate(hibernateAfterMs);
      }
    }
  }

  /** Takes no more work, lets mutating calls and the record of their answers end, at most `graceMs`, and stops all. */
  async drain(graceMs: number): Promise<void> {
    const { clock } = this.#o;
    this.#inbox.close();
    const until = clock.monotonic() + graceMs;
    while (true) {
      for (const keeper of this.#keepers.values()) if (!keeper.busy) keeper.stop();
      const busy = [...this.#keepers.values()].some((k) => k.busy);
      if (!busy || clock.monotonic() >= until) break;
      await sleep(clock, DRAIN_STEP_MS);
    }
    this.#stopped.abort(new Error("The operator is stopping"));
    for (const keeper of this.#keepers.values()) keeper.stop();
    this.#keepers.clear();
  }

  /** The keepers of a site. */
  *#of(site: ProviderSite): Iterable<Keeper> {
    for (const keeper of this.#keepers.values()) if (this.#o.siteOf(keeper.newest) === site) yield keeper;
  }

  #upsert(object: ExternalDatabase, lost: string | undefined): void {
    const { uid } = object.metadata;
    if (absenceConfirmed(object)) this.#o.settled(uid);
    if (lost !== undefined) this.#released.delete(uid); // a restored cluster has it again
    if (lost === undefined && this.#former.has(uid)) void this.#shownAgain.ask(object, this.#stopped.signal);
    else this.#bring(object, lost);
  }

  #bring(object: ExternalDatabase, lost?: string): void {
    const { uid } = object.metadata;
    const known = this.#keepers.get(uid);
    if (known !== undefined) {
      known.upsert(object, lost);
      this.#o.onlooker?.touch(uid);
      return;
    }
    const keeper = new Keeper(this.#env, object, this.#former.delete(uid) || lost !== undefined);
    this.#keepers.set(uid, keeper);
    keeper.start();
  }

  #gone(object: ExternalDatabase): void {
    const { uid } = object.metadata;
    this.#o.settled(uid); // whether or not its actor heard of it first
    const keeper = this.#keepers.get(uid);
    if (keeper === undefined) return;
    if (keeper.finished) return this.#forget(keeper);
    keeper.send({ type: "object.gone" });
    // A keeper between crash and restart has no actor to end by itself.
    if (keeper.snapshot === undefined) this.#forget(keeper);
  }

  #forget(keeper: Keeper): void {
    keeper.stop();
    const { uid } = keeper.object.metadata;
    this.#keepers.delete(uid);
    this.#o.settled(uid); // also of what its last effect read after it was told to be gone
    this.#former.add(uid);
    this.#o.onlooker?.retire(uid);
  }

  #final(keeper: Keeper, snapshot: DatabaseSnapshot): void {
    const { knowledge: k, decision } = snapshot.context;
    const { metadata, status } = k.object;
    const left = decision.database?.id ?? status?.providerId;
    // S2: what goes without our release may leave a database behind.
    const unanswered = k.releaseAsked && !k.released;
    // What only observes has no finalizer, and leaves nothing behind that was its own.
    const byForce = !unanswered && !isObserveOnly(k.object) && left !== undefined && !k.released &&
      !isRemovalAsked(k, left) &&
      k.observation?.kind !== "absent";
    // A watch that lags shows what we released as it was before: the actor that comes of it has nothing to tell.
    const shownAgain = this.#released.delete(metadata.uid);
    if (k.released || unanswered || shownAgain) this.#released.add(metadata.uid); // it may be shown once more
    if (byForce && !shownAgain) {
      this.#o.log.log("error", "A resource is gone while its database may live; see the orphans", {
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        providerId: left,
      });
    }
    if (unanswered) {
      this.#o.log.log("warn", "A resource was released, though the API server did not answer", {
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        providerId: left,
      });
    }
    if (k.gone) this.#forget(keeper);
  }

  #transition(t: Transition): void {
    const { metrics, log, onTransition } = this.#o;
    metrics.transition(t.from, t.to);
    this.#drifts.follow(t);
    const { namespace, name, uid } = t.object.metadata;
    if (t.to !== undefined) {
      log.log("info", "Transition", {
        namespace,
        name,
        uid,
        from: t.from ?? "",
        to: t.to,
        event: t.event,
        reason: t.reason,
        durationMs: t.durationMs,
      });
    }
    onTransition?.(t);
  }
}
