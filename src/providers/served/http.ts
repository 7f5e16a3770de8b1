/**
 * An HTTP server that keeps to cloud-api.md, whatever answers its calls: the simulated cloud's model, or a provider.
 *
 * @module
 */
import { readBounded } from "../simulated/bodies.ts";
import { invalid, notFound } from "../simulated/store.ts";
import type { CloudAnswer, CloudCall } from "../simulated/types.ts";
import { ConnectionLostError, RefusalError } from "../simulated/types.ts";

/** Answers one call; refusals are answers. Rejects with {@linkcode ConnectionLostError} when the answer is to be lost. */
export type Answering = (
  call: CloudCall,
  options: { readonly signal?: AbortSignal | undefined; readonly caller?: string | undefined },
) => Promise<CloudAnswer>;

/** What {@linkcode createApiHandler} takes. */
export interface ApiHandlerOptions {
  /** Bearer tokens that are let in; asked at each request. `undefined` lets everyone in. */
  readonly tokens?: (() => readonly string[] | undefined) | undefined;
  /** Answers what is no call of the contract, without a token; nothing: it is a call. */
  readonly beside?: ((request: Request, url: URL) => Promise<Response> | undefined) | undefined;
  /** Awaited before each answer: what anyone is told is to outlive the process. A failure is answered with 500. */
  readonly durable?: (() => Promise<void>) | undefined;
}

/** Answers one request; `signal` says that nobody waits for the answer any more. */
export type CloudHandler = (request: Request, signal?: AbortSignal) => Promise<Response>;

/**
 * Makes the request handler. It rejects with {@linkcode ConnectionLostError} when the answer is to be lost and with the
 * signal's reason when that aborts; {@linkcode serveHandler} breaks the connection then. The request's own signal is not
 * asked: under `Deno.serve` it aborts after every answer.
 */
export function createApiHandler(answering: Answering, options: ApiHandlerOptions = {}): CloudHandler {
  const { tokens, beside, durable } = options;
  return async (request, signal) => {
    const url = new URL(request.url);
    const other = beside?.(request, url);
    if (other !== undefined) {
      const answer = await other;
      await durable?.();
      return answer;
    }
    try {
      const allowed = tokens?.();
      if (allowed !== undefined && !allowed.includes(bearer(request))) {
        const message = "The bearer token is missing or not valid";
        throw new RefusalError({ status: 401, code: "Unauthenticated", message });
      }
      const call = await readCall(request, url);
      const caller = request.headers.get("x-caller") ?? undefined;
      const answer = await answering(call, { signal, caller });
      await durable?.();
      return toResponse(answer);
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      return toResponse({ status: error.refusal.status, refusal: error.refusal });
    }
  };
}

function bearer(request: Request): string {
  return /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
}

async function readCall(request: Request, url: URL): Promise<CloudCall> {
  const { method } = request;
  const path = url.pathname.replace(/\/$/, "");
  if (path === "/v1" && method === "GET") return { verb: "info" };
  if (path === "/v1/databases") {
    if (method === "GET") return readList(url.searchParams);
    if (method === "POST") return { verb: "create", body: await readBody(request) };
  }
  const encoded = /^\/v1\/databases\/([^/]+)$/.exec(path)?.[1];
  if (encoded !== undefined) {
    const id = decode(encoded);
    if (method === "GET") return { verb: "get", id };
    if (method === "PATCH") return { verb: "modify", id, body: await readBody(request) };
    if (method === "DELETE") {
      return { verb: "delete", id, finalSnapshot: url.searchParams.get("finalSnapshot") ?? undefined };
    }
  }
  await request.body?.cancel();
  throw new RefusalError({ status: 404, code: "NotFound", message: `There is no ${method} ${url.pathname}` });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw notFound(text); // a malformed escape names no database
  }
}

function readList(query: URLSearchParams): CloudCall {
  const tags = query.getAll("tag").map((tag): [string, string] => {
    const at = tag.indexOf("=");
    if (at < 1) throw invalid(`tag must be key=value, not ${JSON.stringify(tag)}`);
    return [tag.slice(0, at), tag.slice(at + 1)];
  });
  const limit = query.get("limit");
  return {
    verb: "list",
    tags,
    limit: limit === null ? undefined : Number(limit),
    pageToken: query.get("pageToken") ?? undefined,
  };
}

/** The body as a JSON object; the model checks its shape. */
async function readBody<T>(request: Request): Promise<T> {
  const text = await readBounded(request);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("The body is not JSON");
  }
  if (typeof json !== "object" || json === null) throw invalid("The body is not a JSON object");
  return json as T;
}

function toResponse(answer: CloudAnswer): Response {
  const { status, refusal } = answer;
  if (refusal === undefined) return Response.json(answer.body, { status });
  const { code, message, retryAfterSeconds } = refusal;
  const headers: HeadersInit = retryAfterSeconds === undefined
    ? {}
    : { "retry-after": String(retryAfterSeconds) };
  return Response.json({ error: { code, message } }, { status, headers });
}

/**
 * A `fetch` that asks `handler` in this process, for tests and simulations without a socket. A lost answer rejects
 * with a `TypeError`, as the platform's does.
 */
export function createCloudFetch(
  handler: CloudHandler,
): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const signal = init.signal ?? undefined;
    signal?.throwIfAborted();
    try {
      return await handler(new Request(url, init), signal);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (cause instanceof ConnectionLostError) throw new TypeError(cause.message, { cause });
      throw cause;
    }
  };
}

/** Where a handler is served. */
export interface ServeHandlerOptions {
  /** @default "127.0.0.1" */
  readonly hostname?: string;
  /** 0 lets the system choose. @default 0 */
  readonly port?: number;
  /** Told of errors that are no part of the simulation. */
  readonly onError?: (error: unknown) => void;
}

/** A cloud that listens. */
export interface CloudServer {
  /** Base URL, such as `http://127.0.0.1:8081`, without a slash at the end. */
  readonly url: string;
  /** Stops; calls in flight break. */
  close(): Promise<void>;
}

/** Serves a handler over HTTP. Throws when the port is taken. */
export function serveHandler(handler: CloudHandler, options: ServeHandlerOptions = {}): CloudServer {
  const { hostname = "127.0.0.1", port = 0, onError } = options;
  const closed = new AbortController();
  const server = Deno.serve({ hostname, port, onListen: () => {} }, async (request) => {
    try {
      return await handler(request, closed.signal);
    } catch (error) {
      const lost = error instanceof ConnectionLostError || closed.signal.aborted;
      if (!lost) onError?.(error);
      return lost ? broken() : Response.json(INTERNAL_ERROR, { status: 500 });
    }
  });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http://${host}:${server.addr.port}`,
    async close() {
      closed.abort();
      await server.shutdown();
    },
  };
}

const INTERNAL_ERROR = { error: { code: "InternalError", message: "Internal error" } };

/**
 * An answer that breaks off before its first byte of body: as near to a cut connection as the platform's server
 * comes. It promises more than it sends; a stream that errors would do the same and be logged by the platform.
 */
function broken(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, {
    status: 200,
    headers: { "content-type": "application/json", "content-length": "1" },
  });
}
