/**
 * One watch of the simulated Kubernetes API: events come in order, some time after they happened, with bookmarks; it
 * can break, or go on in silence for ever as a half-open connection does.
 *
 * @module
 */
import type { Clock, TimerId } from "../core/clock.ts";
import type { WatchEvent } from "../kube/port.ts";
import type { ExternalDatabase, ObjectKey } from "../api/schema.ts";

/** One change of one object, as a watch tells it. */
export interface ShelfChange<T> {
  readonly rv: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
}

/** The objects of one kind, as lists and watches see them. */
export interface Shelf<T> {
  /** Version of the newest change. */
  readonly rv: number;
  /** Versions below this are forgotten. */
  readonly compactedTo: number;
  all(): readonly T[];
  /** The objects as they were at version `rv`. */
  asOf(rv: number): readonly T[];
  /** The newest version at monotonic time `at`. */
  versionAt(at: number): number;
  /** Changes after version `rv`, oldest first. */
  since(rv: number): readonly ShelfChange<T>[];
  /** Calls `listener` at every change; the result ends that. */
  listen(listener: (change: ShelfChange<T>) => void): () => void;
}

/** Anything with a name. */
export interface Named {
  readonly metadata: ObjectKey;
}

/** API servers send a bookmark about once a minute. */
const BOOKMARK_MS = 60_000;

/** What a {@linkcode Watch} takes. */
export interface WatchOptions<T extends Named = ExternalDatabase> {
  readonly store: Shelf<T>;
  readonly clock: Clock;
  readonly namespace: string | undefined;
  readonly from: number;
  readonly timeoutMs: number;
  /** Drawn for each event: how late it is, in milliseconds. */
  readonly lag: () => number;
}

type Item<T> = { readonly event: WatchEvent<T> } | { readonly error: unknown } | { readonly end: true };

/** An open watch. */
export class Watch<T extends Named = ExternalDatabase> implements AsyncIterator<WatchEvent<T>> {
  readonly #o: WatchOptions<T>;
  readonly #queue: Item<T>[] = [];
  #waiting: { resolve: (r: IteratorResult<WatchEvent<T>>) => void; reject: (e: unknown) => void } | undefined;
  #lastDue = 0;
  #sent: number;
  #silent = false;
  #over = false;
  readonly #timers = new Set<TimerId>();
  readonly #unlisten: () => void;

  constructor(options: WatchOptions<T>) {
    this.#o = options;
    this.#sent = options.from;
    for (const change of options.store.since(options.from)) this.#later(change);
    this.#unlisten = options.store.listen((change) => this.#later(change));
    this.#after(options.timeoutMs, () => this.#push({ end: true }));
    this.#bookmark();
  }

  next(): Promise<IteratorResult<WatchEvent<T>>> {
    const item = this.#queue.shift();
    if (item === undefined) {
      if (this.#over) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve, reject) => this.#waiting = { resolve, reject });
    }
    if ("event" in item) return Promise.resolve({ done: false, value: item.event });
    this.close();
    return "error" in item ? Promise.reject(item.error) : Promise.resolve({ done: true, value: undefined });
  }

  return(): Promise<IteratorResult<WatchEvent<T>>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Breaks the connection. */
  fail(error: unknown): void {
    if (!this.#silent) this.#push({ error });
  }

  /** Nothing comes any more, and nobody says so. */
  silence(): void {
    this.#silent = true;
  }

  /** Ends it from the client's side. */
  close(error?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#unlisten();
    for (const timer of this.#timers) this.#o.clock.clearTimeout(timer);
    this.#timers.clear();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (error === undefined) waiting?.resolve({ done: true, value: undefined });
    else waiting?.reject(error);
  }

  #later(change: ShelfChange<T>): void {
    const now = this.#o.clock.monotonic();
    this.#lastDue = Math.max(this.#lastDue, now + this.#o.lag()); // in order, whatever each is late
    this.#after(this.#lastDue - now, () => {
      if (change.rv <= this.#sent) return; // a restored cluster that has not caught up with this watch yet
      this.#sent = change.rv;
      const { namespace } = this.#o;
      if (namespace !== undefined && change.object.metadata.namespace !== namespace) return;
      this.#push({ event: { type: change.type, object: change.object } });
    });
  }

  #bookmark(): void {
    this.#after(BOOKMARK_MS, () => {
      // Silence too, where the watch is ahead of a restored cluster.
      if (this.#o.store.rv >= this.#sent) {
        this.#push({ event: { type: "BOOKMARK", resourceVersion: String(this.#sent) } });
      }
      this.#bookmark();
    });
  }

  #after(ms: number, fn: () => void): void {
    const timer = this.#o.clock.setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#over && !this.#silent) fn();
    }, ms);
    this.#timers.add(timer);
  }

  #push(item: Item<T>): void {
    const waiting = this.#waiting;
    if (waiting === undefined) {
      this.#queue.push(item);
      return;
    }
    this.#waiting = undefined;
    if ("event" in item) return waiting.resolve({ done: false, value: item.event });
    this.close();
    if ("error" in item) waiting.reject(item.error);
    else waiting.resolve({ done: true, value: undefined });
  }
}
