/**
 * The operator's own HTTP server: health, metrics, the page, and a read-only view of the fleet.
 *
 * Promises: it answers GET and HEAD alone, changes nothing, holds no secret, escapes all it shows, makes at most
 * {@linkcode MAX_ANSWERS} large answers at once, and ends within {@linkcode CLOSE_LIMIT_MS}. Without a gate whoever can reach the address may see the fleet; so over loopback
 * it answers only to loopback names (a web page that re-points its own name at 127.0.0.1 gets 421).
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { ListenAddress } from "../cli/values.ts";
import { Api } from "./api/handler.ts";
import type { ChartAnswer } from "./api/types.ts";
import type { FleetView } from "./api/view.ts";
import type { AccessGate } from "./access.ts";
import { Assets } from "./assets.ts";
import { textBody } from "./body.ts";
import type { Pair } from "./certificate.ts";
import { openListener } from "./listener.ts";
import { parseFleetQuery, selectFleet } from "./fleet.ts";
import { PAGE_CSP, renderPage } from "./page.ts";
import { Share } from "./share.ts";

/** How long open requests may take when the server closes, in milliseconds. */
export const CLOSE_LIMIT_MS = 2_000;

/** Answers under way at once, beside those of {@linkcode UNCOUNTED}; more are refused before anything is made for them. */
export const MAX_ANSWERS = 32;
/** Paths that are answered at any time: probes and the scrape are small, and streams have a limit of their own. */
const UNCOUNTED: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics", "/api/stream"]);

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
  readonly view: FleetView;
  /** The statechart as it is drawn. @default there is no such path */
  readonly chart?: (() => Promise<ChartAnswer>) | undefined;
  /** Folder of the built page; where nothing was built there the plain table stands in for it. @default none */
  readonly pageFolder?: string | undefined;
  /** Stands before all that it answers. @default whoever can reach it may see it */
  readonly gate?: Pick<AccessGate, "guard"> | undefined;
  /** Certificate and key; absent: plain HTTP. */
  readonly pair?: Pair | undefined;
  /** Told of requests that failed inside. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A running server. */
export interface OperatorServer {
  readonly address: { readonly hostname: string; readonly port: number };
  /** Open streams of server-sent events. */
  readonly streams: number;
  /** Open connections. */
  readonly connections: number;
  /** New connections get this certificate; throws, and keeps the one before, when it is refused. */
  replace(pair: Pair): void;
  /** Stops taking requests, lets open ones end for a moment, then cuts them. */
  close(): Promise<void>;
}

const SAFE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Listens on `options.listen`. Rejects when the address cannot be had. */
export async function serveOperator(options: ServeOperatorOptions): Promise<OperatorServer> {
  const { onError, gate } = options;
  const api = new Api(options);
  const assets = options.pageFolder === undefined ? undefined : new Assets(options.pageFolder);
  const { clock } = options;
  const shares = { views: new Share(clock), metrics: new Share(clock) };
  const served = { ...options, api, assets, answering: { count: 0 }, shares };
  const open = (request: Request) => handle(request, served);
  const guarded = gate === undefined ? open : gate.guard(open);
  const listener = await openListener({
    ...options,
    handle: async (request, remote) =>
      safe(
        request === undefined
          ? answer(400, "text/plain; charset=utf-8", "Bad request\n", { connection: "close" })
          : isMisdirected(request, remote, options)
          ? answer(421, "text/plain; charset=utf-8", "This address answers to loopback names only\n")
          : await guarded(request),
      ),
    failed(error) {
      onError?.(error);
      return safe(answer(500, "text/plain; charset=utf-8", "Internal error\n"));
    },
  });
  return {
    address: listener.address,
    get streams() {
      return api.clients;
    },
    get connections() {
      return listener.connections;
    },
    replace: (pair) => listener.replace(pair),
    async close() {
      api.close();
      await listener.close(CLOSE_LIMIT_MS);
    },
  };
}

