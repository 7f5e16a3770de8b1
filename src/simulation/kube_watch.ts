/**
 * One watch of the simulated Kubernetes API: events come in order, some time after they happened, with bookmarks; it
 * can break, or go on in silence for ever as a half-open connection does.
 *
 * @module
 */
import type { Clock, TimerId } from "../core/clock.ts";
import type { WatchEvent } from "../kube/port.ts";
import type { Change, KubeStore } from "./kube_store.ts";

/** API servers send a bookmark about once a minute. */
const BOOKMARK_MS = 60_000;

/** What a {@linkcode Watch} takes. */
export interface WatchOptions {
  readonly store: KubeStore;
  readonly clock: Clock;
  readonly namespace: string | undefined;
  readonly from: number;
  readonly timeoutMs: number;
  /** Drawn for each event: how late it is, in milliseconds. */
  readonly lag: () => number;
}

type Item = { readonly event: WatchEvent } | { readonly error: unknown } | { readonly end: true };

/** An open watch. */
export class Watch implements AsyncIterator<WatchEvent> {
  readonly #o: WatchOptions;
  readonly #queue: Item[] = [];
  #waiting: { resolve: (r: IteratorResult<WatchEvent>) => void; reject: (e: unknown) => void } | undefined;
  #lastDue = 0;
  #sent: number;
  #silent = false;
  #over = false;
  readonly #timers = new Set<TimerId>();
  readonly #unlisten: () => void;

  constructor(options: WatchOptions) {
    this.#o = options;
    this.#sent = options.from;
    for (const change of options.store.since(options.from)) this.#later(change);
    this.#unlisten = options.store.listen((change) => this.#later(change));
    this.#after(options.timeoutMs, () => this.#push({ end: true }));
    this.#bookmark();
  }

  next(): Promise<IteratorResult<WatchEvent>> {
    const item = this.#queue.shift();
    if (item === undefined) {
      if (this.#over) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve, reject) => this.#waiting = { resolve, reject });
    }
    if ("event" in item) return Promise.resolve({ done: false, value: item.event });
    this.close();
    return "error" in item ? Promise.reject(item.error) : Promise.resolve({ done: true, value: undefined });
  }

  return(): Promise<IteratorResult<WatchEvent>> {
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

  #later(change: Change): void {
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

  #push(item: Item): void {
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
