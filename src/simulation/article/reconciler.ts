/**
 * The reconciler that this project set out from, as it was published ("the complete production-grade reconciler"), over
 * the same ports: a known-bad subject. It is kept faithful, faults included; tests show which of them the operator
 * closes. What controller-runtime does around it is `controller.ts`.
 *
 * @module
 */
import { FINALIZER } from "../../api/constants.ts";
import { type ExternalDatabase, keyText, type ObjectKey } from "../../api/schema.ts";
import type { Clock } from "../../core/clock.ts";
import type { Cluster, JsonPatchOperation } from "../../kube/port.ts";
import {
  type CreateRequest,
  type Database,
  type DatabaseProvider,
  ProviderError,
} from "../../providers/port.ts";

/** `ctrl.Result`; an error is thrown, and then controller-runtime ignores the result, `RequeueAfter` too. */
export interface Result {
  readonly requeue?: boolean;
}

/** The article's cache: five minutes, write-through. */
const CACHE_TTL_MS = 300_000;

/** What the reconciler works with. */
export interface ReconcilerOptions {
  readonly cluster: Cluster;
  readonly provider: DatabaseProvider;
  readonly clock: Clock;
  /** Tags that its databases get, so that judges know whose they are. It reads none. @default none */
  readonly tags?: ((object: ExternalDatabase) => Readonly<Record<string, string>>) | undefined;
}

/** `Reconcile` and what it calls. */
export class Reconciler {
  readonly #o: ReconcilerOptions;
  readonly #cache = new Map<string, { readonly database: Database; readonly until: number }>();

  constructor(options: ReconcilerOptions) {
    this.#o = options;
  }

  /** Reconciles one object as the informer's cache holds it; rejects where the article returns an error. */
  async reconcile(object: ExternalDatabase, signal: AbortSignal): Promise<Result> {
    const finalizers = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp === undefined) {
      if (!finalizers.includes(FINALIZER)) {
        await this.#update(object, [...finalizers, FINALIZER], signal);
        return { requeue: true };
      }
    } else {
      if (finalizers.includes(FINALIZER)) {
        await this.#handleDelete(object, signal);
        await this.#update(object, finalizers.filter((f) => f !== FINALIZER), signal);
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
    const { provider, tags } = this.#o;
    const { engine, version, sizeGb } = object.spec;
    // The article sends no client token.
    const request: Omit<CreateRequest, "clientToken"> = {
      name: object.metadata.name,
      engine,
      version,
      sizeGb,
      tags: tags?.(object) ?? {},
    };
    let made: Database;
    try {
      made = await provider.create(request as CreateRequest, { signal });
    } catch (error) {
      await this.#updateStatus(object, { ...object.status, state: "Failed" }, signal).catch(() => {}); // `_ =`
      throw error;
    }
    const status = { providerId: made.id, state: made.state, endpoint: made.endpoint };
    await this.#updateStatus(object, status, signal);
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
      await this.#updateStatus(object, next, signal);
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
  async #update(
    object: ExternalDatabase,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#o.cluster.patch(keyOf(object), [
      testVersion(object),
      { op: "add", path: "/metadata/finalizers", value: finalizers },
    ], { signal });
  }

  /** `r.Status().Update`. */
  async #updateStatus(object: ExternalDatabase, status: object, signal: AbortSignal): Promise<void> {
    const value = Object.fromEntries(Object.entries(status).filter(([, v]) => v !== undefined)); // omitempty
    await this.#o.cluster.patchStatus(keyOf(object), [
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
