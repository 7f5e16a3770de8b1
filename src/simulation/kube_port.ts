/**
 * The operator's port to the simulated Kubernetes API: latency, and everything that goes wrong on the way.
 *
 * A write that was sent takes effect or not, whatever its caller sees. Reads of one object are quorum reads; lists may
 * come from a server that lags, watches always do.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { sleep } from "../core/wait.ts";
import { TAG } from "../api/constants.ts";
import type { ExternalDatabase, ObjectKey } from "../api/schema.ts";
import {
  type Cluster,
  type CrdState,
  type JsonPatchOperation,
  KubeError,
  type ListPage,
  type ListRequest,
  type RequestOptions,
  type WatchEvent,
  type WatchRequest,
} from "../kube/port.ts";
import type { Secrets, StoredSecret } from "../kube/secrets_port.ts";
import type { LeasePort } from "../kube/lease_port.ts";
import type { KubeStore } from "./kube_store.ts";
import { type Named, type Shelf, Watch } from "./kube_watch.ts";
import { isLabelled, labelled, SecretStore } from "./secret_store.ts";
import type { SimulatedLease } from "./lease.ts";
import type { Dice } from "./random.ts";

/** What goes wrong, as chances per call; times in milliseconds. */
export interface KubeFaults {
  /** Longest time of a call. */
  latencyMs: number;
  /** Longest delay of a watch event. */
  watchLagMs: number;
  failBefore: number;
  failAfter: number;
  timeout: number;
  conflict: number;
  throttle: number;
  /** A list shows the state of some time ago. */
  staleList: number;
  /** How long ago at most. */
  staleMs: number;
  /** A call takes effect up to a minute after it was sent, whether or not its caller still waits. */
  late?: number;
  /** Something on the way sends a write twice; the second answer is the one that comes. */
  replay?: number;
  /** A write is refused with 422 by something that is asked to admit it. */
  invalid?: number;
  /** A list or watch is answered with 410. */
  expired?: number;
  /** Requests that are answered in any second; more get 429 (Q3). @default no limit */
  ratePerSecond?: number;
  /** Longest `Retry-After`. @default 5_000 */
  retryAfterMs?: number;
  /** A watch falls silent some time after it was opened. */
  silentWatch: number;
}

/** What a role allows or not. */
export type KubeVerb =
  | "get"
  | "list"
  | "watch"
  | "patch"
  | "patchStatus"
  | "crdState"
  | "clusterId"
  | "lease";

/** A cluster that does what it is asked. */
export const KIND_CLUSTER: KubeFaults = {
  latencyMs: 10,
  watchLagMs: 50,
  failBefore: 0,
  failAfter: 0,
  timeout: 0,
  conflict: 0,
  throttle: 0,
  staleList: 0,
  staleMs: 0,
  silentWatch: 0,
};

/** Identity of the world's cluster, as tags have it. */
export const CLUSTER_ID = "cluster-1";

/** Whether tags name another cluster than the world's. */
export function ofAnotherCluster(tags: Readonly<Record<string, string>>): boolean {
  return tags[TAG.cluster] !== undefined && tags[TAG.cluster] !== CLUSTER_ID;
}

/** The client's own deadline of a request. */
const TIMEOUT_MS = 30_000;

/** The longest that an API server goes on with a request whose caller has left, in milliseconds. */
const SERVER_TIMEOUT_MS = 60_000;

/** The API as all processes share it. */
export class SimulatedKube {
  faults: KubeFaults = { ...KIND_CLUSTER };
  readonly #watches = new Set<{ fail(error: unknown): void; silence(): void }>();
  /** When the requests of the last second were taken in, in milliseconds; kept only under a limit. */
  #taken: number[] = [];
  /** While set every request fails so. */
  outage: "unavailable" | "unauthorised" | "forbidden" | undefined;

  /** Verbs that are refused. */
  readonly denied = new Map<KubeVerb, "unauthorised" | "forbidden">();

  readonly secrets: SecretStore;

  constructor(readonly store: KubeStore, readonly clock: Clock, readonly dice: Dice) {
    this.secrets = new SecretStore(clock, (uid) => store.byUid(uid) !== undefined);
    store.listen((change) => {
      if (change.type === "DELETED") this.secrets.collectLater();
    });
  }

