/**
 * What belongs to one provider account: the scheduler of its calls, the way to it, the watch over its identity, the
 * observer of its databases, and the ledgers of what is absent and what has no resource.
 *
 * Sites stand side by side and share nothing but clock, cluster and fleet: an account that is throttled, or down, or
 * whose databases turn absent together, holds up no resource of another.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Random } from "../core/random.ts";
import type { Tracing } from "../core/tracing.ts";
import type { Cluster } from "../kube/port.ts";
import type { DatabaseProvider, ProviderError } from "../providers/port.ts";
import type { View } from "../statechart/view.ts";
import { AbsenceLedger } from "./absences.ts";
import { AccountWatch } from "./account.ts";
import { ProviderGateway } from "./gateway.ts";
import type { History } from "./history/history.ts";
import { Observer, type Round } from "./observer.ts";
import { OrphanWatch } from "./orphans.ts";
import { Scheduler } from "./scheduler.ts";

/** What a site tells the resources that are its own, and asks of them. */
export interface SiteFleet {
  /** How many of the site's databases ought to be there (rule 12). */
  known(site: ProviderSite): number;
  /** So many of the site's resources wait for their settle window that one list for all is cheaper. */
  isCrowded(site: ProviderSite): boolean;
  /** Fans a complete list of the site out. */
  onRound(round: Round, site: ProviderSite): Promise<void>;
  /** The site cannot be read. */
  onUnreadable(error: ProviderError, site: ProviderSite, once?: boolean): void;
  /** Something of the site's account changed. */
  onWorldChanged(site: ProviderSite, everyone?: boolean): void;
  /** Whether the whole cluster is known, and all that was heard of it was handed on. */
  readonly synced: boolean;
  /** Whether a resource of this UID is known. */
  isKnown(uid: string): boolean;
  /** Whether the namespace is watched. */
  isWatched(namespace: string): boolean;
}

/** What of a site may change while it works. Times are in milliseconds. */
export interface SiteTuning {
  /** Period of the list. */
  readonly periodMs: number;
  readonly concurrency: number;
  readonly ratePerSecond: number;
}

/** What a {@linkcode ProviderSite} takes. Times are in milliseconds. */
export interface SiteOptions extends SiteTuning {
  /** The class that it serves; "" is the site of the flags. */
  readonly name: string;
  readonly provider: DatabaseProvider;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly callTimeoutMs: number;
  readonly clusterId: () => string;
  /** Throws when nothing may be sent now (rule 21). */
  readonly fence: () => void;
  readonly fleet: SiteFleet;
  /** Keeps the calls of effects. @default nothing is kept */
  readonly history?: Pick<History, "cloudCall"> | undefined;
  /** Ends what the site has under way when the operator stops. */
  readonly stopped: AbortSignal;
}

/** The part of a {@linkcode View} that comes from a site. */
export type SiteView = Omit<View, "now" | "wallNow" | "settleSince" | "clusterId" | "cacheTtlMs">;

