/**
 * How requests travel: client-node's API classes on Deno's own `fetch`, for client-node's transport never reports a
 * connection that breaks after the headers, and costs nine times the CPU.
 *
 * Promised: every request ends (deadline, signal); at most `concurrency` are in flight (watches apart); a 401 re-reads
 * the credentials once and tries again (F5), as a failed handshake does with the CA; all that fails is a
 * {@linkcode KubeError}, except that an aborted signal rejects with its own reason.
 *
 * @module
 */
import { type RequestContext, ResponseContext } from "@kubernetes/client-node";
import { OPERATOR_NAME } from "../api/constants.ts";
import type { Clock } from "../core/clock.ts";
import { type Metrics, noMetrics } from "../core/metrics.ts";
import { noTracing, type Tracing } from "../core/tracing.ts";
import { DeadlineError, withDeadline } from "../core/wait.ts";
import { type ClusterConfig, ConfigError } from "./config.ts";
import { Connection, type CreateHttpClient, type HttpClient, type Lease } from "./connection.ts";
import { fromAnswer, fromThrown, isTlsFault } from "./errors.ts";
import { KubeError } from "./port.ts";
import { Semaphore } from "./semaphore.ts";

/** The platform's `fetch`, or a stand-in. */
export type Fetch = (url: string, init: RequestInit & { client?: Deno.HttpClient }) => Promise<Response>;

/** What a {@linkcode Transport} takes. */
export interface TransportOptions {
  readonly config: ClusterConfig;
  readonly clock: Clock;
  readonly metrics?: Metrics;
  readonly tracing?: Tracing | undefined;
  /** @default globalThis.fetch */
  readonly fetch?: Fetch;
  /** @default Deno.createHttpClient */
  readonly createClient?: CreateHttpClient;
  /** Deadline of one request, in milliseconds; for a watch, of its headers. @default 30_000 */
  readonly deadlineMs?: number;
  /** Requests in flight, watches apart. @default 64 */
  readonly concurrency?: number;
}

/** What is to be said of one request. */
export interface Call {
  readonly signal: AbortSignal;
  /** What is tried, for errors: `Reading the CR default/orders`. */
  readonly action: string;
  /** For metrics: `get`, `list`, `watch`, `patch`, `create`, `update`. */
  readonly verb: string;
}

/** An open stream. */
export interface Stream {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends it; to be called in any case. */
  close(): void;
}

interface Request {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The requests to one cluster. */
export class Transport {
  readonly config: ClusterConfig;
  readonly clock: Clock;
  readonly #options: TransportOptions;
  readonly #metrics: Metrics;
  readonly #fetch: Fetch;
  readonly #slots: Semaphore;
  readonly #connection: Connection;
  readonly #deadlineMs: number;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.config = options.config;
    this.clock = options.clock;
    this.#metrics = options.metrics ?? noMetrics;
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#slots = new Semaphore(options.concurrency ?? 64);
    this.#connection = new Connection(options.config, options.clock, options.createClient);
    this.#deadlineMs = options.deadlineMs ?? 30_000;
  }

