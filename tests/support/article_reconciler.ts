/**
 * The reconciler that this project set out from, as it was published ("the complete production-grade reconciler"), over
 * the same ports: a known-bad subject. It is kept faithful, faults included; tests show which of them the operator
 * closes. Around it stands what controller-runtime does: an informer, a rate-limited queue, one worker.
 *
 * @module
 */
import { FINALIZER } from "../../src/api/constants.ts";
import type { ExternalDatabase, ObjectKey } from "../../src/api/schema.ts";
import type { Clock } from "../../src/core/clock.ts";
import { sleep } from "../../src/core/wait.ts";
import type { Cluster, JsonPatchOperation } from "../../src/kube/port.ts";
import { type Database, type DatabaseProvider, ProviderError } from "../../src/providers/port.ts";

/** `ctrl.Result`; an error is thrown. */
interface Result {
  readonly requeue?: boolean;
}

/** The article's cache: five minutes, write-through. */
const CACHE_TTL_MS = 300_000;
/** controller-runtime's default rate limiter. */
const RETRY = { baseMs: 5, capMs: 1_000_000 };

/** What the reconciler works with. */
export interface ArticleOptions {
  readonly cluster: Cluster;
  readonly provider: DatabaseProvider;
  readonly clock: Clock;
}

/** The article's reconciler and its manager. */
export class ArticleReconciler {
  readonly #o: ArticleOptions;
  readonly #informer = new Map<string, ExternalDatabase>();
  readonly #cache = new Map<string, { readonly database: Database; readonly until: number }>();
  readonly #queue = new Set<string>();
  readonly #failures = new Map<string, number>();
  #wake: () => void = () => {};
  #creates = 0;

  constructor(options: ArticleOptions) {
    this.#o = options;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#watch(signal), this.#work(signal)]);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { cluster, clock } = this.#o;
    while (!signal.aborted) {
      try {
        const { items, resourceVersion } = await cluster.list({ signal });
        for (const object of items) this.#see(object);
        // A watch that the server ends goes on where it was: that delivers nothing, as in client-go.
        for (let at = resourceVersion; !signal.aborted;) {
          for await (const event of cluster.watch({ resourceVersion: at, timeoutSeconds: 600, signal })) {
            at = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
            if (event.type === "DELETED") this.#informer.delete(keyText(event.object.metadata));
            else if (event.type !== "BOOKMARK") this.#see(event.object);
          }
        }
      } catch {
        await sleep(clock, 800, signal).catch(() => {}); // the informer's own retry; an abort ends the loop
      }
    }
  }

