/**
 * A model of the Kubernetes API at the operator's port: fast, in virtual time, with faults. It keeps the rules that the
 * operator leans on (resourceVersions, generation, finalizers, status subresource, JSON patch tests, watch history).
 *
 * @module
 */
import jsonpatch from "fast-json-patch";
import { API_VERSION, KIND } from "../../src/api/constants.ts";
import type {
  ExternalDatabase,
  ExternalDatabaseSpec,
  ExternalDatabaseStatus,
  ObjectKey,
} from "../../src/api/schema.ts";
import type { Clock } from "../../src/core/clock.ts";
import { sleep } from "../../src/core/wait.ts";
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
} from "../../src/kube/port.ts";

/** One request, for faults and counts. */
export interface ModelCall {
  readonly verb: "get" | "list" | "watch" | "patch" | "patchStatus" | "crdState" | "clusterId";
  readonly key?: ObjectKey;
  readonly phase: "before" | "after";
}

type Mutable = { -readonly [K in keyof ExternalDatabase]: ExternalDatabase[K] };

/** The model. What users do is called directly; what the operator does comes through the port. */
export class ModelCluster implements Cluster {
  readonly #objects = new Map<string, ExternalDatabase>();
  readonly #history: { rv: number; event: WatchEvent & { readonly object: ExternalDatabase } }[] = [];
  readonly #wakers = new Set<() => void>();
  #rv = 100;
  #uids = 0;
  #compactedTo = 0;
  #broken = 0;
  crd: CrdState = "established";
  /** May throw to fail a call, before or after its effect; may wait. */
  fault: (call: ModelCall) => void | Promise<void> = () => {};
  latencyMs = 0;
  /** Writes of the operator, by verb. */
  readonly writes: { verb: "patch" | "patchStatus"; key: ObjectKey; object: ExternalDatabase }[] = [];
  conflicts = 0;

  constructor(private readonly clock: Clock) {}

  // What users do.

  create(
    namespace: string,
    name: string,
    spec: Partial<ExternalDatabaseSpec> = {},
    more: Partial<ExternalDatabase["metadata"]> = {},
  ): ExternalDatabase {
    const id = `${namespace}/${name}`;
    if (this.#objects.has(id)) throw new Error(`${id} exists`);
    const object: ExternalDatabase = {
      apiVersion: API_VERSION,
      kind: KIND,
      metadata: {
        ...more,
        namespace,
        name,
        uid: `00000000-0000-4000-8000-${String(++this.#uids).padStart(12, "0")}`,
        generation: 1,
        resourceVersion: "0",
        creationTimestamp: new Date(this.clock.now()).toISOString(),
      },
      spec: { engine: "postgres", version: "14.2", sizeGb: 20, ...spec },
      status: {},
    };
    return this.#store("ADDED", object);
  }

  edit(namespace: string, name: string, spec: Partial<ExternalDatabaseSpec>): ExternalDatabase {
    const before = this.#must({ namespace, name });
    return this.#update(before, { ...before, spec: { ...before.spec, ...spec } });
  }

  /** Stores a spec that no schema checked, as an older or loosened CRD may have left it behind. */
  replaceSpec(namespace: string, name: string, spec: unknown): ExternalDatabase {
    const before = this.#must({ namespace, name });
    return this.#update(before, { ...before, spec: spec as ExternalDatabaseSpec });
  }

  /** Changes metadata as `kubectl annotate`, `label` or `replace` do. */
  meta(namespace: string, name: string, change: Partial<ExternalDatabase["metadata"]>): ExternalDatabase {
    const before = this.#must({ namespace, name });
    return this.#update(before, { ...before, metadata: { ...before.metadata, ...change } });
  }

  annotate(namespace: string, name: string, annotations: Record<string, string>): ExternalDatabase {
    const { metadata } = this.#must({ namespace, name });
    return this.meta(namespace, name, { annotations: { ...metadata.annotations, ...annotations } });
  }

  /** Changes the status past the operator. */
  setStatus(namespace: string, name: string, status: ExternalDatabaseStatus): ExternalDatabase {
    const before = this.#must({ namespace, name });
    return this.#update(before, { ...before, status });
  }

  delete(namespace: string, name: string): void {
    const before = this.#must({ namespace, name });
    if (!before.metadata.finalizers?.length) return this.#remove(before);
    if (before.metadata.deletionTimestamp !== undefined) return;
    const metadata = {
      ...before.metadata,
      generation: before.metadata.generation + 1,
      deletionTimestamp: new Date(this.clock.now()).toISOString(),
    };
    this.#store("MODIFIED", { ...before, metadata });
  }

  /**
   * Removes an object whatever its finalizers: what a real API server does with one whose finalizer was written while
   * a DELETE was under way. As there, the event shows it as it was.
   */
  vanish(namespace: string, name: string): void {
    this.#remove(this.#must({ namespace, name }));
  }

  read(namespace: string, name: string): ExternalDatabase | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  all(): ExternalDatabase[] {
    return [...this.#objects.values()];
  }

  /** Breaks every open watch. */
  breakWatches(): void {
    this.#broken++;
    this.#wake();
  }

  /** Forgets the history: a watch from before answers 410. */
  compact(): void {
    this.#compactedTo = this.#rv;
    this.#history.length = 0;
    this.breakWatches();
  }

  // The port.

  async get(key: ObjectKey, { signal }: RequestOptions): Promise<ExternalDatabase> {
    return await this.#call({ verb: "get", key }, signal, () => this.#must(key));
  }

  async list({ namespace, signal }: ListRequest): Promise<ListPage> {
    return await this.#call({ verb: "list" }, signal, () => ({
      items: this.all().filter((o) => namespace === undefined || o.metadata.namespace === namespace),
      resourceVersion: String(this.#rv),
    }));
  }

