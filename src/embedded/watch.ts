/**
 * Watches: a stream of what changes, with bookmarks, initial events and an end.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { groupVersion, type Resource } from "./resource.ts";
import type { Selector } from "./selectors.ts";
import { failure, type StatusError } from "./status.ts";
import type { StoreEvent } from "./store.ts";
import { type Form, formatObject, partial, tableHead, tableRow } from "./table.ts";
import type { JsonObject, KubeObject } from "./types.ts";

/** Events that a watcher may be behind before the server ends its watch, as the real one does. */
const QUEUE_LIMIT = 10_000;

/** What a watch is opened with. */
export interface WatchRequest {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly selects: (object: KubeObject) => boolean;
  readonly form: Form;
  /** Changes after this version are sent. */
  readonly after: number;
  /** Sent first, as ADDED. */
  readonly initial: readonly KubeObject[];
  /** Whether a bookmark marks the end of the initial events. */
  readonly initialEnd: boolean;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How an open watch is made to misbehave (tests, simulation). */
export type WatchFault =
  /** The stream ends as at a time-out. */
  | "end"
  /** The connection breaks, in mid-event where one is due. */
  | "reset"
  /** Nothing is sent any more, and nothing is closed. */
  | "silence"
  /** An ERROR event with 410, then the end. */
  | "expire";

/** Every open watch of one API. */
export class Watches {
  readonly #open = new Set<(fault: WatchFault) => void>();

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Makes every open watch misbehave. */
  break(fault: WatchFault): void {
    for (const one of [...this.#open]) one(fault);
  }

  /** Opens one. */
  open(context: Context, request: WatchRequest): Response {
    const encoder = new TextEncoder();
    let stop = (_how: WatchFault) => {};
    const open = this.#open;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        const watcher = new Watcher(context, request, (text) => {
          if ((controller.desiredSize ?? 0) < -QUEUE_LIMIT) return stop("end");
          controller.enqueue(encoder.encode(text));
        });
        let ended = false;
        stop = (how) => {
          if (ended) return;
          if (how === "silence") return watcher.close();
          ended = true;
          open.delete(stop);
          watcher.close();
          request.signal.removeEventListener("abort", onAbort);
          if (how === "expire") {
            const body = failure({
              code: 410,
              reason: "Expired",
              message: "The resourceVersion for the provided watch is too old.",
            });
            controller.enqueue(encoder.encode(JSON.stringify({ type: "ERROR", object: body }) + "\n"));
          }
          if (how === "reset") {
            controller.error(new TypeError("error reading a body from connection: connection reset"));
          } else controller.close();
        };
        const onAbort = () => {
          if (ended) return;
          ended = true;
          open.delete(stop);
          watcher.close();
          controller.error(request.signal.reason);
        };
        request.signal.addEventListener("abort", onAbort, { once: true });
        open.add(stop);
        watcher.start(() => stop("end"));
        if (request.signal.aborted) onAbort();
      },
      cancel: () => stop("end"),
    }, { highWaterMark: 1 });
    return new Response(stream, { headers: { "content-type": "application/json" } });
  }
}

/** The answer to a watch that cannot be opened at its version: 200, then one ERROR event. */
export function errorWatch(error: StatusError): Response {
  const text = JSON.stringify({ type: "ERROR", object: error.body }) + "\n";
  return new Response(text, { headers: { "content-type": "application/json" } });
}

class Watcher {
  readonly #cancels: (() => void)[] = [];
  #seen: number;
  #closed = false;
  /** Changes that a lagging cache has not shown yet. */
  readonly #pending = new Set<() => void>();
  /** Table columns go with the first event alone. */
  #columns = true;

  constructor(
    readonly context: Context,
    readonly request: WatchRequest,
    readonly send: (text: string) => void,
  ) {
    this.#seen = request.after;
  }

