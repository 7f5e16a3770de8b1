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
import type { LeasePort } from "../kube/lease_port.ts";
import type { KubeStore } from "./kube_store.ts";
import { Watch } from "./kube_watch.ts";
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
  /** A watch falls silent some time after it was opened. */
  silentWatch: number;
}

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

/** The API as all processes share it. */
export class SimulatedKube {
  faults: KubeFaults = { ...KIND_CLUSTER };
  readonly #watches = new Set<Watch>();
  /** While set every request fails so. */
  outage: "unavailable" | "unauthorised" | "forbidden" | undefined;

  constructor(readonly store: KubeStore, readonly clock: Clock, readonly dice: Dice) {}

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
    const call = <T>(signal: AbortSignal, effect: () => T, write = false) =>
      this.#call(signal, effect, write);
    const { store } = this;
    return {
      get: (key: ObjectKey, { signal }: RequestOptions): Promise<ExternalDatabase> =>
        call(signal, () => store.get(key)),
      list: (request: ListRequest): Promise<ListPage> => call(request.signal, () => this.#list(request)),
      watch: (request: WatchRequest): AsyncIterable<WatchEvent> => this.#watch(request),
      patch: (key: ObjectKey, operations: readonly JsonPatchOperation[], { signal }: RequestOptions) =>
        call(signal, () => store.patch(key, operations, by), true),
      patchStatus: (key: ObjectKey, operations: readonly JsonPatchOperation[], { signal }: RequestOptions) =>
        call(signal, () => store.patchStatus(key, operations, by), true),
      crdState: ({ signal }: RequestOptions): Promise<CrdState> => call(signal, () => store.crd),
      clusterId: ({ signal }: RequestOptions): Promise<string> => call(signal, () => CLUSTER_ID),
    };
  }

  /** The port to the Lease. */
  leasePort(lease: SimulatedLease): LeasePort {
    return {
      get: (signal) => this.#call(signal, () => lease.get(), false),
      create: (write, signal) => this.#call(signal, () => lease.create(write), true),
      update: (version, write, signal) => this.#call(signal, () => lease.update(version, write), true),
    };
  }

  #list({ namespace, limit, continueToken }: ListRequest): ListPage {
    const { store, faults, dice, clock } = this;
    store.requireCrd();
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

  #watch(request: WatchRequest): AsyncIterable<WatchEvent> {
    const { store, clock, dice, faults } = this;
    const open = async (): Promise<Watch> => {
      await this.#call(request.signal, () => {
        store.requireCrd();
        if (Number(request.resourceVersion) < store.compactedTo) {
          throw new KubeError("expired", "too old resource version", { status: 410 });
        }
      }, false);
      request.signal.throwIfAborted();
      const watch = new Watch({
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
    let opened: Promise<Watch> | undefined;
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

  async #call<T>(signal: AbortSignal, effect: () => T, write: boolean): Promise<T> {
    const { clock, dice, faults } = this;
    signal.throwIfAborted();
    const sent = Promise.withResolvers<T>();
    const latency = dice.between(0.1, faults.latencyMs);
    const lost = this.#lost();
    const before = lost !== undefined || dice.chance(faults.failBefore)
      ? lost ?? failure(dice)
      : dice.chance(faults.timeout)
      ? "stall"
      : write && dice.chance(faults.conflict)
      ? new KubeError("conflict", "the object has been modified", { status: 409 })
      : dice.chance(faults.throttle)
      ? new KubeError("throttled", "too many requests", { status: 429, retryAfterMs: dice.int(1, 5) * 1_000 })
      : undefined;
    const after = dice.chance(faults.failAfter) ? dice.chance(0.3) ? "stall" : failure(dice) : undefined;
    // A request that stalls may still have been taken in, or not.
    const takesEffect = before === undefined || (before === "stall" && dice.chance(0.5));
    clock.setTimeout(() => {
      if (!takesEffect) {
        if (before instanceof Error) sent.reject(before);
        return;
      }
      try {
        const value = effect();
        if (before === "stall" || after === "stall") return;
        if (after === undefined) sent.resolve(value);
        else sent.reject(after);
      } catch (error) {
        sent.reject(error);
      }
    }, latency / 2);
    const stalls = before === "stall" || after === "stall";
    if (stalls) {
      const timer = sleep(clock, TIMEOUT_MS, signal).then(() => {
        throw new KubeError("timeout", `no answer within ${TIMEOUT_MS} ms`);
      });
      return await Promise.race([sent.promise, timer]);
    }
    const value = await sent.promise;
    await sleep(clock, latency / 2, signal);
    return value;
  }

  #lost(): KubeError | undefined {
    switch (this.outage) {
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
