/**
 * The list and watch of one namespace, or of all: the part of a reflector that talks to the API server.
 *
 * ```
 *  list ──ok──▶ watch ──the server ended it──▶ watch …
 *   ▲ │failed     │ failed: back off, watch again from the last resourceVersion
 *   └─┘back off   └ 410, or silent twice in a row: list
 * ```
 *
 * @module
 */
import { isOlderVersion } from "../api/resource_version.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { backoffMs } from "../core/backoff.ts";
import { MAX_TIMER_MS } from "../core/clock.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import { KubeError, type Watched, type WatchEvent } from "./port.ts";
import { type LoopOptions, reasonOf, SilentWatchError } from "./reflector_parts.ts";
import { type ReflectorList, ReflectorScope } from "./reflector_scope.ts";
import { ListAge } from "./rewind.ts";

/** A watch that ended sooner than this after it was opened counts as failed, or a server that ends each at once would be asked without end. */
const SHORT_WATCH_MS = 1_000;
/** Ends a watch that nobody listens to any more: without a reason each would make an error of its own. */
const LEFT = new Error("The watch was left");

/** One list and watch. */
export class ReflectorLoop<T extends Watched = ExternalDatabase> {
  readonly #o: LoopOptions<T>;
  /** Where the next watch goes on; `undefined` asks for a list. */
  #resourceVersion: string | undefined;
  /** The newest version that a list or watch showed. */
  #newest = "";
  #failures = 0;
  #healthySince: number | undefined;
  #bookmarksSeen = false;
  #muteWatches = 0;
  #expiredLists = 0;
  #listedAt = Number.NEGATIVE_INFINITY;
  readonly #scope: ReflectorScope<T>;
  readonly #age: ListAge<T>;
  /** Ends the open watch, so that a list comes next. */
  #cut: (() => void) | undefined;
  synced = false;
  lastContact: number;
  lastAttempt: number;
  reason: string | undefined;

