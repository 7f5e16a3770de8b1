/**
 * What controller-runtime does around a reconciler, as its defaults are: an informer that lists and watches, a work
 * queue that holds each key once, one worker, and retries by key (5 ms doubled up to 1,000 s) under a common rate (10 a
 * second, 100 at once). Its own relist of all objects comes every ten hours, beyond any run.
 *
 * Where a choice was open, the kinder one was taken: a list is never older than what was seen, a relist hands every
 * object to the reconciler again, and a work item is not given up at SIGTERM.
 *
 * @module
 */
import { type ExternalDatabase, keyText } from "../../api/schema.ts";
import { growingMs } from "../../core/backoff.ts";
import { sleep } from "../../core/wait.ts";
import { Reconciler, type ReconcilerOptions } from "./reconciler.ts";

/** `ItemExponentialFailureRateLimiter`. */
const RETRY = { baseMs: 5, capMs: 1_000_000 };
/** `BucketRateLimiter`. */
const RATE = { perSecond: 10, burst: 100 };
/** client-go's first wait before it lists again. */
const RELIST_MS = 800;
/** client-go asks for 5 to 10 minutes. */
const WATCH_SECONDS = 600;

/** The article's reconciler and its manager. */
export class ArticleController {
  readonly #o: ReconcilerOptions;
  readonly #reconciler: Reconciler;
  readonly #informer = new Map<string, ExternalDatabase>();
  readonly #queue = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #bucket: { tokens: number; at: number };
  readonly #stopping = new AbortController();
  /** What the calls of a work item hang on. */
  readonly #calls = new AbortController();
  #seen = 0;
  #wake: () => void = () => {};
  #working: Promise<void> = Promise.resolve();

  constructor(options: ReconcilerOptions) {
    this.#o = options;
    this.#reconciler = new Reconciler(options);
    this.#bucket = { tokens: RATE.burst, at: options.clock.monotonic() };
  }

  /** The objects in the informer's cache. */
  get objects(): ReadonlyMap<string, ExternalDatabase> {
    return this.#informer;
  }

  /** Takes work until the signal aborts, then resolves; what is in hand goes on until {@linkcode drain} ends it. */
  async run(signal: AbortSignal): Promise<void> {
    const running = AbortSignal.any([signal, this.#stopping.signal]);
    this.#working = this.#work(running);
    await Promise.race([
      Promise.all([this.#watch(running), this.#working]),
      new Promise<void>((resolve) => running.addEventListener("abort", () => resolve())),
    ]);
  }

  /** Takes no new work; what is in hand may end within `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort(new Error("The manager is stopping"));
    const over = new AbortController();
    await Promise.race([this.#working, sleep(this.#o.clock, graceMs, over.signal).catch(() => {})]);
    over.abort();
    this.#calls.abort(new Error("The manager has stopped"));
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { cluster, clock } = this.#o;
    while (!signal.aborted) {
      try {
        const { items, resourceVersion } = await cluster.list({ signal });
        if (Number(resourceVersion) < this.#seen) throw new Error("The list is older than what was seen");
        this.#replace(items);
        this.#seen = Number(resourceVersion);
        // A watch that the server ends goes on where it was: that delivers nothing, as in client-go.
        while (!signal.aborted) await this.#follow(signal);
      } catch {
        await sleep(clock, RELIST_MS, signal).catch(() => {}); // the informer's own retry; an abort ends the loop
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const from = { resourceVersion: String(this.#seen), timeoutSeconds: WATCH_SECONDS };
    for await (const event of this.#o.cluster.watch({ ...from, signal })) {
      this.#seen = Number(
        event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion,
      );
      if (event.type === "BOOKMARK") continue;
      const key = keyText(event.object.metadata);
      if (event.type === "DELETED") this.#informer.delete(key);
      else this.#informer.set(key, event.object);
      this.#add(key);
    }
  }

  #replace(items: readonly ExternalDatabase[]): void {
    const keys = new Set(this.#informer.keys());
    this.#informer.clear();
    for (const object of items) {
      const key = keyText(object.metadata);
      this.#informer.set(key, object);
      keys.add(key);
    }
    for (const key of keys) this.#add(key);
  }

  #add(key: string): void {
    this.#queue.add(key);
    this.#wake();
  }

  async #work(running: AbortSignal): Promise<void> {
    const ended = new Promise<void>((resolve) => running.addEventListener("abort", () => resolve()));
    while (!running.aborted) {
      const [key] = this.#queue;
      if (key === undefined) {
        await Promise.race([ended, new Promise<void>((resolve) => this.#wake = resolve)]);
        continue;
      }
      this.#queue.delete(key);
      const object = this.#informer.get(key);
      const again = object !== undefined && await this.#reconcile(object);
      if (running.aborted) return;
      if (again) this.#addRateLimited(key);
      else this.#failures.delete(key);
    }
  }

  /** Whether the item is to be tried again. */
  #reconcile(object: ExternalDatabase): Promise<boolean> {
    const { signal } = this.#calls;
    return this.#reconciler.reconcile(object, signal).then((r) => r.requeue ?? false, () => true);
  }

  #addRateLimited(key: string): void {
    const { clock } = this.#o;
    const n = this.#failures.get(key) ?? 0;
    this.#failures.set(key, n + 1);
    const ms = Math.max(growingMs(RETRY, n), this.#reserve());
    clock.setTimeout(() => this.#add(key), ms);
  }

  /** Takes a token; milliseconds until it is there. */
  #reserve(): number {
    const now = this.#o.clock.monotonic();
    const { tokens, at } = this.#bucket;
    const left = Math.min(RATE.burst, tokens + (now - at) / 1_000 * RATE.perSecond) - 1;
    this.#bucket.tokens = left;
    this.#bucket.at = now;
    return left >= 0 ? 0 : -left / RATE.perSecond * 1_000;
  }
}
