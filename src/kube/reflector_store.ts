/**
 * What a reflector knows: the newest object of each UID, and which UID has a name now.
 *
 * @module
 */
import { isOlderVersion } from "../api/resource_version.ts";
import { type ExternalDatabase, keyText, type ObjectKey } from "../api/schema.ts";
import type { Watched } from "./port.ts";

/** What an arriving object means. */
export type Change<T = ExternalDatabase> =
  | { readonly kind: "stale" | "same" }
  | { readonly kind: "upsert"; readonly replaced?: T };

/** Objects by UID, with an index by name. */
export class ReflectorStore<T extends Watched = ExternalDatabase> {
  readonly #objects = new Map<string, T>();
  readonly #uids = new Map<string, string>();

  get(uid: string): T | undefined {
    return this.#objects.get(uid);
  }

  find(key: ObjectKey): T | undefined {
    const uid = this.#uids.get(keyText(key));
    return uid === undefined ? undefined : this.#objects.get(uid);
  }

  get size(): number {
    return this.#objects.size;
  }

  uids(): IterableIterator<string> {
    return this.#objects.keys();
  }

  objects(): IterableIterator<T> {
    return this.#objects.values();
  }

  /**
   * Takes an object in. `stale`: something newer is known of its UID or its name; `same`: it is known already;
   * `upsert`: it was taken, and `replaced` had its name under another UID. `force` takes older ones too.
   */
  put(object: T, force = false): Change<T> {
    const { uid, resourceVersion } = object.metadata;
    const known = this.#objects.get(uid);
    if (!force && known?.metadata.resourceVersion === resourceVersion) return { kind: "same" };
    const holder = known ?? this.find(object.metadata);
    if (holder && !force && isOlderVersion(resourceVersion, holder.metadata.resourceVersion)) {
      return { kind: "stale" };
    }
    const replaced = known ? undefined : holder;
    if (replaced) this.#objects.delete(replaced.metadata.uid);
    this.#objects.set(uid, object);
    this.#uids.set(keyText(object.metadata), uid);
    return replaced ? { kind: "upsert", replaced } : { kind: "upsert" };
  }

  /** Forgets an object; what was known of it, or `undefined`. */
  remove(uid: string): T | undefined {
    const known = this.#objects.get(uid);
    if (!known) return undefined;
    this.#objects.delete(uid);
    if (this.#uids.get(keyText(known.metadata)) === uid) this.#uids.delete(keyText(known.metadata));
    return known;
  }
}