/** One provider account at work. */
export class ProviderSite {
  /** The class that it serves; "" is the site of the flags. */
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly gateway: ProviderGateway;
  readonly account: AccountWatch;
  readonly absences: AbsenceLedger;
  readonly observer: Observer;
  readonly orphans: OrphanWatch;
  /** Why nothing may be changed there, though what is known stays. */
  barred: string | undefined;
  readonly #o: SiteOptions;
  #periodMs: number;
  /** When the provider was replaced last, monotonic milliseconds. */
  #replacedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SiteOptions) {
    this.#o = options;
    this.name = options.name;
    this.#periodMs = options.periodMs;
    const periodMs = () => this.#periodMs;
    const { provider, cluster, clock, random, metrics, fleet, callTimeoutMs } = options;
    const log = named(options.log, options.name);
    this.scheduler = new Scheduler({
      clock,
      concurrency: options.concurrency,
      ratePerSecond: options.ratePerSecond,
      onStart: (lane, waitedMs) => metrics.queued(options.name, lane, waitedMs / 1_000),
    });
    this.gateway = new ProviderGateway({
      provider,
      databaseClass: options.name,
      scheduler: this.scheduler,
      clock,
      metrics,
      tracing: options.tracing,
      callTimeoutMs,
      effectBoundMs: () => (this.account.info?.effectBoundSeconds ?? 0) * 1_000,
      fence: options.fence,
      mayChange: (readAt) => this.#mayChange(readAt),
      onCall: options.history && ((call) => options.history?.cloudCall(options.name, call)),
      // A class says so in its own status.
      onUnauthorised: options.name === "" ? undefined : () => this.account.requestRefresh(),
      // The list, whose failures are told else, waits behind all that is more urgent and may not be sent for long (L4).
      onThrottled: (error) => {
        fleet.onUnreadable(error, this, true);
        this.observer.requestRound(); // for when it is over
      },
    });
    this.account = new AccountWatch({
      gateway: this.gateway,
      clock,
      random,
      log,
      onChange: () => fleet.onWorldChanged(this, true),
    });
    this.absences = new AbsenceLedger({
      clock,
      get periodMs() {
        return periodMs();
      },
      known: () => fleet.known(this),
      onChange: (active, held) => {
        log.log(
          active ? "error" : "info",
          active ? "Many databases turned absent together" : "Mass absence is over",
          { held },
        );
        fleet.onWorldChanged(this);
      },
    });
    this.observer = new Observer({
      gateway: this.gateway,
      clock,
      random,
      log,
      get periodMs() {
        return periodMs();
      },
      clusterId: options.clusterId,
      hurried: () => fleet.isCrowded(this),
      sink: {
        onRound: async (round) => {
          await fleet.onRound(round, this);
          await this.orphans.judge(round, options.stopped);
        },
        onUnreadable: (error) => fleet.onUnreadable(error, this),
      },
    });
    this.orphans = new OrphanWatch({
      cluster,
      log,
      synced: () => fleet.synced,
      isKnown: (uid) => fleet.isKnown(uid),
      isWatched: (namespace) => fleet.isWatched(namespace),
    });
  }

  /** Period of the list, in milliseconds. */
  get periodMs(): number {
    return this.#periodMs;
  }

  /** Watches the account and observes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.account.run(signal), this.observer.run(signal)]);
  }

  /** Tunes it; the list's new period counts from the next {@linkcode run}. */
  tune(tuning: SiteTuning): void {
    this.#periodMs = tuning.periodMs;
    this.scheduler.limit(tuning);
  }

  /**
   * Goes on with another provider: for the account watch it is as if the credentials had changed, so that all that was
   * known of the account stays known (A2). Nothing is changed at the provider before the account has said its name anew.
   * Returns the provider before.
   */
  replace(provider: DatabaseProvider): DatabaseProvider {
    this.#replacedAt = this.#o.clock.monotonic();
    this.account.requestRefresh();
    return this.gateway.use(provider);
  }

  #mayChange(readAt = Number.POSITIVE_INFINITY): void {
    if (this.barred !== undefined) throw new Error(`Nothing is changed at the provider: ${this.barred}`);
    if (this.account.infoAt < this.#replacedAt) {
      throw new Error("The class has changed, and its account has not said its name since");
    }
    // What was read may have been another account's, which calls somebody else's database by the same id (S3, A2).
    if (readAt <= Math.max(this.#replacedAt, this.account.since)) {
      throw new Error("The account may be another than the one in which the database was read");
    }
  }

  /** What a decision about one of its resources may read now. */
  view(uid: string): SiteView {
    const { account, observer, absences } = this;
    const { fleet } = this.#o;
    const { info } = account;
    return {
      provider: info && {
        account: info.account,
        clientTokens: info.clientTokens,
        readLagMs: info.readLagSeconds * 1_000,
        effectBoundMs: info.effectBoundSeconds * 1_000,
        name: this.gateway.name,
        passwords: info.passwords,
        snapshots: info.snapshots,
        deletionProtection: info.deletionProtection,
      },
      accountAt: account.infoAt,
      accountWords: account.words,
      accountSince: account.since,
      accountLeft: account.left,
      providerError: account.error,
      providerErrorClass: account.errorClass,
      // A list that takes longer than its period is the period: else a large account under load would be called silent.
      pollMs: Math.max(this.#periodMs, observer.roundMs),
      crowded: fleet.isCrowded(this),
      massAbsent: absences.isHeld(uid),
      massAbsence: absences.active,
      massAbsenceOverAt: absences.overAt,
      roundAt: observer.roundAt,
    };
  }
}

/** A log whose lines say which class they are about; the flags' site needs no name. */
function named(log: Logger, name: string): Logger {
  if (name === "") return log;
  return { log: (level, message, fields) => log.log(level, message, { databaseClass: name, ...fields }) };
}