  start(end: () => void): void {
    const { context, request } = this;
    const { resource } = request;
    for (const object of request.initial) this.#emit("ADDED", object);
    if (request.initialEnd) this.#bookmark({ "k8s.io/initial-events-end": "true" });
    for (const event of context.store.changesAfter(resource.storage, request.after)) this.#change(event);
    this.#cancels.push(context.store.subscribe((event) => {
      if (event.storage !== resource.storage) return;
      if (context.cacheLagMs <= 0) this.#change(event);
      else this.#delay(event);
    }));
    this.#cancels.push(context.registry.onTeardown((storage) => storage === resource.storage && end()));
    this.#cancels.push(context.later(request.timeoutMs, end));
    if (request.bookmarks) this.#scheduleBookmark();
  }

  #delay(event: StoreEvent): void {
    const cancel = this.context.later(this.context.cacheLagMs, () => {
      this.#pending.delete(cancel);
      this.#change(event);
    });
    this.#pending.add(cancel);
  }

  #scheduleBookmark(): void {
    const cancel = this.context.later(this.context.bookmarkIntervalMs, () => {
      this.#cancels.splice(this.#cancels.indexOf(cancel), 1);
      if (this.#closed) return;
      // A bookmark never runs ahead of a change that is still to be sent.
      if (this.#pending.size === 0) {
        this.#seen = Math.max(this.#seen, this.context.store.versionBefore(this.context.cacheLagMs));
      }
      this.#bookmark();
      this.#scheduleBookmark();
    });
    this.#cancels.push(cancel);
  }

  close(): void {
    this.#closed = true;
    for (const cancel of [...this.#cancels, ...this.#pending]) cancel();
    this.#cancels.length = 0;
  }

  #change(event: StoreEvent): void {
    if (this.#closed || event.rv <= this.#seen) return;
    this.#seen = event.rv;
    const { namespace, selects } = this.request;
    if (namespace !== undefined && event.object.metadata.namespace !== namespace) return;
    const before = event.previous !== undefined && selects(event.previous);
    const now = event.type !== "DELETED" && selects(event.object);
    if (now) this.#emit(before ? "MODIFIED" : "ADDED", event.object);
    else if (before) this.#emit("DELETED", gone(event));
  }

  #emit(type: string, object: KubeObject): void {
    const { resource, form } = this.request;
    let text: string;
    if (form.as === "table") {
      const head = tableHead(resource, { resourceVersion: object.metadata.resourceVersion }, this.#columns);
      text = JSON.stringify({ ...head, rows: [tableRow(resource, object, form, this.context.clock.now())] });
      this.#columns = false;
    } else text = formatObject(resource, object, form, this.context.clock.now());
    this.send(`{"type":"${type}","object":${text}}\n`);
  }

  #bookmark(annotations?: Record<string, string>): void {
    const { resource, form } = this.request;
    const metadata: JsonObject = { resourceVersion: String(this.#seen), ...(annotations && { annotations }) };
    const own = {
      kind: resource.kind,
      apiVersion: groupVersion(resource),
      metadata,
    } as unknown as KubeObject;
    let object: JsonObject = own;
    if (form.as === "partial") object = partial(own);
    if (form.as === "table") {
      const cells = resource.columns.map((_, i) => i === 0 ? "" : null);
      object = {
        ...tableHead(resource, { resourceVersion: String(this.#seen) }, this.#columns),
        rows: [{ cells, object: partial(own) }],
      };
      this.#columns = false;
    }
    this.send(JSON.stringify({ type: "BOOKMARK", object }) + "\n");
  }
}

/** What a watcher is told of an object that left its selection: the last state it selected, under the new version. */
function gone(event: StoreEvent): KubeObject {
  if (event.type === "DELETED") return event.object;
  const { previous, object } = event;
  const metadata = { ...previous!.metadata, resourceVersion: object.metadata.resourceVersion };
  return { ...previous!, metadata };
}

/** A selector over labels and fields. */
export function selection(
  resource: Resource,
  labels: Selector,
  fields: Selector,
): (object: KubeObject) => boolean {
  return (object) => labels(object.metadata.labels ?? {}) && fields(resource.fieldsOf(object));
}
