/**
 * The garbage collector: what an object owned goes with it, and foreground and orphan deletions are carried out.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { deleteObject } from "./remove.ts";
import type { StoreEvent } from "./store.ts";
import type { KubeObject } from "./types.ts";

const IN_BACKGROUND = {
  dryRun: false,
  propagation: undefined,
  uid: undefined,
  resourceVersion: undefined,
} as const;

/** Where an object is. */
interface Place {
  readonly storage: string;
  readonly key: string;
}

/** Starts the collector; it works in the clock's next turn and ends with the context. */
export function startCollector(context: Context): void {
  const collector = new Collector(context);
  context.store.subscribe((event) => collector.see(event));
}

class Collector {
  readonly #living = new Set<string>();
  /** Places of the objects that name an owner, by the owner's UID. */
  readonly #owned = new Map<string, Map<string, Place>>();

  constructor(readonly context: Context) {}

  see(event: StoreEvent): void {
    const { object, previous, type } = event;
    const { uid, finalizers = [], deletionTimestamp } = object.metadata;
    if (previous?.metadata.ownerReferences !== object.metadata.ownerReferences || type === "DELETED") {
      for (const owner of previous?.metadata.ownerReferences ?? []) this.#owned.get(owner.uid)?.delete(uid);
    }
    if (type === "DELETED") {
      this.#living.delete(uid);
      if ((this.#owned.get(uid)?.size ?? 0) > 0) this.context.later(0, () => this.#collect(uid));
      else this.#owned.delete(uid);
      return;
    }
    this.#living.add(uid);
    for (const owner of object.metadata.ownerReferences ?? []) {
      const places = this.#owned.get(owner.uid) ?? new Map<string, Place>();
      places.set(uid, { storage: event.storage, key: event.key });
      this.#owned.set(owner.uid, places);
    }
    if (deletionTimestamp === undefined) return;
    const special = finalizers.find((item) => item === "foregroundDeletion" || item === "orphan");
    if (special !== undefined) this.context.later(0, () => this.#finish(event, special));
  }

  /** The objects that name an owner. */
  #ownedBy(uid: string): { storage: string; object: KubeObject }[] {
    return [...this.#owned.get(uid)?.values() ?? []].flatMap(({ storage, key }) => {
      const object = this.context.store.get(storage, key);
      return object === undefined ? [] : [{ storage, object }];
    });
  }

  /** Deletes what no living object owns any more. */
  #collect(uid: string): void {
    for (const { storage, object } of this.#ownedBy(uid)) {
      const owners = object.metadata.ownerReferences ?? [];
      if (!owners.some((owner) => this.#living.has(owner.uid))) this.#delete(storage, object);
    }
    this.#owned.delete(uid);
  }

  #delete(storage: string, object: KubeObject): void {
    const resource = this.context.registry.ofStorage(storage);
    if (resource === undefined) return;
    deleteObject(this.context, resource, object.metadata.namespace, object.metadata.name, IN_BACKGROUND);
  }

  /** Carries out a deletion in the foreground, or one that leaves the owned objects behind. */
  #finish({ storage, key, object }: StoreEvent, special: string): void {
    const { store } = this.context;
    const { uid } = object.metadata;
    for (const one of this.#ownedBy(uid)) {
      if (special === "foregroundDeletion") this.#delete(one.storage, one.object);
      else {
        const ownerReferences = one.object.metadata.ownerReferences!.filter((owner) => owner.uid !== uid);
        store.put(one.storage, { ...one.object, metadata: { ...one.object.metadata, ownerReferences } });
      }
    }
    const live = store.get(storage, key);
    if (live?.metadata.uid !== uid) return;
    const finalizers = (live.metadata.finalizers ?? []).filter((item) => item !== special);
    if (finalizers.length === 0) store.remove(storage, key);
    else store.put(storage, { ...live, metadata: { ...live.metadata, finalizers } });
  }
}