  constructor(options: LoopOptions<T>) {
    this.#o = options;
    this.lastContact = this.lastAttempt = options.clock.monotonic();
    const { cluster, clock, log, times } = options;
    this.#scope = new ReflectorScope(options);
    this.#age = new ListAge({
      cluster,
      log,
      now: () => clock.monotonic(),
      refuseMs: times.staleListMs,
      held: () => this.#scope.held(),
    });
  }

  /** Lists as soon as it can: what was read elsewhere says that the cluster went back in time. */
  relist(): void {
    this.#relist();
    this.#cut?.();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.lastAttempt = this.#o.clock.monotonic();
      // A restored cluster may catch up with the version of a watch before it is asked: then only a list can tell.
      if (this.lastAttempt - this.#listedAt >= this.#o.times.relistMs) this.#relist();
      try {
        if (this.#resourceVersion === undefined) this.#resourceVersion = await this.#list(signal);
        else await this.#watch(this.#resourceVersion, signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#backOff(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { cluster, clock, namespace, pageSize } = this.#o;
    let list: ReflectorList<T> | undefined;
    let resourceVersion = "";
    let continueToken: string | undefined;
    do {
      const page = await cluster.list({
        namespace,
        // A server that forgets its pages faster than they are read is asked for all at once.
        ...(this.#expiredLists < 2 ? { limit: pageSize } : {}),
        continueToken,
        signal,
      });
      signal.throwIfAborted();
      if (list === undefined) {
        const rewound = await this.#age.check(page.resourceVersion, this.#newest, signal);
        resourceVersion = page.resourceVersion; // a watch goes on from where the list began
        list = this.#scope.begin(resourceVersion, rewound);
      }
      for (const object of page.items) list.take(object);
      continueToken = page.continueToken;
      this.#contact();
    } while (continueToken);
    const count = await list.end(signal);
    this.#expiredLists = 0;
    this.#age.reset();
    this.#newest = resourceVersion;
    this.#listedAt = clock.monotonic();
    this.#ready();
    this.#o.onListed();
    this.#o.log.log("info", `Listed ${this.#o.what}`, {
      namespace: namespace ?? "*",
      count,
      resourceVersion,
    });
    return resourceVersion;
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { cluster, clock, namespace, times, metrics } = this.#o;
    const own = new AbortController();
    const onAbort = () => own.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    let cut = false;
    this.#cut = () => {
      cut = true;
      own.abort(new Error("The cluster is listed anew"));
    };
    const openedAt = clock.monotonic();
    const events = cluster.watch({
      namespace,
      resourceVersion: from,
      timeoutSeconds: times.watchTimeoutSeconds,
      signal: own.signal,
      onOpen: () => {
        this.#contact();
        this.#ready();
      },
    })[Symbol.asyncIterator]();
    let spoke = false;
    try {
      for (;;) {
        const next = await this.#next(events, own);
        if (signal.aborted || cut) return;
        if (next.done) break;
        spoke = true;
        this.#muteWatches = 0;
        this.#contact();
        this.#ready();
        this.#event(next.value);
      }
    } catch (error) {
      if (cut) return;
      if (error instanceof SilentWatchError) {
        this.#muteWatches = spoke ? 0 : this.#muteWatches + 1;
        // A watch from a version that a restored cluster has not reached yet is silent for ever: list.
        if (this.#muteWatches >= 2) this.#relist();
      }
      throw error;
    } finally {
      this.#cut = undefined;
      own.abort(LEFT); // also closes a watch that is not at its end; `return` would wait for a pending `next`
      signal.removeEventListener("abort", onAbort);
    }
    metrics.watchRestart("ended");
    this.#contact();
    if (clock.monotonic() - openedAt < Math.min(SHORT_WATCH_MS, times.watchTimeoutSeconds * 500)) {
      throw new KubeError("unavailable", "Watching: the API server ended the watch at once");
    }
  }

  /** The next event, or an error when the watch stays silent for too long (W2). */
  #next(events: AsyncIterator<WatchEvent<T>>, own: AbortController): Promise<IteratorResult<WatchEvent<T>>> {
    const { clock, times } = this.#o;
    const whole = times.watchTimeoutSeconds * 1_000 + times.idleMarginMs;
    const limit = Math.min(
      this.#bookmarksSeen ? Math.min(times.bookmarkLimitMs, whole) : whole,
      MAX_TIMER_MS,
    );
    return new Promise((resolve, reject) => {
      const timer = clock.setTimeout(() => {
        own.abort(new SilentWatchError(`Watching: the API server said nothing for ${limit} ms`));
      }, limit);
      const clean = () => {
        clock.clearTimeout(timer);
        own.signal.removeEventListener("abort", onAbort);
      };
      const onAbort = () => { // a watch that ignores its signal is left all the same (W5)
        clean();
        reject(own.signal.reason);
      };
      own.signal.addEventListener("abort", onAbort, { once: true });
      events.next().then(resolve, reject).finally(clean);
    });
  }

  #event(event: WatchEvent<T>): void {
    if (event.type === "BOOKMARK") {
      this.#bookmarksSeen = true;
      this.#advance(event.resourceVersion);
      return;
    }
    const { uid, resourceVersion } = event.object.metadata;
    if (event.type === "DELETED") {
      const known = this.#o.store.get(uid);
      if (known) {
        this.#scope.gone(
          isOlderVersion(resourceVersion, known.metadata.resourceVersion) ? known : event.object,
        );
      }
    } else this.#scope.take(event.object);
    this.#advance(resourceVersion);
  }

  #advance(resourceVersion: string): void {
    if (this.#resourceVersion !== undefined && isOlderVersion(resourceVersion, this.#resourceVersion)) return; // a replay
    this.#resourceVersion = resourceVersion;
    if (!isOlderVersion(resourceVersion, this.#newest)) this.#newest = resourceVersion;
  }

  #relist(): void {
    this.#resourceVersion = undefined;
    this.#muteWatches = 0;
  }

  #contact(): void {
    const now = this.lastContact = this.#o.clock.monotonic();
    this.#healthySince ??= now;
    if (now - this.#healthySince >= this.#o.times.healthyMs) this.#failures = 0;
  }

  #ready(): void {
    this.reason = undefined;
    if (this.synced) return;
    this.synced = true;
    this.#o.onReadiness();
  }

  async #backOff(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, log, metrics, namespace, random, times } = this.#o;
    const listing = this.#resourceVersion === undefined;
    const kind = error instanceof KubeError
      ? error.kind
      : error instanceof SilentWatchError
      ? "silent"
      : "error";
    const healthy = this.#healthySince !== undefined &&
      clock.monotonic() - this.#healthySince >= times.healthyMs;
    if (healthy) this.#failures = 0;
    this.#healthySince = undefined;
    this.reason = reasonOf(error, namespace);
    if (kind === "expired") {
      if (listing) this.#expiredLists++;
      this.#relist();
    }
    if (kind === "notFound" || kind === "forbidden") {
      // S6: what cannot be read is not gone. The watch is not trusted either: a CRD that comes back starts anew.
      this.#relist();
      this.synced = false;
      this.#o.onReadiness();
    }
    let wait = backoffMs(
      { baseMs: times.backoffBaseMs, capMs: times.backoffCapMs },
      this.#failures++,
      random,
    );
    // One relist at once (W4); a server that lists and then calls its own version too old is backed off from.
    if (kind === "expired" && !listing && this.#failures === 1) wait = 0;
    if (error instanceof KubeError && error.retryAfterMs !== undefined) {
      wait = Math.max(wait, error.retryAfterMs + random.next() * times.backoffBaseMs);
    }
    if (!listing) metrics.watchRestart(kind);
    log.log(kind === "expired" ? "info" : "warn", listing ? "Listing failed" : "The watch broke", {
      namespace: namespace ?? "*",
      kind,
      error: messageOf(error),
      failures: this.#failures,
      retryInMs: Math.round(wait),
    });
    try {
      await sleep(clock, wait, signal);
    } catch (reason) {
      if (!signal.aborted) throw reason;
    }
  }
}