  #see(object: ExternalDatabase): void {
    const key = keyText(object.metadata);
    this.#informer.set(key, object);
    this.#add(key);
  }

  #add(key: string): void {
    this.#queue.add(key);
    this.#wake();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { clock } = this.#o;
    const ended = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    while (!signal.aborted) {
      const [key] = this.#queue;
      if (key === undefined) {
        await Promise.race([ended, new Promise<void>((resolve) => this.#wake = resolve)]);
        continue;
      }
      this.#queue.delete(key);
      const again = await this.#reconcile(key, signal).then((r) => r.requeue ?? false, () => true);
      if (signal.aborted) return;
      if (!again) {
        this.#failures.delete(key);
        continue;
      }
      const n = this.#failures.get(key) ?? 0;
      this.#failures.set(key, n + 1);
      clock.setTimeout(() => this.#add(key), Math.min(RETRY.capMs, RETRY.baseMs * 2 ** n));
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Result> {
    let object = this.#informer.get(key);
    if (object === undefined) return {};
    const finalizers = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp === undefined) {
      if (!finalizers.includes(FINALIZER)) {
        await this.#update(object, [...finalizers, FINALIZER], signal);
        return { requeue: true };
      }
    } else {
      if (finalizers.includes(FINALIZER)) {
        await this.#handleDelete(object, signal);
        object = await this.#update(object, finalizers.filter((f) => f !== FINALIZER), signal);
      }
      return {};
    }
    const database = await this.#getCached(object, signal);
    return database === undefined
      ? await this.#handleCreate(object, signal)
      : await this.#handleUpdate(object, database, signal);
  }

  async #getCached(object: ExternalDatabase, signal: AbortSignal): Promise<Database | undefined> {
    const { clock, provider } = this.#o;
    const key = keyText(object.metadata);
    const cached = this.#cache.get(key);
    if (cached !== undefined && clock.monotonic() < cached.until) return cached.database;
    const id = object.status?.providerId;
    if (id === undefined || id === "") return undefined;
    const database = await provider.get(id, { signal });
    this.#remember(key, database);
    return database;
  }

  async #handleCreate(object: ExternalDatabase, signal: AbortSignal): Promise<Result> {
    const { provider } = this.#o;
    const { engine, version, sizeGb } = object.spec;
    let made: Database;
    try {
      made = await provider.create({
        name: object.metadata.name,
        engine,
        version,
        sizeGb,
        tags: {},
        clientToken: `none-${++this.#creates}`, // the article sends none: never the same one twice is the same
      }, { signal });
    } catch (error) {
      await this.#updateStatus(object, { ...object.status, state: "Failed" }, signal).catch(() => {}); // `_ =`
      throw error;
    }
    const status = { providerId: made.id, state: made.state, endpoint: made.endpoint };
    try {
      await this.#updateStatus(object, status, signal);
    } catch {
      return { requeue: true };
    }
    this.#remember(keyText(object.metadata), made);
    return {};
  }

  async #handleUpdate(object: ExternalDatabase, seen: Database, signal: AbortSignal): Promise<Result> {
    let database = seen;
    const { sizeGb, version } = object.spec;
    if (database.sizeGb !== sizeGb || database.version !== version) {
      database = await this.#o.provider.modify(database.id, { sizeGb, version }, { signal });
      this.#remember(keyText(object.metadata), database);
    }
    const { status } = object;
    if (status?.state !== database.state || status?.endpoint !== database.endpoint) {
      const next = { ...status, state: database.state, endpoint: database.endpoint };
      try {
        await this.#updateStatus(object, next, signal);
      } catch {
        return { requeue: true };
      }
    }
    return {};
  }

  async #handleDelete(object: ExternalDatabase, signal: AbortSignal): Promise<void> {
    const id = object.status?.providerId;
    if (id === undefined || id === "") return;
    try {
      await this.#o.provider.delete(id, { signal });
    } catch (error) {
      if (!(error instanceof ProviderError && error.errorClass === "absent")) throw error;
    }
    this.#cache.delete(keyText(object.metadata));
  }

  /** `r.Update`: under the resourceVersion that was read. */
  #update(
    object: ExternalDatabase,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<ExternalDatabase> {
    return this.#o.cluster.patch(keyOf(object), [
      testVersion(object),
      { op: "add", path: "/metadata/finalizers", value: finalizers },
    ], { signal });
  }

  /** `r.Status().Update`. */
  #updateStatus(object: ExternalDatabase, status: object, signal: AbortSignal): Promise<ExternalDatabase> {
    const value = Object.fromEntries(Object.entries(status).filter(([, v]) => v !== undefined)); // omitempty
    return this.#o.cluster.patchStatus(keyOf(object), [
      testVersion(object),
      { op: "add", path: "/status", value },
    ], { signal });
  }

  #remember(key: string, database: Database): void {
    this.#cache.set(key, { database, until: this.#o.clock.monotonic() + CACHE_TTL_MS });
  }
}

function testVersion({ metadata }: ExternalDatabase): JsonPatchOperation {
  return { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion };
}

function keyOf({ metadata }: ExternalDatabase): ObjectKey {
  return { namespace: metadata.namespace, name: metadata.name };
}

function keyText({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