  async *watch(
    { namespace, resourceVersion, signal, timeoutSeconds }: WatchRequest,
  ): AsyncGenerator<WatchEvent> {
    await this.#call({ verb: "watch" }, signal, () => {});
    let at = Number(resourceVersion);
    if (at < this.#compactedTo) throw new KubeError("expired", "too old resource version", { status: 410 });
    const broken = this.#broken;
    const until = this.clock.monotonic() + timeoutSeconds * 1_000;
    while (this.clock.monotonic() < until) {
      if (broken !== this.#broken) throw new KubeError("network", "the connection was reset");
      for (const { rv, event } of this.#history.slice()) {
        if (rv <= at) continue;
        at = rv;
        if (namespace === undefined || event.object.metadata.namespace === namespace) yield event;
      }
      if (this.#history.at(-1) !== undefined && (this.#history.at(-1)?.rv ?? 0) > at) continue;
      await this.#next(signal, Math.min(60_000, until - this.clock.monotonic()));
      if (broken === this.#broken) yield { type: "BOOKMARK", resourceVersion: String(at) };
    }
  }

  async patch(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    { signal }: RequestOptions,
  ): Promise<ExternalDatabase> {
    return await this.#call({ verb: "patch", key }, signal, () => {
      const before = this.#must(key);
      const after = this.#apply(before, operations);
      const object = this.#update(before, { ...after, status: before.status });
      this.writes.push({ verb: "patch", key, object });
      return object;
    });
  }

  async patchStatus(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    { signal }: RequestOptions,
  ): Promise<ExternalDatabase> {
    return await this.#call({ verb: "patchStatus", key }, signal, () => {
      const before = this.#must(key);
      const after = this.#apply(before, operations);
      const object = this.#update(before, { ...before, status: after.status });
      this.writes.push({ verb: "patchStatus", key, object });
      return object;
    });
  }

  async crdState({ signal }: RequestOptions): Promise<CrdState> {
    return await this.#call({ verb: "crdState" }, signal, () => this.crd);
  }

  async clusterId({ signal }: RequestOptions): Promise<string> {
    return await this.#call({ verb: "clusterId" }, signal, () => "cluster-1");
  }

  async #call<T>(call: Omit<ModelCall, "phase">, signal: AbortSignal, effect: () => T): Promise<T> {
    signal.throwIfAborted();
    if (this.latencyMs > 0) await sleep(this.clock, this.latencyMs / 2, signal);
    await this.fault({ ...call, phase: "before" });
    const value = effect();
    await this.fault({ ...call, phase: "after" });
    if (this.latencyMs > 0) await sleep(this.clock, this.latencyMs / 2, signal);
    return value;
  }

  #must({ namespace, name }: ObjectKey): ExternalDatabase {
    const object = this.#objects.get(`${namespace}/${name}`);
    if (object === undefined) {
      throw new KubeError("notFound", `externaldatabases.crd.my.domain "${name}" not found`, { status: 404 });
    }
    return object;
  }

  #apply(before: ExternalDatabase, operations: readonly JsonPatchOperation[]): ExternalDatabase {
    const document = { ...structuredClone(before), status: structuredClone(before.status ?? {}) };
    try {
      return jsonpatch.applyPatch(document, structuredClone(operations) as never, true)
        .newDocument as ExternalDatabase;
    } catch (error) {
      this.conflicts++;
      throw new KubeError("invalid", "the server rejected our request due to an error in our request", {
        status: 422,
        cause: error,
      });
    }
  }

  #update(before: ExternalDatabase, after: ExternalDatabase): ExternalDatabase {
    const { metadata: was } = before;
    const { metadata: is } = after;
    const added = (is.finalizers ?? []).filter((f) => !was.finalizers?.includes(f));
    if (was.deletionTimestamp !== undefined && added.length > 0) {
      throw new KubeError("invalid", "no new finalizers can be added if the object is being deleted", {
        status: 422,
      });
    }
    const generation = was.generation + (JSON.stringify(before.spec) === JSON.stringify(after.spec) ? 0 : 1);
    const next: Mutable = {
      ...after,
      metadata: { ...is, uid: was.uid, generation, resourceVersion: was.resourceVersion },
    };
    if (JSON.stringify(next) === JSON.stringify(before)) return before;
    if (was.deletionTimestamp !== undefined && !next.metadata.finalizers?.length) {
      this.#remove(next);
      return next;
    }
    return this.#store("MODIFIED", next);
  }

  #store(type: "ADDED" | "MODIFIED", object: ExternalDatabase): ExternalDatabase {
    const rv = ++this.#rv;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(rv) } };
    this.#objects.set(`${stored.metadata.namespace}/${stored.metadata.name}`, stored);
    this.#history.push({ rv, event: { type, object: stored } });
    this.#wake();
    return stored;
  }

  #remove(object: ExternalDatabase): void {
    const rv = ++this.#rv;
    this.#objects.delete(`${object.metadata.namespace}/${object.metadata.name}`);
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(rv) } };
    this.#history.push({ rv, event: { type: "DELETED", object: last } });
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#wakers) wake();
  }

  /** Waits for news, the signal, or `ms`. */
  #next(signal: AbortSignal, ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#wakers.delete(wake);
        signal.removeEventListener("abort", abort);
        this.clock.clearTimeout(timer);
        settle();
      };
      const wake = () => end(resolve);
      const abort = () => end(() => reject(signal.reason));
      const timer = this.clock.setTimeout(wake, ms);
      this.#wakers.add(wake);
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}
