/**
 * What one list and watch knows of its scope, a namespace or all: takes objects in, tells of them, and settles what a
 * list leaves in doubt.
 *
 * @module
 */
import { isOlderVersion, newerOf } from "../api/resource_version.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { Watched } from "./port.ts";
import type { LoopOptions } from "./reflector_parts.ts";
import { isRewound, readAgain, standing } from "./rewind.ts";

/** The objects of one scope. */
export class ReflectorScope<T extends Watched = ExternalDatabase> {
  readonly #o: LoopOptions<T>;

  constructor(options: LoopOptions<T>) {
    this.#o = options;
  }

  /** The newest copy of everything that is held, here or by whoever is told. */
  *held(): Iterable<T> {
    const { store, namespace } = this.#o;
    for (const { metadata } of store.objects()) {
      if (namespace !== undefined && metadata.namespace !== namespace) continue;
      const held = this.#held(metadata.uid);
      if (held !== undefined) yield held;
    }
  }

  /** Takes a new or changed object in; false when something newer has its UID or its name. */
  take(object: T): boolean {
    const change = this.#o.store.put(object);
    if (change.kind !== "upsert") return change.kind === "same";
    if (change.replaced) this.#o.onGone(change.replaced); // W7
    this.#o.onUpsert(object);
    return true;
  }

  /** Forgets an object that is gone. */
  gone(last: T): void {
    if (this.#o.store.remove(last.metadata.uid)) this.#o.onGone(last);
  }

  /** Opens a complete list of version `listed`; with `rewound` its word stands whatever is held. */
  begin(listed: string, rewound: boolean): ReflectorList<T> {
    const seen = new Set<string>();
    const waiting: T[] = [];
    const doubtful: T[] = [];
    const isForgotten = (uid: string) => this.#o.held !== undefined && this.#o.held(uid) === undefined;
    return {
      take: (object) => {
        const { uid } = object.metadata;
        seen.add(uid);
        const held = this.#held(uid);
        const stands = standing(object, listed, held);
        if (held === undefined || stands === "current") {
          if (!this.take(object)) waiting.push(object);
          // It was done with, and the object is back as it was.
          else if (held !== undefined && isForgotten(uid)) this.#o.onUpsert(object);
          // Released, and shown as it was held: the list is of a moment before, or the release is no more.
          else if (held !== undefined && this.#o.released?.(object)) doubtful.push(held);
        } else if (rewound || stands === "rewound") this.#rewind(object, held);
        else doubtful.push(held);
      },
      end: async (signal) => {
        for (const held of [...this.held()]) {
          if (seen.has(held.metadata.uid)) continue;
          // Newer than the list: made after it, or in a history that is no more.
          if (!rewound && isOlderVersion(listed, held.metadata.resourceVersion)) doubtful.push(held);
          else this.gone(held);
        }
        for (const held of doubtful) await this.#ask(held, signal);
        for (const object of waiting) this.take(object); // its name may be free now
        return seen.size;
      },
    };
  }

  /** A quorum read decides where a list is older than what is held. */
  async #ask(held: T, signal: AbortSignal): Promise<void> {
    const wasReleased = this.#o.released?.(held) === true;
    const object = await readAgain(this.#o.cluster, held, signal);
    signal.throwIfAborted();
    if (object === undefined) this.gone(held);
    // Nobody can give a deleted object its finalizer back but a cluster that was restored.
    else if (isRewound(object, held) || (wasReleased && this.#o.released?.(object))) {
      this.#rewind(object, held);
    } else this.take(object);
  }

  /** Takes in what stands for something newer that is no more. */
  #rewind(object: T, lost: T): void {
    const { log, store, onGone, onUpsert } = this.#o;
    log.log("warn", "A resource went back in time: was the cluster restored from a backup", {
      namespace: object.metadata.namespace,
      name: object.metadata.name,
      uid: object.metadata.uid,
      from: lost.metadata.resourceVersion,
      to: object.metadata.resourceVersion,
    });
    const change = store.put(object, true);
    if (change.kind === "upsert" && change.replaced) onGone(change.replaced);
    onUpsert(object, lost.metadata.resourceVersion);
  }

  #held(uid: string): T | undefined {
    return newerOf(this.#o.store.get(uid), this.#o.held?.(uid));
  }
}

/** A list while its pages come. */
export interface ReflectorList<T = ExternalDatabase> {
  take(object: T): void;
  /** All pages have come: what is gone is told, and doubts are settled. How many objects there were. */
  end(signal: AbortSignal): Promise<number>;
}
