/**
 * What the simulated Kubernetes API holds: objects, their history, and the rules that the operator leans on
 * (resourceVersion, generation, finalizers, the status subresource, JSON patch tests, the CRD's transition rules, a CRD
 * that is being deleted).
 *
 * Everything happens at once here; `kube_port.ts` puts time, lag and faults around it.
 *
 * @module
 */
import jsonpatch from "fast-json-patch";
import { API_VERSION, KIND } from "../api/constants.ts";
import {
  type ExternalDatabase,
  type ExternalDatabaseSpec,
  type ExternalDatabaseStatus,
  keyText,
  type ObjectKey,
  type ObjectMeta,
} from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { equal } from "../core/equal.ts";
import { type CrdState, type JsonPatchOperation, KubeError } from "../kube/port.ts";

/** One change of one object. */
export interface Change {
  readonly rv: number;
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: ExternalDatabase;
  readonly before: ExternalDatabase | undefined;
  /** `user`, or the process of the operator. */
  readonly by: string;
}

const USER = "user";

/** The store. */
export class KubeStore {
  readonly #objects = new Map<string, ExternalDatabase>();
  readonly #history: Change[] = [];
  readonly #listeners = new Set<(change: Change) => void>();
  /** UIDs of objects that a DELETE removes once they have a finalizer. */
  readonly #crossing = new Set<string>();
  #rv = 100;
  #uids = 0;
  #compactedTo = 0;
  #crd: CrdState = "established";

  /** `firstUid` tells the UIDs of two clusters apart. */
  constructor(private readonly clock: Clock, firstUid = 0) {
    this.#uids = firstUid;
  }

  /** Version of the newest change. */
  get rv(): number {
    return this.#rv;
  }

  get crd(): CrdState {
    return this.#crd;
  }

