/**
 * The object store: one resourceVersion counter, objects by kind and key, a bounded history for watches and
 * consistent pages. Objects are never changed in place, so a reader may keep what it was given.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { expired, tooLargeVersion } from "./status.ts";
import type { KubeObject } from "./types.ts";

/** One change of one object. */
export interface StoreEvent {
  readonly rv: number;
  /** Where objects of the kind are kept: `group/plural` of their stored form. */
  readonly storage: string;
  readonly key: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** The object after the change; after a deletion its last state under the deletion's resourceVersion. */
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  /** Monotonic time of the change, in milliseconds. */
  readonly time: number;
}

/** What the store needs. */
export interface StoreOptions {
  readonly clock: Clock;
  /** Changes that stay known, over all kinds. */
  readonly historyLimit: number;
}

/** Objects of one kind with their keys in order. */
interface Table {
  readonly objects: Map<string, KubeObject>;
  /** Keys in byte order. */
  readonly keys: string[];
}

/** The key of an object: `namespace/name`, or `/name` for cluster-scoped kinds. */
export function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

/** The store. */
export class Store {
  readonly #options: StoreOptions;
  readonly #tables = new Map<string, Table>();
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #history: StoreEvent[] = [];
  #rv = 1;
  /** Changes up to this version are forgotten. */
  #compacted = 0;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** The newest version. */
  get version(): number {
    return this.#rv;
  }

  /** The version up to which changes are forgotten. */
  get compactedVersion(): number {
    return this.#compacted;
  }

  #table(storage: string): Table {
    let table = this.#tables.get(storage);
    if (table === undefined) {
      this.#tables.set(storage, table = { objects: new Map(), keys: [] });
    }
    return table;
  }

  /** The current object. */
  get(storage: string, key: string): KubeObject | undefined {
    return this.#tables.get(storage)?.objects.get(key);
  }

  /** How many objects of a kind there are. */
  count(storage: string): number {
    return this.#tables.get(storage)?.objects.size ?? 0;
  }

  /** Every kind's storage name. */
  storages(): string[] {
    return [...this.#tables.keys()];
  }

  /** Current objects in key order, of one namespace where that is given. */
  list(storage: string, namespace?: string): KubeObject[] {
    const table = this.#table(storage);
    const { keys } = table;
    const found: KubeObject[] = [];
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    for (let i = lowerBound(keys, prefix); i < keys.length; i++) {
      const key = keys[i]!;
      if (!key.startsWith(prefix)) break;
      found.push(table.objects.get(key)!);
    }
    return found;
  }

  /** Objects as they were at a version; 410 where that is forgotten, 504 where it is yet to come. */
  listAt(storage: string, namespace: string | undefined, rv: number, continueToken?: string): KubeObject[] {
    if (rv > this.#rv) throw tooLargeVersion(rv, this.#rv);
    if (rv < this.#compacted) {
      throw expired(
        continueToken === undefined
          ? `The resourceVersion for the provided list is too old.`
          : "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        continueToken,
      );
    }
    const objects = this.list(storage, namespace);
    if (rv === this.#rv) return objects;
    const before = new Map<string, KubeObject | undefined>();
    for (let i = this.#history.length - 1; i >= 0; i--) {
      const event = this.#history[i]!;
      if (event.rv <= rv) break;
      if (event.storage === storage) before.set(event.key, event.previous);
    }
    if (before.size === 0) return objects;
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    const kept = objects.filter((object) =>
      !before.has(keyOf(object.metadata.namespace, object.metadata.name))
    );
    for (const [key, object] of before) if (object !== undefined && key.startsWith(prefix)) kept.push(object);
    return kept.sort((a, b) => compare(objectKey(a), objectKey(b)));
  }

  /** The newest version that is at least `lagMs` old: what a lagging cache shows. */
  versionBefore(lagMs: number): number {
    if (lagMs <= 0) return this.#rv;
    const limit = this.#options.clock.monotonic() - lagMs;
    for (let i = this.#history.length - 1; i >= 0; i--) {
      const event = this.#history[i]!;
      if (event.time <= limit) return event.rv;
    }
    return this.#compacted;
  }

  /** Stores an object under a new version and tells the watchers; returns what was stored. */
  put(storage: string, object: KubeObject): KubeObject {
    const key = objectKey(object);
    const table = this.#table(storage);
    const previous = table.objects.get(key);
    const stored = this.#versioned(object);
    table.objects.set(key, stored);
    if (previous === undefined) table.keys.splice(lowerBound(table.keys, key), 0, key);
    this.#commit(storage, key, previous === undefined ? "ADDED" : "MODIFIED", stored, previous);
    return stored;
  }

  /** Removes an object; its last state goes to the watchers under a new version. */
  remove(storage: string, key: string): KubeObject | undefined {
    const table = this.#table(storage);
    const previous = table.objects.get(key);
    if (previous === undefined) return undefined;
    table.objects.delete(key);
    table.keys.splice(lowerBound(table.keys, key), 1);
    this.#commit(storage, key, "DELETED", this.#versioned(previous), previous);
    return previous;
  }

  #versioned(object: KubeObject): KubeObject {
    this.#rv++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#rv) } };
  }

  #commit(
    storage: string,
    key: string,
    type: StoreEvent["type"],
    object: KubeObject,
    previous: KubeObject | undefined,
  ): void {
    const event = {
      rv: this.#rv,
      storage,
      key,
      type,
      object,
      previous,
      time: this.#options.clock.monotonic(),
    };
    this.#history.push(event);
    if (this.#history.length > this.#options.historyLimit * 2) {
      this.#drop(this.#history.length - this.#options.historyLimit);
    } else if (this.#history.length > this.#options.historyLimit) {
      this.#compacted = this.#history[this.#history.length - this.#options.historyLimit - 1]!.rv;
    }
    for (const listener of [...this.#listeners]) listener(event);
  }

  #drop(count: number): void {
    const last = this.#history[count - 1];
    if (last !== undefined) this.#compacted = Math.max(this.#compacted, last.rv);
    this.#history = this.#history.slice(count);
  }

  /** Forgets every change up to a version (default: all), so that older watches and pages get 410. */
  compact(upTo = this.#rv): void {
    this.#drop(this.#history.filter((event) => event.rv <= upTo).length);
    this.#compacted = Math.max(this.#compacted, upTo);
  }

  /** Changes of a kind after a version, in order. Throws 410 where some are forgotten. */
  changesAfter(storage: string, rv: number): StoreEvent[] {
    if (rv < this.#compacted) throw expired(`too old resource version: ${rv} (${this.#compacted})`);
    const changes: StoreEvent[] = [];
    for (let i = this.#history.length - 1; i >= 0; i--) {
      const event = this.#history[i]!;
      if (event.rv <= rv) break;
      if (event.storage === storage) changes.push(event);
    }
    return changes.reverse();
  }

  /** Calls the listener after every change until the returned function is called. */
  subscribe(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Byte order of keys, as etcd has it. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function objectKey(object: KubeObject): string {
  return keyOf(object.metadata.namespace, object.metadata.name);
}

function lowerBound(keys: readonly string[], prefix: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < prefix) low = middle + 1;
    else high = middle;
  }
  return low;
}
