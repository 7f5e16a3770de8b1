/**
 * A Kubernetes API for one operator, in memory and with nothing that a fleet's own cost could hide behind: no history,
 * no copies of old objects.
 *
 * @module
 */
import jsonpatch from "fast-json-patch";
import { API_VERSION, KIND } from "../src/api/constants.ts";
import type { ExternalDatabase, ObjectKey } from "../src/api/schema.ts";
import {
  type Cluster,
  type JsonPatchOperation,
  KubeError,
  type ListPage,
  type WatchEvent,
  type WatchRequest,
} from "../src/kube/port.ts";

/** The model; one watch at a time. */
export class FleetCluster implements Cluster {
  readonly #objects = new Map<string, ExternalDatabase>();
  #waiting: WatchEvent[] = [];
  #wake: () => void = () => {};
  #version = 1;

  /** Creates a resource of 20 GiB. */
  create(name: string): void {
    this.#store("ADDED", {
      apiVersion: API_VERSION,
      kind: KIND,
      metadata: {
        namespace: "default",
        name,
        uid: crypto.randomUUID(),
        generation: 1,
        resourceVersion: "0",
        creationTimestamp: new Date().toISOString(),
      },
      spec: { engine: "postgres", version: "14.2", sizeGb: 20 },
      status: {},
    });
  }

  /** Asks for one GiB more. */
  grow(name: string): void {
    const before = this.#must({ namespace: "default", name });
    const { metadata, spec } = before;
    this.#store("MODIFIED", {
      ...before,
      metadata: { ...metadata, generation: metadata.generation + 1 },
      spec: { ...spec, sizeGb: spec.sizeGb + 1 },
    });
  }

  /** Resources that are in step. */
  inStep(): number {
    let n = 0;
    for (const { metadata, status } of this.#objects.values()) {
      const synced = status?.conditions?.find((c) => c.type === "Synced");
      if (synced?.status === "True" && status?.observedGeneration === metadata.generation) n++;
    }
    return n;
  }

  // deno-lint-ignore require-await -- what it throws is to be a rejection
  async get(key: ObjectKey): Promise<ExternalDatabase> {
    return this.#must(key);
  }

  list(): Promise<ListPage> {
    this.#waiting = [];
    return Promise.resolve({ items: [...this.#objects.values()], resourceVersion: String(this.#version) });
  }

  async *watch({ signal }: WatchRequest): AsyncGenerator<WatchEvent> {
    signal.addEventListener("abort", () => this.#wake());
    while (!signal.aborted) {
      const events = this.#waiting;
      this.#waiting = [];
      yield* events;
      if (this.#waiting.length === 0) {
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    }
  }

  patch(key: ObjectKey, operations: readonly JsonPatchOperation[]): Promise<ExternalDatabase> {
    return this.#patched(key, operations);
  }

  patchStatus(key: ObjectKey, operations: readonly JsonPatchOperation[]): Promise<ExternalDatabase> {
    return this.#patched(key, operations);
  }

  crdState(): Promise<"established"> {
    return Promise.resolve("established");
  }

  clusterId(): Promise<string> {
    return Promise.resolve("bench");
  }

  // deno-lint-ignore require-await -- what it throws is to be a rejection
  async #patched(key: ObjectKey, operations: readonly JsonPatchOperation[]): Promise<ExternalDatabase> {
    const copy = structuredClone(this.#must(key));
    try {
      jsonpatch.applyPatch(copy, [...operations] as jsonpatch.Operation[], true);
    } catch (error) {
      throw new KubeError("invalid", String(error), { status: 422 });
    }
    return this.#store("MODIFIED", copy);
  }

  #store(type: "ADDED" | "MODIFIED", object: ExternalDatabase): ExternalDatabase {
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    };
    this.#objects.set(`${stored.metadata.namespace}/${stored.metadata.name}`, stored);
    this.#waiting.push({ type, object: stored });
    this.#wake();
    return stored;
  }

  #must({ namespace, name }: ObjectKey): ExternalDatabase {
    const object = this.#objects.get(`${namespace}/${name}`);
    if (object === undefined) {
      throw new KubeError("notFound", `${namespace}/${name} is not there`, { status: 404 });
    }
    return object;
  }
}
