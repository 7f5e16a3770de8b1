/**
 * The Secrets that the simulated Kubernetes API holds, with their history, JSON patches, and the garbage collection of
 * those whose owner is gone.
 *
 * @module
 */
import jsonpatch from "fast-json-patch";
import { MANAGED_BY, OPERATOR_NAME } from "../api/constants.ts";
import { keyText, type ObjectKey } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { equal } from "../core/equal.ts";
import { type JsonPatchOperation, KubeError } from "../kube/port.ts";
import type { NewSecret, StoredSecret } from "../kube/secrets_port.ts";

/** One change of one Secret. */
export interface SecretChange {
  readonly rv: number;
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredSecret;
  readonly before: StoredSecret | undefined;
  /** `user`, `collector`, or the process of the operator. */
  readonly by: string;
}

/** How long the collector takes to notice, in milliseconds. */
const COLLECT_MS = 2_000;

/** The store. */
export class SecretStore {
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #history: SecretChange[] = [];
  readonly #listeners = new Set<(change: SecretChange) => void>();
  #rv = 100;
  #uids = 0;
  #compactedTo = 0;

  constructor(
    private readonly clock: Clock,
    /** Whether the owner of this UID is there. */
    private readonly lives: (uid: string) => boolean,
  ) {}

  get rv(): number {
    return this.#rv;
  }

  /** Versions below this are forgotten. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  /** Calls `listener` at every change; the result ends that. */
  listen(listener: (change: SecretChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changes after version `rv`, oldest first. */
  since(rv: number): SecretChange[] {
    return this.#history.filter((c) => c.rv > rv);
  }

  all(): StoredSecret[] {
    return [...this.#secrets.values()];
  }

  /** The Secrets as they were at version `rv`. */
  asOf(rv: number): StoredSecret[] {
    const secrets = new Map<string, StoredSecret>();
    for (const { rv: at, type, object } of this.#history) {
      if (at > rv) break;
      if (type === "DELETED") secrets.delete(keyText(object.metadata));
      else secrets.set(keyText(object.metadata), object);
    }
    return [...secrets.values()];
  }

  /** The newest version at monotonic time `at`, not below what is compacted. */
  versionAt(at: number): number {
    let rv = this.#rv;
    for (let i = this.#history.length - 1; i >= 0 && this.#history[i]!.at > at; i--) {
      rv = this.#history[i]!.rv - 1;
    }
    return Math.max(rv, this.#compactedTo);
  }

  find(key: ObjectKey): StoredSecret | undefined {
    return this.#secrets.get(keyText(key));
  }

  /** Throws `notFound` where there is none. */
  get(key: ObjectKey): StoredSecret {
    const secret = this.find(key);
    if (secret !== undefined) return secret;
    throw new KubeError("notFound", `secrets "${key.name}" not found`, { status: 404 });
  }

  create(secret: NewSecret, by: string): StoredSecret {
    if (this.find(secret.metadata) !== undefined) {
      throw new KubeError("conflict", `secrets "${secret.metadata.name}" already exists`, { status: 409 });
    }
    const metadata = {
      ...secret.metadata,
      uid: `00000000-0000-4000-8000-5${String(++this.#uids).padStart(11, "0")}`,
      resourceVersion: "0",
    };
    const stored = this.#store("ADDED", { ...secret, metadata }, undefined, by);
    this.collectLater();
    return stored;
  }

  patch(key: ObjectKey, operations: readonly JsonPatchOperation[], by: string): StoredSecret {
    const before = this.get(key);
    let after: StoredSecret;
    try {
      const document = structuredClone(before);
      after = jsonpatch.applyPatch(document, structuredClone(operations) as never, true)
        .newDocument as StoredSecret;
    } catch (cause) {
      throw new KubeError("invalid", "the server rejected our request due to an error in our request", {
        status: 422,
        cause,
      });
    }
    if (equal(before, after)) return before;
    return this.#store("MODIFIED", after, before, by);
  }

  /** A user's edit of what it holds; `undefined` removes a key. */
  edit(key: ObjectKey, data: Readonly<Record<string, string | undefined>>): void {
    const before = this.get(key);
    const merged = Object.entries({ ...before.data, ...data }).filter(([, v]) => v !== undefined);
    this.#store(
      "MODIFIED",
      { ...before, data: Object.fromEntries(merged) as Record<string, string> },
      before,
      "user",
    );
  }

  delete(key: ObjectKey, uid: string | undefined, by: string): void {
    const before = this.get(key);
    if (uid !== undefined && before.metadata.uid !== uid) {
      throw new KubeError("conflict", "the UID in the precondition differs", { status: 409 });
    }
    const rv = ++this.#rv;
    this.#secrets.delete(keyText(key));
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(rv) } };
    this.#tell({ rv, at: this.clock.monotonic(), type: "DELETED", object, before, by });
  }

  /** Removes, after a moment, what has no living owner. */
  collectLater(): void {
    if (this.all().every((s) => !this.#isOrphan(s))) return;
    this.clock.setTimeout(() => {
      for (const secret of this.all()) {
        if (this.#isOrphan(secret)) this.delete(secret.metadata, undefined, "collector");
      }
    }, COLLECT_MS);
  }

  #isOrphan({ metadata: { ownerReferences = [] } }: StoredSecret): boolean {
    return ownerReferences.length > 0 && !ownerReferences.some((o) => this.lives(o.uid));
  }

  /** Goes back to the state of monotonic time `at`, as the resources do. The names of those that changed since. */
  restore(at: number, bump: number): readonly string[] {
    const rv = this.versionAt(at);
    const changed = new Set(this.since(rv).map((c) => c.object.metadata.name));
    const secrets = this.asOf(rv);
    this.#secrets.clear();
    for (const secret of secrets) this.#secrets.set(keyText(secret.metadata), secret);
    while ((this.#history.at(-1)?.rv ?? 0) > rv) this.#history.pop();
    this.#rv = rv + bump;
    if (bump > 0) this.#compactedTo = this.#rv;
    this.collectLater();
    return [...changed];
  }

  /** Forgets the history. */
  compact(): void {
    this.#compactedTo = this.#rv;
  }

  #store(
    type: "ADDED" | "MODIFIED",
    secret: StoredSecret,
    before: StoredSecret | undefined,
    by: string,
  ): StoredSecret {
    const rv = ++this.#rv;
    const stored = { ...secret, metadata: { ...secret.metadata, resourceVersion: String(rv) } };
    this.#secrets.set(keyText(stored.metadata), stored);
    this.#tell({ rv, at: this.clock.monotonic(), type, object: stored, before, by });
    return stored;
  }

  #tell(change: SecretChange): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

/** Whether lists and watches of the operator bring it. */
export function isLabelled(secret: StoredSecret | undefined): boolean {
  return secret?.metadata.labels?.[MANAGED_BY] === OPERATOR_NAME;
}

/** A change as a watch with a label selector shows it; `undefined` where it shows nothing. */
export function labelled(change: SecretChange): SecretChange | undefined {
  const was = change.type !== "ADDED" && isLabelled(change.before);
  const is = change.type !== "DELETED" && isLabelled(change.object);
  if (is) return { ...change, type: was ? "MODIFIED" : "ADDED" };
  return was ? { ...change, type: "DELETED" } : undefined;
}