interface Served extends ServeOperatorOptions {
  readonly api: Api;
  readonly assets: Assets | undefined;
  readonly answering: { count: number };
  /** Of the event loop: the scrape has one of its own, so that it waits for no page. */
  readonly shares: Readonly<Record<"views" | "metrics", Share>>;
}

/**
 * Whether it may be a browser's, sent here by a page that points its own name at this machine. Such requests come to a
 * loopback address; or, through `kubectl port-forward`, from one, and then nothing but the name tells them from others.
 */
function isMisdirected(
  request: Request,
  remote: string,
  { listen, gate, pair }: ServeOperatorOptions,
): boolean {
  if (isLoopback(new URL(request.url).hostname)) return false;
  return isLoopback(listen.hostname) || (gate === undefined && pair === undefined && THIS_END.has(remote));
}

/** Where a port-forward comes from, in the pod; the proxies of a service mesh come from other loopback addresses. */
const THIS_END: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);

/** Answers one request. */
async function handle(request: Request, options: Served): Promise<Response> {
  const url = new URL(request.url);
  if (request.method !== "GET" && request.method !== "HEAD") {
    return answer(405, "text/plain; charset=utf-8", "Only GET and HEAD\n", { allow: "GET, HEAD" });
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
      return answer(
        200,
        options.metrics.contentType,
        await options.shares.metrics.run(() => options.metrics.render()),
      );
  }
  if (!UNCOUNTED.has(url.pathname)) {
    const { answering } = options;
    if (answering.count >= MAX_ANSWERS) {
      return answer(503, "text/plain; charset=utf-8", "Too many answers are under way; try again\n", {
        "retry-after": "1",
      });
    }
    if (!request.signal.aborted) {
      answering.count++;
      request.signal.addEventListener("abort", () => answering.count--, { once: true });
    }
  }
  // What an answer awaits, such as the chart's layout, is not of its turn.
  const { found } = await options.shares.views.run(() => ({ found: view(request, url, options) }));
  return await found ?? answer(404, "text/plain; charset=utf-8", "Not found\n");
}

/** Answers what shows the fleet; what is made of all rows is made at once, in its turn. */
async function view(request: Request, url: URL, options: Served): Promise<Response | undefined> {
  if (url.pathname === "/plain") return plain(request, url, options);
  const found = url.pathname.startsWith("/api/")
    ? await options.api.answer(request, url)
    : await options.assets?.answer(request, url);
  if (found !== undefined) return found;
  return url.pathname === "/" ? plain(request, url, options) : undefined; // the page was not built
}

/** The table without script. */
function plain(request: Request, url: URL, { view, clock }: ServeOperatorOptions): Response {
  const rows = [...view.rows()];
  const states = new Map<string, number>();
  for (const row of rows) states.set(row.state, (states.get(row.state) ?? 0) + 1);
  const html = renderPage({
    page: selectFleet(rows, parseFleetQuery(url.searchParams)),
    states,
    orphans: view.orphans(),
    now: clock.now(),
  });
  const { body, headers } = textBody(request, html);
  return answer(200, "text/html; charset=utf-8", body, { ...headers, "content-security-policy": PAGE_CSP });
}

function report(good: boolean, reasons: readonly string[]): Response {
  const lines = [good ? "ok" : "not ok", ...reasons.map((reason) => `- ${reason.replace(/\s+/g, " ")}`)];
  return answer(good ? 200 : 503, "text/plain; charset=utf-8", `${lines.join("\n")}\n`);
}

/** Adds the headers that every answer has, where it has none of its own. */
function safe(response: Response): Response {
  for (const [name, value] of Object.entries(SAFE_HEADERS)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

function answer(
  status: number,
  type: string,
  body: BodyInit,
  headers: Record<string, string> = {},
): Response {
  return new Response(body, { status, headers: { "content-type": type, ...headers } });
}

/** Whether a host, of an address or of a URL, is this machine alone. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
}