  /** Breaks all watches. */
  breakWatches(): void {
    for (const watch of [...this.#watches]) watch.fail(new KubeError("network", "the connection was reset"));
  }

  /** Lets all open watches fall silent. */
  silenceWatches(): void {
    for (const watch of this.#watches) watch.silence();
  }

  /** The port of one process. */
  port(by: string): Cluster {
    const call = <T>(verb: KubeVerb, signal: AbortSignal, effect: () => T) =>
      this.#call(verb, signal, effect, verb === "patch" || verb === "patchStatus");
    const { store } = this;
    return {
      get: (key: ObjectKey, { signal }: RequestOptions): Promise<ExternalDatabase> =>
        call("get", signal, () => store.get(key)),
      list: (request: ListRequest): Promise<ListPage> =>
        call("list", request.signal, () => {
          store.requireCrd();
          return this.#list(store, request);
        }),
      watch: (request: WatchRequest): AsyncIterable<WatchEvent> =>
        this.#watch(store, request, () => store.requireCrd()),
      patch: (key: ObjectKey, operations: readonly JsonPatchOperation[], { signal }: RequestOptions) =>
        call("patch", signal, () => store.patch(key, operations, by)),
      patchStatus: (key: ObjectKey, operations: readonly JsonPatchOperation[], { signal }: RequestOptions) =>
        call("patchStatus", signal, () => store.patchStatus(key, operations, by)),
      crdState: ({ signal }: RequestOptions): Promise<CrdState> => call("crdState", signal, () => store.crd),
      clusterId: ({ signal }: RequestOptions): Promise<string> => call("clusterId", signal, () => CLUSTER_ID),
    };
  }

  /** The port to the Secrets of one process. */
  secretsPort(by: string): Secrets {
    const { secrets } = this;
    const call = <T>(verb: KubeVerb, signal: AbortSignal, effect: () => T) =>
      this.#call(verb, signal, effect, verb === "patch");
    const shelf: Shelf<StoredSecret> = {
      get rv() {
        return secrets.rv;
      },
      get compactedTo() {
        return secrets.compactedTo;
      },
      all: () => secrets.all().filter(isLabelled),
      asOf: (rv) => secrets.asOf(rv).filter(isLabelled),
      versionAt: (at) => secrets.versionAt(at),
      since: (rv) => secrets.since(rv).flatMap((c) => labelled(c) ?? []),
      listen: (listener) =>
        secrets.listen((change) => {
          const shown = labelled(change);
          if (shown !== undefined) listener(shown);
        }),
    };
    return {
      get: (key, { signal }) => call("get", signal, () => secrets.get(key)),
      list: (request) => call("list", request.signal, () => this.#list(shelf, request)),
      watch: (request) => this.#watch(shelf, request, () => {}),
      create: (secret, { signal }) => call("patch", signal, () => secrets.create(secret, by)),
      patch: (key, operations, { signal }) => call("patch", signal, () => secrets.patch(key, operations, by)),
      delete: (key, uid, { signal }) => call("patch", signal, () => secrets.delete(key, uid, by)),
    };
  }

  /** The port to the Lease. */
  leasePort(lease: SimulatedLease): LeasePort {
    return {
      get: (signal) => this.#call("lease", signal, () => lease.get(), false),
      create: (write, signal) => this.#call("lease", signal, () => lease.create(write), true),
      update: (version, write, signal) =>
        this.#call("lease", signal, () => lease.update(version, write), true),
    };
  }

  #list<T extends Named>(
    store: Shelf<T>,
    { namespace, limit, continueToken }: ListRequest,
  ): ListPage<T> {
    const { faults, dice, clock } = this;
    this.#expire();
    let rv: number;
    let from = 0;
    if (continueToken !== undefined) {
      const [version, offset] = continueToken.split(":").map(Number);
      rv = version ?? 0;
      from = offset ?? 0;
      if (rv < store.compactedTo) {
        throw new KubeError("expired", "the continue token is too old", { status: 410 });
      }
    } else {
      const stale = dice.chance(faults.staleList);
      rv = stale ? store.versionAt(clock.monotonic() - dice.between(0, faults.staleMs)) : store.rv;
    }
    const objects = rv === store.rv ? store.all() : store.asOf(rv);
    const all = objects.filter((o) => namespace === undefined || o.metadata.namespace === namespace);
    const items = all.slice(from, limit === undefined ? undefined : from + limit);
    const next = from + items.length;
    return {
      items,
      resourceVersion: String(rv),
      ...(next < all.length ? { continueToken: `${rv}:${next}` } : {}),
    };
  }

  #watch<T extends Named>(
    store: Shelf<T>,
    request: WatchRequest,
    check: () => void,
  ): AsyncIterable<WatchEvent<T>> {
    const { clock, dice, faults } = this;
    const open = async (): Promise<Watch<T>> => {
      await this.#call("watch", request.signal, () => {
        check();
        this.#expire();
        if (Number(request.resourceVersion) < store.compactedTo) {
          throw new KubeError("expired", "too old resource version", { status: 410 });
        }
      }, false);
      request.signal.throwIfAborted();
      const watch = new Watch<T>({
        store,
        clock,
        namespace: request.namespace,
        from: Number(request.resourceVersion),
        timeoutMs: request.timeoutSeconds * 1_000,
        lag: () => dice.between(0, this.faults.watchLagMs),
      });
      this.#watches.add(watch);
      request.signal.addEventListener("abort", () => {
        this.#watches.delete(watch);
        watch.close(request.signal.reason);
      }, { once: true });
      if (dice.chance(faults.silentWatch)) {
        clock.setTimeout(() => watch.silence(), dice.between(0, request.timeoutSeconds * 1_000));
      }
      request.onOpen?.();
      return watch;
    };
    let opened: Promise<Watch<T>> | undefined;
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const watch = await (opened ??= open());
          const result = await watch.next();
          if (result.done) this.#watches.delete(watch);
          return result;
        },
        return: async () => await (await (opened ??= open())).return(),
      }),
    };
  }

  /** A history that was forgotten a moment ago. */
  #expire(): void {
    if (!this.dice.chance(this.faults.expired ?? 0)) return;
    throw new KubeError("expired", "too old resource version", { status: 410 });
  }

  async #call<T>(verb: KubeVerb, signal: AbortSignal, effect: () => T, write: boolean): Promise<T> {
    const { clock, dice, faults } = this;
    signal.throwIfAborted();
    const sent = Promise.withResolvers<T>();
    const latency = dice.between(0.1, faults.latencyMs);
    const lost = this.#lost(verb) ?? this.#limited();
    const before = lost !== undefined || dice.chance(faults.failBefore)
      ? lost ?? failure(dice)
      : dice.chance(faults.timeout)
      ? "stall"
      : write && dice.chance(faults.conflict)
      ? new KubeError("conflict", "the object has been modified", { status: 409 })
      : write && dice.chance(faults.invalid ?? 0)
      ? new KubeError("invalid", "the request was denied by an admission webhook", { status: 422 })
      : dice.chance(faults.throttle)
      ? throttled(dice, faults.retryAfterMs)
      : undefined;
    const after = dice.chance(faults.failAfter) ? dice.chance(0.3) ? "stall" : failure(dice) : undefined;
    const late = dice.chance(faults.late ?? 0);
    const twice = write && dice.chance(faults.replay ?? 0);
    // A request that stalls may still have been taken in, or not.
    const takesEffect = before === undefined || (before === "stall" && dice.chance(0.5));
    clock.setTimeout(() => {
      if (!takesEffect) {
        if (before instanceof Error) sent.reject(before);
        return;
      }
      try {
        if (twice) effect();
        const value = effect();
        if (before === "stall" || after === "stall") return;
        if (after === undefined) sent.resolve(value);
        else sent.reject(after);
      } catch (error) {
        sent.reject(error);
      }
    }, late ? dice.between(500, SERVER_TIMEOUT_MS) : latency / 2);
    if (late || before === "stall" || after === "stall") {
      sent.promise.catch(() => {}); // its caller may have gone
      const timer = sleep(clock, TIMEOUT_MS, signal).then(() => {
        throw new KubeError("timeout", `no answer within ${TIMEOUT_MS} ms`);
      });
      return await Promise.race([sent.promise, timer]);
    }
    const value = await sent.promise;
    await sleep(clock, latency / 2, signal);
    return value;
  }

  #limited(): KubeError | undefined {
    const { ratePerSecond } = this.faults;
    if (ratePerSecond === undefined) return undefined;
    const now = this.clock.monotonic();
    this.#taken = this.#taken.filter((at) => now - at < 1_000);
    if (this.#taken.length >= ratePerSecond) {
      return new KubeError("throttled", "too many requests", { status: 429, retryAfterMs: 1_000 });
    }
    this.#taken.push(now);
    return undefined;
  }

  #lost(verb: KubeVerb): KubeError | undefined {
    switch (this.outage ?? this.denied.get(verb)) {
      case undefined:
        return undefined;
      case "unavailable":
        return new KubeError("network", "connection refused");
      case "unauthorised":
        return new KubeError("unauthorised", "Unauthorized", { status: 401 });
      case "forbidden":
        return new KubeError("forbidden", "externaldatabases is forbidden", { status: 403 });
    }
  }
}

function throttled(dice: Dice, longestMs = 5_000): KubeError {
  const retryAfterMs = dice.int(1, longestMs / 1_000) * 1_000;
  return new KubeError("throttled", "too many requests", { status: 429, retryAfterMs });
}

function failure(dice: Dice): KubeError {
  switch (dice.int(0, 3)) {
    case 0:
      return new KubeError("server", "internal error", { status: 500 });
    case 1:
      return new KubeError("unavailable", "service unavailable", { status: 503 });
    case 2:
      return new KubeError("network", "the connection was reset");
    default:
      return new KubeError("network", "the connection was closed");
  }
}
