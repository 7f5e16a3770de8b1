/**
 * What a simulated process was told of the resources, by whom it was told or not: judges hold it to what it knew.
 *
 * @module
 */
import { newerOf } from "../api/resource_version.ts";
import { type ExternalDatabase, keyText, type ObjectKey } from "../api/schema.ts";
import { type Cluster, type JsonPatchOperation, KubeError, UNANSWERED } from "../kube/port.ts";
import type { Effect } from "../statechart/vocabulary.ts";
import { brief, type Gate, gatedWatch } from "./gates.ts";
import type { Subject } from "./subject.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** One read of a resource: what it showed, and when it was sent, in monotonic milliseconds of the world. */
export interface Asked {
  readonly object: ExternalDatabase;
  readonly sentAt: number;
}

/** What one process was told. */
export class Hearing {
  readonly #read = new Map<string, ExternalDatabase>();
  readonly #asked = new Map<string, Asked>();
  /** How many status writes of each resource wait for their answers. */
  readonly #writing = new Map<string, number>();
  /** UIDs whose id was sent to be recorded by a write that was not answered. */
  readonly #unanswered = new Set<string>();
  /** UIDs of those whose write was refused, by the resource: a read since then says what became of it. */
  readonly #refused = new Map<string, string>();

  constructor(
    private readonly clock: VirtualClock,
    private readonly supervisor: () => Subject["supervisor"],
  ) {}

  /** The newest copy of a CR that the process was told of, by the watch or by a read of its own. */
  known(uid: string): ExternalDatabase | undefined {
    return newerOf(this.#read.get(uid), this.#kept(uid));
  }

  /** The newest copy of a CR that its own actor was told of, by the watch or in answer to its own writes. */
  heard(uid: string): ExternalDatabase | undefined {
    return newerOf(this.supervisor().held?.(uid), this.#kept(uid));
  }

  /** The last read of a CR. */
  asked(uid: string): Asked | undefined {
    return this.#asked.get(uid);
  }

  /** Whether the id of a CR was sent to be recorded and may have landed, or not. */
  isUnsure(uid: string): boolean {
    return this.#unanswered.has(uid) || [...this.#refused.values()].includes(uid);
  }

  /** The cluster's port, whose answers are remembered. */
  cluster(inner: Cluster, gate: Gate): Cluster {
    return {
      get: async (key, o) => {
        const sentAt = this.clock.monotonic();
        const unheard = this.#isForAnother(key);
        const answer = gate.call(`kube get ${key.name}`, () => inner.get(key, o));
        if (unheard) return await answer;
        const object = await this.#told(answer);
        this.#asked.set(object.metadata.uid, { object, sentAt });
        this.#refused.delete(keyText(key));
        return object;
      },
      list: (request) => gate.call("kube list", () => inner.list(request)),
      watch: (request) => gatedWatch(inner, gate, request),
      patch: (key, operations, o) => {
        const what = `kube patch ${key.name} ${brief(operations)}`;
        return this.#told(gate.call(what, () => inner.patch(key, operations, o)));
      },
      patchStatus: (key, operations, o) => {
        const send = () =>
          this.#written(key, inner.patchStatus(key, operations, o)).catch((error: unknown) =>
            this.#unwritten(key, operations, error)
          );
        return this.#told(gate.call(`kube patchStatus ${key.name} ${brief(operations)}`, send));
      },
      crdState: (o) => gate.call("kube crdState", () => inner.crdState(o)),
      clusterId: (o) => gate.call("kube clusterId", () => inner.clusterId(o)),
    };
  }

  /** The newest copy that the watch told the CR's keeper of. */
  #kept(uid: string): ExternalDatabase | undefined {
    return [...this.supervisor().keepers].find((k) => k.object.metadata.uid === uid)?.object;
  }

  /** Remembers what the process was told; a namesake that a read of another resource met is told to nobody. */
  async #told(answer: Promise<ExternalDatabase>): Promise<ExternalDatabase> {
    const object = await answer;
    const { uid } = object.metadata;
    if (this.#kept(uid) !== undefined) this.#read.set(uid, object);
    return object;
  }

  /** Follows one status write to its answer. */
  async #written<T>(of: ObjectKey, answer: Promise<T>): Promise<T> {
    const key = keyText(of);
    const count = (delta: 1 | -1) => this.#writing.set(key, (this.#writing.get(key) ?? 0) + delta);
    count(1);
    try {
      return await answer;
    } finally {
      count(-1);
    }
  }

  /** A status write failed: where it was to record an id and may have landed, that is remembered. */
  #unwritten(of: ObjectKey, operations: readonly JsonPatchOperation[], error: unknown): never {
    const uid = operations.find((o) => o.op === "test" && o.path === "/metadata/uid");
    const records = operations.some((o) => o.op === "add" && o.path === "/status/providerId");
    if (records && uid?.op === "test" && error instanceof KubeError) {
      if (UNANSWERED.has(error.kind)) this.#unanswered.add(String(uid.value));
      if (error.kind === "conflict" || error.kind === "invalid") {
        this.#refused.set(keyText(of), String(uid.value));
      }
    }
    throw error;
  }

  /**
   * Whether a read is made for another: an adoption that looks for an owner (rule 18), or the watch for orphans. Who
   * rests, sleeps, is only at the cloud or waits for the answer of its own write reads nothing.
   */
  #isForAnother(key: ObjectKey): boolean {
    if ((this.#writing.get(keyText(key)) ?? 0) > 0) return true;
    const { namespace, name } = key;
    const keepers = [...this.supervisor().keepers].filter((k) =>
      k.object.metadata.namespace === namespace && k.object.metadata.name === name
    );
    return keepers.length > 0 &&
      keepers.every((k) =>
        "snapshot" in k && (k.snapshot?.hasTag("rest") !== false || isAtCloud(k.snapshot.value))
      );
  }
}

/** Effects that ask the cloud alone. */
const AT_CLOUD: ReadonlySet<unknown> = new Set<Effect>(["lookup", "observe", "confirm", "modify"]);

/** Whether an actor in this state has an effect under way that reads no resource. */
function isAtCloud(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((v) => AT_CLOUD.has(v));
}
