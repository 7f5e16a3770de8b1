/**
 * What a status may say (L4 and the design's words on `observedGeneration`), judged at each write of the operator.
 *
 * @module
 */
import type {
  Condition,
  ExternalDatabase,
  ExternalDatabaseSpec,
  ExternalDatabaseStatus,
} from "../api/schema.ts";
import { newerOf } from "../api/resource_version.ts";
import { TAG } from "../api/constants.ts";
import { equal } from "../core/equal.ts";
import { isBehind } from "./liveness.ts";
import type { Change } from "./kube_store.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Judges writes. */
export class Honesty {
  /** The specs of each UID by generation. */
  readonly #specs = new Map<string, Map<number, readonly ExternalDatabaseSpec[]>>();
  /** What each process knew of a CR when it sent its last patch. */
  readonly #sent = new Map<string, ExternalDatabase | undefined>();

  constructor(
    private readonly world: World,
    private readonly fail: (oracle: string, what: string) => void,
    /** Whether a database was changed by hand or by itself so lately that nobody need have seen it. */
    private readonly touched: (id: string) => boolean,
    /** Whether a CR went back in time with its cluster: what was under way then speaks of what is no more. */
    private readonly restored: (uid: string) => boolean = () => false,
  ) {
    world.store.listen((change) => this.#onChange(change));
  }

  /** A process makes a call. */
  call(process: SimulatedProcess, what: string): void {
    if (!what.startsWith("kube patch")) return;
    const name = what.split(" ", 3)[2] ?? "";
    const uid = this.world.store.find({ namespace: "default", name })?.metadata.uid;
    if (uid === undefined) return;
    // What a change read late is told to its own actor, though it waits for the cloud.
    const known = newerOf(process.hearing.known(uid), process.hearing.heard(uid));
    this.#sent.set(`${process.name} ${name}`, known);
  }

  #onChange({ object, before, by, type }: Change): void {
    const { uid, generation } = object.metadata;
    const specs = this.#specs.get(uid) ?? new Map<number, readonly ExternalDatabaseSpec[]>();
    // After a restore a generation may come again with another spec, and a write of before may speak of the first.
    const lives = (specs.get(generation) ?? []).filter((s) => !equal(s, object.spec));
    this.#specs.set(uid, specs.set(generation, [...lives, object.spec]));
    if (by === "user" || type === "DELETED" || before?.status === object.status) return;
    const known = this.#sent.get(`${by} ${object.metadata.name}`);
    this.#onClaim(object, before, by, known);
    for (const condition of object.status?.conditions ?? []) this.#onCondition(object, condition);
    // One whose answer was lost may be sent again, and one that was written against an old copy.
    const late = (this.world.plan.kube.late ?? 0) > 0; // what was known when it was sent is not known any more
    const stale = late || known?.metadata.resourceVersion !== before?.metadata.resourceVersion;
    if (before === undefined || stale || this.restored(uid) || !isRewrite(before, object)) return;
    this.fail("L4", `${by} rewrote the status of ${object.metadata.name} and said nothing new`);
  }

  /** What is claimed for a generation was seen, and is so. */
  #onClaim(
    { metadata, status }: ExternalDatabase,
    before: ExternalDatabase | undefined,
    by: string,
    known: ExternalDatabase | undefined,
  ): void {
    const { name, uid } = metadata;
    const claimed = Math.max(
      status?.observedGeneration === before?.status?.observedGeneration ? 0 : status?.observedGeneration ?? 0,
      ...(status?.conditions ?? []).map((c) =>
        before?.status?.conditions?.some((b) => equal(b, c)) ? 0 : c.observedGeneration ?? 0
      ),
    );
    const { generation = Infinity } = known?.metadata ?? {};
    if (claimed > generation && !this.restored(uid)) {
      this.fail(
        "observedGeneration",
        `${by} claims generation ${claimed} of ${name} and knows ${generation}`,
      );
    }
    const synced = status?.conditions?.find((c) => c.type === "Synced");
    if (synced?.status !== "True") return;
    // A patch that says nothing of it leaves what a restored cluster says again, which its writer took to be overwritten.
    const says = (object: ExternalDatabase | undefined) =>
      object?.status?.conditions?.some((c) => equal(c, synced)) ?? false;
    if (this.restored(uid) && says(before) && !says(known)) return;
    const specs = this.#specs.get(uid)?.get(synced.observedGeneration ?? 0);
    const spec = specs?.at(-1);
    const record = this.world.cloud.get(status?.providerId ?? "");
    if (record === undefined || spec === undefined || record.tags[TAG.uid] !== uid) return;
    if (specs?.every((s) => isBehind(s, record)) && !this.touched(record.id)) {
      this.fail(
        "observedGeneration",
        `${by} says that ${name} is as its generation ${synced.observedGeneration} asks (${spec.version}, ${spec.sizeGb} GiB), but ${record.id} has ${record.version}, ${record.sizeGb} GiB`,
      );
    }
  }

  /** L4: why, and since when. */
  #onCondition({ metadata }: ExternalDatabase, c: Condition): void {
    if (c.reason === "" || Number.isNaN(Date.parse(c.lastTransitionTime))) {
      this.fail("L4", `${c.type} of ${metadata.name} has no reason or no time`);
    }
    if (c.status !== "True" && c.message === "") {
      this.fail("L4", `${c.type} of ${metadata.name} is ${c.reason} without a word why`);
    }
  }
}

function isRewrite(before: ExternalDatabase, after: ExternalDatabase): boolean {
  return equal(before.spec, after.spec) &&
    equal(
      { ...before.metadata, resourceVersion: undefined },
      { ...after.metadata, resourceVersion: undefined },
    ) &&
    equal(timeless(before.status), timeless(after.status));
}

function timeless(status: ExternalDatabaseStatus = {}) {
  const conditions = status.conditions?.map((c) => ({ ...c, lastTransitionTime: undefined }));
  return { ...status, conditions };
}