  /** Versions below this are forgotten. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  /** Calls `listener` at every change; the result ends that. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changes after version `rv`, oldest first. */
  since(rv: number): Change[] {
    let i = this.#history.length;
    while (i > 0 && this.#history[i - 1]!.rv > rv) i--;
    return this.#history.slice(i);
  }

  all(): ExternalDatabase[] {
    return [...this.#objects.values()];
  }

  /** The objects as they were at version `rv`. */
  asOf(rv: number): ExternalDatabase[] {
    const objects = new Map<string, ExternalDatabase>();
    for (const { rv: at, type, object } of this.#history) {
      if (at > rv) break;
      if (type === "DELETED") objects.delete(keyText(object.metadata));
      else objects.set(keyText(object.metadata), object);
    }
    return [...objects.values()];
  }

  /** The newest version at monotonic time `at`, not below what is compacted. */
  versionAt(at: number): number {
    let rv = this.#rv;
    for (let i = this.#history.length - 1; i >= 0 && this.#history[i]!.at > at; i--) {
      rv = this.#history[i]!.rv - 1;
    }
    return Math.max(rv, this.#compactedTo);
  }

  find(key: ObjectKey): ExternalDatabase | undefined {
    return this.#objects.get(keyText(key));
  }

  byUid(uid: string): ExternalDatabase | undefined {
    for (const object of this.#objects.values()) if (object.metadata.uid === uid) return object;
    return undefined;
  }

  /** Throws `notFound` where there is none, or no CRD. */
  get(key: ObjectKey): ExternalDatabase {
    this.requireCrd();
    const object = this.#objects.get(keyText(key));
    if (object === undefined) {
      throw new KubeError("notFound", `externaldatabases.crd.my.domain "${key.name}" not found`, {
        status: 404,
      });
    }
    return object;
  }

  /** Throws `notFound` while the CRD is missing. */
  requireCrd(): void {
    if (this.#crd !== "missing") return;
    throw new KubeError("notFound", "the server could not find the requested resource", { status: 404 });
  }

  // What users do. Each throws what the API server would answer.

  create(key: ObjectKey, spec: ExternalDatabaseSpec, finalizers: readonly string[] = []): ExternalDatabase {
    if (this.#crd !== "established") throw new KubeError("forbidden", "the CRD is not established");
    if (this.#objects.has(keyText(key))) {
      throw new KubeError("conflict", `${key.name} exists`, { status: 409 });
    }
    const uid = `00000000-0000-4000-8000-${String(++this.#uids).padStart(12, "0")}`;
    const metadata: ObjectMeta = {
      ...key,
      uid,
      generation: 1,
      resourceVersion: "0",
      creationTimestamp: new Date(this.clock.now()).toISOString(),
      ...(finalizers.length > 0 ? { finalizers } : {}),
    };
    const object = { apiVersion: API_VERSION, kind: KIND, metadata, spec, status: {} };
    return this.#store("ADDED", object, undefined, USER);
  }

  edit(key: ObjectKey, change: Partial<ExternalDatabaseSpec>): ExternalDatabase {
    const before = this.get(key);
    const spec = Object.fromEntries(
      Object.entries({ ...before.spec, ...change }).filter(([, v]) => v !== undefined),
    ) as unknown as ExternalDatabaseSpec;
    checkTransition(before, spec);
    return this.#update(before, { ...before, spec }, USER);
  }

  meta(key: ObjectKey, change: Partial<ObjectMeta>): ExternalDatabase {
    const before = this.get(key);
    return this.#update(before, { ...before, metadata: { ...before.metadata, ...change } }, USER);
  }

  annotate(key: ObjectKey, annotations: Readonly<Record<string, string>>): ExternalDatabase {
    const { metadata } = this.get(key);
    return this.meta(key, { annotations: { ...metadata.annotations, ...annotations } });
  }

  setStatus(key: ObjectKey, status: ExternalDatabaseStatus): ExternalDatabase {
    const before = this.get(key);
    return this.#update(before, { ...before, status }, USER);
  }

  delete(key: ObjectKey): void {
    this.#delete(this.get(key));
  }

  /**
   * A DELETE that looks at the finalizers now and removes the object when the operator has written its own, or at
   * {@linkcode endCrossing}, as an API server does (seen on 1.37).
   */
  deleteAcross(key: ObjectKey): void {
    const { metadata } = this.get(key);
    if (metadata.finalizers?.length) this.delete(key);
    else this.#crossing.add(metadata.uid);
  }

  /** The crossing DELETE gets through, whatever it met. */
  endCrossing(key: ObjectKey): void {
    const object = this.find(key);
    if (object !== undefined && this.#crossing.delete(object.metadata.uid)) {
      this.#remove(object, object, USER);
    }
  }

  /** Deletes the CRD: every object is deleted, and when the last is gone it is missing (rule 13). */
  deleteCrd(): void {
    if (this.#crd !== "established") return;
    this.#crd = "terminating";
    for (const object of this.all()) this.#delete(object);
    this.#afterRemoval();
  }

  /** Installs the CRD again where it is missing. */
  installCrd(): void {
    if (this.#crd === "missing") this.#crd = "established";
  }

  /** Forgets the history. */
  compact(): void {
    this.#compactedTo = this.#rv;
  }

  /**
   * Goes back to the state of monotonic time `at`, as a cluster restored from a backup; `bump` is what the
   * administrator adds to the version, 0 for one who does not know better. The UIDs that changed since.
   */
  restore(at: number, bump: number): readonly string[] {
    const changed = new Set(this.since(this.versionAt(at)).map((c) => c.object.metadata.uid));
    const rv = this.versionAt(at);
    const objects = this.asOf(rv);
    this.#objects.clear();
    for (const object of objects) this.#objects.set(keyText(object.metadata), object);
    while ((this.#history.at(-1)?.rv ?? 0) > rv) this.#history.pop();
    this.#rv = rv + bump;
    if (bump > 0) this.#compactedTo = this.#rv;
    return [...changed];
  }

  // What the operator asks for.

  patch(key: ObjectKey, operations: readonly JsonPatchOperation[], by: string): ExternalDatabase {
    const before = this.get(key);
    const after = apply(before, operations);
    return this.#update(before, { ...after, status: before.status }, by);
  }

  patchStatus(key: ObjectKey, operations: readonly JsonPatchOperation[], by: string): ExternalDatabase {
    const before = this.get(key);
    const after = apply(before, operations);
    return this.#update(before, { ...before, status: after.status }, by);
  }

  #delete(before: ExternalDatabase): void {
    if (!before.metadata.finalizers?.length) return this.#remove(before, before, USER);
    if (before.metadata.deletionTimestamp !== undefined) return;
    const metadata = {
      ...before.metadata,
      generation: before.metadata.generation + 1,
      deletionTimestamp: new Date(this.clock.now()).toISOString(),
    };
    this.#store("MODIFIED", { ...before, metadata }, before, USER);
  }

  #update(before: ExternalDatabase, after: ExternalDatabase, by: string): ExternalDatabase {
    const { metadata: was } = before;
    const { metadata: is } = after;
    const added = (is.finalizers ?? []).filter((f) => !was.finalizers?.includes(f));
    if (was.deletionTimestamp !== undefined && added.length > 0) {
      throw new KubeError("invalid", "no new finalizers can be added if the object is being deleted", {
        status: 422,
      });
    }
    const sameSpec = equal(before.spec, after.spec);
    const next: ExternalDatabase = {
      ...after,
      spec: sameSpec ? before.spec : after.spec, // the same object too: what was worked out of it stays known
      metadata: {
        ...is,
        uid: was.uid,
        generation: was.generation + (sameSpec ? 0 : 1),
        resourceVersion: was.resourceVersion,
      },
    };
    if (equal(next, before)) return before;
    if (was.deletionTimestamp !== undefined && !next.metadata.finalizers?.length) {
      this.#remove(next, before, by);
      return next;
    }
    const stored = this.#store("MODIFIED", next, before, by);
    if (stored.metadata.finalizers?.length) this.endCrossing(stored.metadata);
    return stored;
  }

  #store(
    type: "ADDED" | "MODIFIED",
    object: ExternalDatabase,
    before: ExternalDatabase | undefined,
    by: string,
  ): ExternalDatabase {
    const rv = ++this.#rv;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(rv) } };
    this.#objects.set(keyText(stored.metadata), stored);
    this.#tell({ rv, at: this.clock.monotonic(), type, object: stored, before, by });
    return stored;
  }

  #remove(object: ExternalDatabase, before: ExternalDatabase, by: string): void {
    const rv = ++this.#rv;
    this.#objects.delete(keyText(object.metadata));
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(rv) } };
    this.#tell({ rv, at: this.clock.monotonic(), type: "DELETED", object: last, before, by });
    this.#afterRemoval();
  }

  #afterRemoval(): void {
    if (this.#crd === "terminating" && this.#objects.size === 0) this.#crd = "missing";
  }

  #tell(change: Change): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

/** A copy of plain data: a patch changes what it is given. */
function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  const result = { ...value } as Record<string, unknown>;
  for (const key in result) if (typeof result[key] === "object") result[key] = copy(result[key]);
  return result as T;
}

function apply(before: ExternalDatabase, operations: readonly JsonPatchOperation[]): ExternalDatabase {
  const document = copy({ ...before, status: before.status ?? {} });
  try {
    return jsonpatch.applyPatch(document, copy(operations) as never, true)
      .newDocument as ExternalDatabase;
  } catch (cause) {
    throw new KubeError("invalid", "the server rejected our request due to an error in our request", {
      status: 422,
      cause,
    });
  }
}

/** The CRD's transition rules (`src/api/rules.ts`), as far as the scripts' edits meet them. */
function checkTransition({ spec: was, status }: ExternalDatabase, is: ExternalDatabaseSpec): void {
  const refuse = (field: string) => {
    throw new KubeError("invalid", `spec.${field} cannot change so`, { status: 422 });
  };
  const observed = status?.observed;
  if (is.sizeGb < was.sizeGb && observed?.sizeGb !== undefined && is.sizeGb < observed.sizeGb) {
    refuse("sizeGb");
  }
  if (
    is.engine !== was.engine && status?.providerId !== undefined &&
    is.engine.toLowerCase() !== observed?.engine?.toLowerCase()
  ) refuse("engine");
  if (
    is.providerId !== undefined && is.providerId !== was.providerId && status?.providerId !== undefined &&
    is.providerId !== status.providerId
  ) refuse("providerId");
}
