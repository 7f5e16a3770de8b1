/**
 * A cluster as it would be: reads are the real one's, with what the plan has foreseen laid over them; a write is foreseen
 * and never sent.
 *
 * @module
 */
import jsonpatch from "fast-json-patch";
import { FINALIZER } from "../api/constants.ts";
import { type ExternalDatabase, keyText, type ObjectKey } from "../api/schema.ts";
import { type Cluster, type JsonPatchOperation, KubeError } from "../kube/port.ts";
import type { Secrets, StoredSecret } from "../kube/secrets_port.ts";
import { readOnlyCluster, readOnlySecrets } from "./read_only.ts";
import type { PlannedAction } from "./types.ts";

/** What a {@linkcode ForecastCluster} takes. */
export interface ForecastClusterOptions {
  /** Absent: there is none, and nothing is in it but what is put there. */
  readonly cluster?: Cluster | undefined;
  readonly secrets?: Secrets | undefined;
  /** The cluster's identity where it is not to be asked. */
  readonly clusterId?: string | undefined;
  readonly tell: (action: PlannedAction) => void;
}

function missing(key: ObjectKey): KubeError {
  return new KubeError("notFound", `"${keyText(key)}" not found`, { status: 404 });
}

function reject(what: string): never {
  throw new Error(`A plan does not ${what}`);
}

/** `before` with the operations on it, as an API server would apply them. Throws a `KubeError` of kind `invalid`. */
function patched<T extends { readonly metadata: { readonly resourceVersion: string } }>(
  before: T,
  operations: readonly JsonPatchOperation[],
): T {
  let after: T;
  try {
    const document = structuredClone(before);
    after = jsonpatch.applyPatch(document, structuredClone(operations) as never, true).newDocument as T;
  } catch (cause) {
    throw new KubeError("invalid", "a test of the patch failed", { status: 422, cause });
  }
  return {
    ...after,
    metadata: { ...after.metadata, resourceVersion: next(before.metadata.resourceVersion) },
  };
}

function next(resourceVersion: string): string {
  return /^\d+$/.test(resourceVersion) ? String(BigInt(resourceVersion) + 1n) : `${resourceVersion}+`;
}

/** The cluster, as it would be. */
export class ForecastCluster {
  readonly cluster: Cluster;
  readonly secrets: Secrets;
  readonly #o: ForecastClusterOptions;
  readonly #real: Cluster | undefined;
  readonly #objects = new Map<string, ExternalDatabase | undefined>();
  readonly #kept = new Map<string, StoredSecret | undefined>();

  constructor(options: ForecastClusterOptions) {
    this.#o = options;
    this.#real = options.cluster && readOnlyCluster(options.cluster);
    this.cluster = {
      get: (key, { signal }) => this.#get(key, signal),
      list: () => reject("list"),
      watch: () => reject("watch"),
      crdState: (o) => this.#real?.crdState(o) ?? Promise.resolve("established"),
      clusterId: (o) => {
        if (options.clusterId !== undefined) return Promise.resolve(options.clusterId);
        return this.#real?.clusterId(o) ?? Promise.resolve("no cluster");
      },
      patch: (key, operations, { signal }) => this.#patch(key, operations, signal, false),
      patchStatus: (key, operations, { signal }) => this.#patch(key, operations, signal, true),
    };
    this.secrets = this.#secretsPort();
  }

  /** Puts a resource as it is, or as a manifest would make it. */
  put(object: ExternalDatabase): void {
    this.#objects.set(keyText(object.metadata), object);
  }

  async #get(key: ObjectKey, signal: AbortSignal): Promise<ExternalDatabase> {
    const id = keyText(key);
    if (!this.#objects.has(id)) {
      if (this.#real === undefined) {
        throw new KubeError(
          "unavailable",
          "the plan is made without a cluster, which would have to be asked",
        );
      }
      this.#objects.set(id, await this.#real.get(key, { signal }));
    }
    const object = this.#objects.get(id);
    if (object === undefined) throw missing(key);
    return object;
  }

  async #patch(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    signal: AbortSignal,
    status: boolean,
  ): Promise<ExternalDatabase> {
    const before = await this.#get(key, signal);
    const after = patched({ ...before, status: before.status ?? {} }, operations);
    const { metadata } = after;
    const object = status
      ? {
        ...before,
        metadata: { ...before.metadata, resourceVersion: metadata.resourceVersion },
        status: after.status,
      }
      : { ...after, status: before.status };
    const had = before.metadata.finalizers?.includes(FINALIZER) ?? false;
    const has = object.metadata.finalizers?.includes(FINALIZER) ?? false;
    if (had && !has) this.#o.tell({ action: "release", why: "" });
    const gone = object.metadata.deletionTimestamp !== undefined && !object.metadata.finalizers?.length;
    this.#objects.set(keyText(key), gone ? undefined : object);
    return object;
  }

  #secretsPort(): Secrets {
    const { secrets, tell } = this.#o;
    const real = secrets && readOnlySecrets(secrets);
    const kept = this.#kept;
    const get: Secrets["get"] = async (key, options) => {
      const id = keyText(key);
      if (!kept.has(id)) {
        if (real === undefined) throw missing(key);
        kept.set(id, await real.get(key, options));
      }
      const secret = kept.get(id);
      if (secret === undefined) throw missing(key);
      return secret;
    };
    return {
      get,
      list: () => reject("list Secrets"),
      watch: () => reject("watch Secrets"),
      create: (secret) => {
        const { name } = secret.metadata;
        const stored: StoredSecret = {
          ...secret,
          metadata: { ...secret.metadata, uid: `new ${name}`, resourceVersion: "1" },
        };
        kept.set(keyText(secret.metadata), stored);
        tell({ action: "secret", name, why: "" });
        return Promise.resolve(stored);
      },
      patch: async (key, operations, options) => {
        const after = patched(await get(key, options), operations);
        kept.set(keyText(key), after);
        tell({ action: "secret", name: key.name, why: "" });
        return after;
      },
      delete: (key) => {
        kept.set(keyText(key), undefined);
        tell({ action: "removeSecret", name: key.name, why: "" });
        return Promise.resolve();
      },
    };
  }
}
