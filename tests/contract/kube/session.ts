/**
 * One contract test's view of a Kubernetes API: requests that are written down, watches that are collected.
 *
 * @module
 */
import { assert } from "@std/assert";
import { Mask } from "./mask.ts";
import type { Manifest } from "./widget_crd.ts";

/** A running API, embedded or real. */
export interface Connection {
  /** A request as an admin; the path begins with `/`. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Makes versions up to now unknown to watches, where the server does not forget by itself. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** Content types of patches. */
export const PATCH = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** The `Accept` header of kubectl's get. */
export const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/** What a call takes beside method and path. */
export interface CallOptions {
  readonly body?: unknown;
  /** @default "application/json" */
  readonly type?: string;
  readonly headers?: Record<string, string>;
  /** Whether `managedFields` are written down. @default false */
  readonly managed?: boolean;
  /** What of the body is written down. @default all of it */
  readonly pick?: (body: Manifest) => unknown;
}

/** One answer. */
export interface Answer {
  readonly status: number;
  readonly body: Manifest;
}

/** What one test saw, in order. */
export type Transcript = unknown[];

/** How long one request or watch may take, in milliseconds. */
const LIMIT_MS = 20_000;

/** How long a state may take to come about, in milliseconds: the real controllers back off. */
const STATE_LIMIT_MS = 90_000;

/** One test's session in a namespace of its own. */
export class Session {
  readonly transcript: Transcript = [];
  readonly #mask = new Mask();
  /** Path of the widgets in the session's namespace. */
  readonly widgets: string;

  constructor(readonly connection: Connection, readonly namespace: string, readonly group: string) {
    this.widgets = `/apis/${group}/v1/namespaces/${namespace}/widgets`;
    this.#mask.word(namespace, "NAMESPACE");
    this.#mask.word(group, "GROUP");
  }

  /** A widget. */
  widget(name: string, spec: unknown = { size: 2 }, metadata: object = {}, rest: object = {}): Manifest {
    return { apiVersion: `${this.group}/v1`, kind: "Widget", metadata: { name, ...metadata }, spec, ...rest };
  }

  /** A request that is not written down. */
  async quiet(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<Answer & { headers: Headers }> {
    const { body, type = "application/json", headers = {} } = options;
    const init: RequestInit = {
      method,
      headers: {
        accept: "application/json",
        "user-agent": "contract/1",
        ...(body === undefined ? {} : { "content-type": type }),
        ...headers,
      },
      signal: AbortSignal.timeout(LIMIT_MS),
    };
    if (body !== undefined) {
      init.body = typeof body === "string" || body instanceof Uint8Array
        ? body as BodyInit
        : JSON.stringify(body);
    }
    const answer = await this.connection.fetch(path, init);
    const text = await answer.text();
    const json = text.startsWith("{") || text.startsWith("["); // OpenAPI is sent as text
    return { status: answer.status, body: json ? JSON.parse(text) : text, headers: answer.headers };
  }

  /** A request whose answer is written down. */
  async call(step: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { status, body, headers } = await this.quiet(method, path, options);
    const warnings = (headers.get("warning") ?? "").split(/, (?=299)/).filter((text) => text !== "").sort();
    const shown = options.pick === undefined ? strip(body, options.managed === true) : options.pick(body);
    this.note(step, {
      status,
      type: headers.get("content-type")?.split(";")[0],
      ...(warnings.length > 0 ? { warnings } : {}),
      body: shown,
    });
    return { status, body };
  }

  /** Writes down something else. */
  note(step: string, value: object): void {
    this.transcript.push(this.#mask.value({ step, ...value }));
  }

  /** Repeats a read until it says what is waited for. */
  async until(path: string, done: (answer: Answer) => boolean): Promise<Answer> {
    const end = performance.now() + STATE_LIMIT_MS;
    for (;;) {
      const answer = await this.quiet("GET", path);
      if (done(answer)) return answer;
      assert(
        performance.now() < end,
        `GET ${path} did not become what is waited for: ${JSON.stringify(answer.body)}`,
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Opens a watch. */
  async watch(path: string, headers: Record<string, string> = {}): Promise<Watch> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error(`watching ${path} took too long`)), LIMIT_MS);
    const answer = await this.connection.fetch(path, {
      // The server compresses initial events as a gzip member of their own, at whose end Deno's fetch ends the body.
      headers: {
        accept: "application/json",
        "accept-encoding": "identity",
        "user-agent": "contract/1",
        ...headers,
      },
      signal: abort.signal,
    });
    return new Watch(answer, abort, timer);
  }
}

/** An open watch. */
export class Watch {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(
    readonly answer: Response,
    readonly abort: AbortController,
    readonly timer: ReturnType<typeof setTimeout>,
  ) {
    this.#reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next event, or `undefined` at the end of the stream. */
  async next(): Promise<{ type: string; object: Manifest } | undefined> {
    for (;;) {
      const end = this.#rest.indexOf("\n");
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return JSON.parse(line);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#rest += value;
    }
  }

  /** The next `count` events; of one namespace alone, where that is given: others share the cluster. */
  async take(count: number, namespace?: string): Promise<{ type: string; object: Manifest }[]> {
    const events = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === undefined) break;
      if (namespace === undefined || event.object.metadata?.namespace === namespace) events.push(event);
    }
    return events;
  }

  /** Ends it. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    await this.#reader.cancel().catch(() => {}); // a stream that already failed has nothing left to cancel
    this.abort.abort();
  }
}

/** Drops what only some tests are about. */
function strip(body: Manifest, managed: boolean): unknown {
  if (typeof body !== "object" || body === null || managed) return body;
  return JSON.parse(JSON.stringify(body, (key, value) => key === "managedFields" ? undefined : value));
}

/** An event without what does not matter to the order of a watch. */
export function slim(event: { type: string; object: Manifest }): object {
  const { object } = event;
  if (object.kind === "Status") return event;
  const { name, finalizers, deletionTimestamp, annotations } = object.metadata ?? {};
  return {
    type: event.type,
    kind: object.kind,
    name,
    ...(object.spec?.size === undefined ? {} : { size: object.spec.size }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(deletionTimestamp === undefined ? {} : { terminating: true }),
  };
}
