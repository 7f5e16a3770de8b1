/**
 * Keeps a copy of all ExternalDatabases in step with the API server, and tells a handler what changed.
 *
 * Promised: every object that is there is delivered, in order, never one older than what is known of its UID, unless
 * the cluster itself went back in time (`rewind.ts`); every object that goes is told, also where its deletion was missed (a relist is compared with what is known); the same name
 * under a new UID is first the end of the old, then the new (W7); `run` goes on whatever the server does, backing off
 * with jitter, and ends when its signal aborts, with no request left open (W5).
 *
 * Assumed: a list without a resourceVersion is a quorum read; resourceVersions that are decimal grow.
 *
 * @module
 */
import type { ExternalDatabase, ObjectKey } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import type { Source, Watched } from "./port.ts";
import { ReflectorLoop } from "./reflector_loop.ts";
import type { ReflectorTimes } from "./reflector_parts.ts";
import { ReflectorStore } from "./reflector_store.ts";

/** Who is told. What a handler throws is logged and changes nothing. */
export interface ReflectorHandler<T = ExternalDatabase> {
  /**
   * An object is new or changed. `lost` is there when the cluster went back in time: the resourceVersion of the newer
   * copy that was held and is no more (`rewind.ts`).
   */
  onUpsert(object: T, lost?: string): void;
  /** An object is gone from the cluster; this is the last that was seen of it. */
  onGone(lastKnown: T): void;
  /** All namespaces are listed: at first, and again after the resource could not be read (CRD missing, forbidden). */
  onSynced(): void;
  /** A list of this namespace, or of all, is taken in as a whole: what a handler believes to be there besides is not. */
  onListed?(namespace: string | undefined): void;
}

/** What a {@linkcode Reflector} takes. Times are in milliseconds unless their name says otherwise. */
export interface ReflectorOptions<T extends Watched = ExternalDatabase> extends Partial<ReflectorTimes> {
  readonly cluster: Source<T>;
  /** What is followed, for people. @default the custom resources */
  readonly what?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** @default all, in one watch */
  readonly namespaces?: readonly string[] | undefined;
  readonly handler: ReflectorHandler<T>;
  /** The newest copy of a UID that the handler holds, such as the answer of its own write. @default none */
  readonly held?: (uid: string) => T | undefined;
  /** Whether a copy shows an object as it was before the handler let it go, with its finalizer on. @default never */
  readonly released?: (object: T) => boolean;
  /** Objects a page. @default 500 */
  readonly pageSize?: number;
}

/** One list and watch per namespace, or one for all. */
export class Reflector<T extends Watched = ExternalDatabase> {
  readonly #store = new ReflectorStore<T>();
  readonly #loops: readonly ReflectorLoop<T>[];
  readonly #options: ReflectorOptions<T>;
  #synced = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    const { handler, log } = options;
    const told = (what: string, tell: () => void) => {
      try {
        tell();
      } catch (error) {
        log.log("error", `The handler of ${what} threw`, {
          error: messageOf(error),
        });
      }
    };
    const scopes = options.namespaces?.length ? [...new Set(options.namespaces)] : [undefined];
    this.#loops = scopes.map((namespace) =>
      new ReflectorLoop({
        cluster: options.cluster,
        what: options.what ?? "the custom resources",
        clock: options.clock,
        random: options.random,
        log,
        metrics: options.metrics,
        store: this.#store,
        namespace,
        pageSize: options.pageSize ?? 500,
        times: {
          watchTimeoutSeconds: options.watchTimeoutSeconds ?? 290, // kube-rs: some proxies cut at 300 s
          idleMarginMs: options.idleMarginMs ?? 5_000,
          bookmarkLimitMs: options.bookmarkLimitMs ?? 150_000, // API servers send one a minute
          backoffBaseMs: options.backoffBaseMs ?? 800, // these three: client-go and kube-rs
          backoffCapMs: options.backoffCapMs ?? 30_000,
          healthyMs: options.healthyMs ?? 120_000,
          staleListMs: options.staleListMs ?? 60_000,
          relistMs: options.relistMs ?? 1_800_000,
        },
        held: options.held,
        released: options.released,
        onUpsert: (object, lost) => told("a changed object", () => handler.onUpsert(object, lost)),
        onGone: (object) => told("a deleted object", () => handler.onGone(object)),
        onListed: () => told("a whole list", () => handler.onListed?.(namespace)),
        onReadiness: () => this.#readiness(told),
      })
    );
  }

  /** Runs until `signal` aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.run(signal)));
  }

  /** Lists everything again: what was read elsewhere says that the cluster went back in time. */
  relist(): void {
    for (const loop of this.#loops) loop.relist();
  }

  /** All namespaces are listed and readable. A connection that broke leaves it true: see {@linkcode lastContact}. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Monotonic time of the last sign of life, in milliseconds, of the namespace whose sign is the oldest. A quiet watch gives one a minute. */
  get lastContact(): number {
    return Math.min(...this.#loops.map((loop) => loop.lastContact));
  }

  /** Monotonic time of the last attempt to reach the API server, in milliseconds: liveness is that attempts go on. */
  get lastAttempt(): number {
    return Math.min(...this.#loops.map((loop) => loop.lastAttempt));
  }

  /** Why it is not in contact or not synced, for readiness; `undefined` when all is well. */
  get reason(): string | undefined {
    for (const loop of this.#loops) if (loop.reason !== undefined) return loop.reason;
    return this.#synced ? undefined : "the first list has not ended yet";
  }

  /** Why the last request failed, while that is so. */
  get failure(): string | undefined {
    return this.#loops.find((loop) => loop.reason !== undefined)?.reason;
  }

  /** The object of this UID, as last seen. */
  get(uid: string): T | undefined {
    return this.#store.get(uid);
  }

  /** The object of this namespace and name, as last seen. */
  find(key: ObjectKey): T | undefined {
    return this.#store.find(key);
  }

  /** How many objects are known. */
  get size(): number {
    return this.#store.size;
  }

  /** The UIDs of all known objects. */
  keys(): IterableIterator<string> {
    return this.#store.uids();
  }

  /** All known objects. */
  values(): IterableIterator<T> {
    return this.#store.objects();
  }

  #readiness(told: (what: string, tell: () => void) => void): void {
    const synced = this.#loops.every((loop) => loop.synced);
    if (synced === this.#synced) return;
    this.#synced = synced;
    if (synced) told("the end of the list", () => this.#options.handler.onSynced());
  }
}
