/**
 * The operator's own HTTP server: health, metrics and a read-only view of the fleet.
 *
 * Promises: it answers GET and HEAD alone, changes nothing, holds no secret, escapes all it shows, and ends within
 * {@linkcode CLOSE_LIMIT_MS}. Assumes that whoever can reach the address may see the fleet; so on a loopback address
 * it answers only to loopback names (a web page that re-points its own name at 127.0.0.1 gets 421).
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { escapeUnsafe } from "../core/text.ts";
import type { ListenAddress } from "../cli/values.ts";
import type { FleetRow, OrphanRow } from "./fleet.ts";
import { parseFleetQuery, selectFleet } from "./fleet.ts";
import { PAGE_CSP, renderPage } from "./page.ts";

/** How long open requests may take when the server closes, in milliseconds. */
export const CLOSE_LIMIT_MS = 2_000;

/** Whether the process should be restarted. An outage of the API or the cloud is no reason to be. */
export interface HealthReport {
  readonly healthy: boolean;
  /** Why not, or what is worth knowing; one line each. */
  readonly reasons: readonly string[];
}

/** Whether the operator does its work, or stands by for the one that does. */
export interface ReadyReport {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** What {@linkcode serveOperator} takes. */
export interface ServeOperatorOptions {
  readonly listen: ListenAddress;
  readonly clock: Clock;
  readonly health: () => HealthReport;
  readonly ready: () => ReadyReport;
  readonly metrics: { render(): Promise<string>; readonly contentType: string };
  readonly fleet: () => readonly FleetRow[];
  /** Databases whose CR is gone. @default none */
  readonly orphans?: () => readonly OrphanRow[];
  /** Told of requests that failed inside. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A running server. */
export interface OperatorServer {
  readonly address: { readonly hostname: string; readonly port: number };
  /** Stops taking requests, lets open ones end for a moment, then cuts them. */
  close(): Promise<void>;
}

const SAFE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Listens on `options.listen`. Throws when the address cannot be had. */
export function serveOperator(options: ServeOperatorOptions): OperatorServer {
  const { listen, clock, onError } = options;
  const abort = new AbortController();
  const server = Deno.serve({
    hostname: listen.hostname,
    port: listen.port,
    signal: abort.signal,
    onListen: () => {},
    onError(error) {
      onError?.(error);
      return answer(500, "text/plain; charset=utf-8", "Internal error\n");
    },
  }, (request) => handle(request, options));
  const { hostname, port } = server.addr as Deno.NetAddr;
  return {
    address: { hostname, port },
    async close() {
      const timer = clock.setTimeout(() => abort.abort(), CLOSE_LIMIT_MS);
      await server.shutdown();
      clock.clearTimeout(timer);
      await server.finished;
    },
  };
}

/** Answers one request. */
async function handle(request: Request, options: ServeOperatorOptions): Promise<Response> {
  const url = new URL(request.url);
  if (request.method !== "GET" && request.method !== "HEAD") {
    return answer(405, "text/plain; charset=utf-8", "Only GET and HEAD\n", { allow: "GET, HEAD" });
  }
  if (isLoopback(options.listen.hostname) && !isLoopback(url.hostname)) {
    return answer(421, "text/plain; charset=utf-8", "This address answers to loopback names only\n");
  }
  switch (url.pathname) {
    case "/healthz": {
      const { healthy, reasons } = options.health();
      return report(healthy, reasons);
    }
    case "/readyz": {
      const { ready, reasons } = options.ready();
      return report(ready, reasons);
    }
    case "/metrics":
      return answer(200, options.metrics.contentType, await options.metrics.render());
    case "/api/databases": {
      const { items, total, query } = selectFleet(options.fleet(), parseFleetQuery(url.searchParams));
      const body = escapeUnsafe(JSON.stringify({ total, offset: query.offset, limit: query.limit, items }));
      return answer(200, "application/json; charset=utf-8", `${body}\n`);
    }
    case "/api/orphans": {
      const body = escapeUnsafe(JSON.stringify({ items: options.orphans?.() ?? [] }));
      return answer(200, "application/json; charset=utf-8", `${body}\n`);
    }
    case "/":
      return page(url, options);
    default:
      return answer(404, "text/plain; charset=utf-8", "Not found\n");
  }
}

function page(url: URL, options: ServeOperatorOptions): Response {
  const rows = options.fleet();
  const states = new Map<string, number>();
  for (const row of rows) states.set(row.state, (states.get(row.state) ?? 0) + 1);
  const html = renderPage({
    page: selectFleet(rows, parseFleetQuery(url.searchParams)),
    states,
    orphans: options.orphans?.() ?? [],
    now: options.clock.now(),
  });
  return answer(200, "text/html; charset=utf-8", html, { "content-security-policy": PAGE_CSP });
}

function report(good: boolean, reasons: readonly string[]): Response {
  const lines = [good ? "ok" : "not ok", ...reasons.map((reason) => `- ${reason.replace(/\s+/g, " ")}`)];
  return answer(good ? 200 : 503, "text/plain; charset=utf-8", `${lines.join("\n")}\n`);
}

function answer(status: number, type: string, body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers: { ...SAFE_HEADERS, "content-type": type, ...headers } });
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
}