  /** A transport of its own connection and slots, for a lease whose renewal must not wait behind other requests. */
  separate(changes: Partial<Pick<TransportOptions, "deadlineMs" | "concurrency">>): Transport {
    return new Transport({ ...this.#options, ...changes });
  }

  /** Sends what an API class made and reads the whole answer; `httpApi: wrapHttpLibrary({ send })` calls it. */
  async send(context: RequestContext, call: Call): Promise<ResponseContext> {
    const body = context.getBody();
    const request: Request = {
      url: context.getUrl(),
      method: context.getHttpMethod(),
      headers: context.getHeaders(),
      ...(typeof body === "string" ? { body } : {}),
    };
    return await this.#measured(call, () =>
      this.#slots.run(call.signal, () =>
        withDeadline(
          { clock: this.clock, ms: this.#deadlineMs, action: call.action, signal: call.signal },
          (signal) =>
            this.#exchange(request, signal, call, async (response) => {
              const text = await response.text();
              const type = response.headers.get("content-type")?.split(";")[0]?.trim() ?? "";
              if (response.ok && text !== "" && !type.endsWith("json")) {
                throw new KubeError("server", `${call.action}: the answer is "${type}" instead of JSON`, {
                  status: response.status,
                });
              }
              const bytes = () => Promise.reject(new TypeError("binary answers are not used"));
              return {
                value: new ResponseContext(response.status, { "content-type": "application/json" }, {
                  text: () => Promise.resolve(text),
                  binary: bytes,
                  stream: () => null,
                }),
                status: response.status,
              };
            }),
        )));
  }

  /** Opens a watch: `path` starts with a slash. Its headers have the deadline of a request, its body has none. */
  async open(path: string, call: Call): Promise<Stream> {
    const stream = new AbortController();
    const onAbort = () => stream.abort(call.signal.reason);
    if (call.signal.aborted) throw call.signal.reason;
    call.signal.addEventListener("abort", onAbort, { once: true });
    const request = {
      url: this.config.server + path,
      method: "GET",
      headers: { Accept: "application/json" },
    };
    let lease: Lease | undefined;
    const close = () => {
      call.signal.removeEventListener("abort", onAbort);
      stream.abort();
      lease?.done();
    };
    try {
      return await this.#measured(call, () =>
        withDeadline(
          { clock: this.clock, ms: this.#deadlineMs, action: call.action, signal: call.signal },
          (signal) => {
            signal.addEventListener("abort", () => stream.abort(signal.reason), { once: true });
            return this.#exchange(request, stream.signal, call, (response, held) => {
              lease = held;
              const body = response.body ?? new ReadableStream({ start: (c) => c.close() });
              return Promise.resolve({ value: { body, close }, status: response.status, keep: true });
            });
          },
        ));
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Gives up the idle connection. */
  close(): void {
    this.#connection.close();
  }

  async #exchange<T>(
    request: Request,
    signal: AbortSignal,
    call: Call,
    read: (response: Response, lease: Lease) => Promise<{ value: T; status: number; keep?: boolean }>,
  ): Promise<{ value: T; status: number }> {
    for (let attempt = 0;; attempt++) {
      const identity = await this.config.credentials.current();
      const lease = await this.#connection.lease(identity);
      const onAbort = () => {
        if (signal.reason instanceof DeadlineError) lease.timedOut();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      let keep = false;
      try {
        const response = await this.#fetch(request.url, {
          method: request.method,
          headers: { ...request.headers, "User-Agent": OPERATOR_NAME, ...identity.headers },
          ...(request.body === undefined ? {} : { body: request.body }),
          redirect: "error", // a token is for the API server alone
          client: lease.client as HttpClient as Deno.HttpClient,
          signal,
        });
        lease.answered();
        if (response.ok) {
          const result = await read(response, lease);
          keep = result.keep === true;
          return result;
        }
        const body = await response.text();
        if (response.status === 401 && attempt === 0 && await this.config.credentials.refresh(identity)) {
          continue;
        }
        throw fromAnswer(call.action, {
          status: response.status,
          body,
          contentType: response.headers.get("content-type") ?? undefined,
          retryAfter: response.headers.get("retry-after") ?? undefined,
        }, this.clock.now());
      } catch (error) {
        if (signal.aborted || error instanceof KubeError) throw error;
        // A handshake that failed sent nothing, so any verb may be tried again.
        if (attempt === 0 && isTlsFault(error) && await this.#connection.reload()) continue;
        throw error;
      } finally {
        signal.removeEventListener("abort", onAbort);
        if (!keep) lease.done();
      }
    }
  }

  #measured<T>(call: Call, work: () => Promise<{ value: T; status: number }>): Promise<T> {
    const { tracing = noTracing } = this.#options;
    const facts = () => ({ "externaldatabase.action": call.action });
    // Renewals of the lease and watches are nobody's pass.
    const options = { facts, client: true, inner: true };
    return tracing.span(`kubernetes ${call.verb}`, options, () => this.#counted(call, work));
  }

  async #counted<T>(call: Call, work: () => Promise<{ value: T; status: number }>): Promise<T> {
    const start = this.clock.monotonic();
    const count = (code: string) =>
      this.#metrics.kubeRequest(call.verb, code, (this.clock.monotonic() - start) / 1_000);
    try {
      const { value, status } = await work();
      count(String(status));
      return value;
    } catch (error) {
      if (call.signal.aborted && error === call.signal.reason) throw error;
      const failed = error instanceof ConfigError
        ? new KubeError("unauthorised", `${call.action}: ${error.message}`, { cause: error })
        : this.#hint(fromThrown(call.action, error, this.clock.now()), error);
      count(failed.status === undefined ? failed.kind : String(failed.status));
      throw failed;
    }
  }

  #hint(failed: KubeError, error: unknown): KubeError {
    if (!this.config.skipTlsVerify || !isTlsFault(error)) return failed;
    const host = new URL(this.config.server).hostname;
    return new KubeError(
      failed.kind,
      `${failed.message} (insecure-skip-tls-verify needs deno's flag --unsafely-ignore-certificate-errors=${host})`,
      { cause: error },
    );
  }
}
