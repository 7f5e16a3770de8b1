/**
 * The platform's `fetch`, made safe for calls that must not be sent twice.
 *
 * Deno's `fetch` sends a request again by itself, a POST too, when a *reused* connection closes before the answer
 * (seen with 2.9: a server that reads a POST and closes gets it a second time). A create would take effect twice and
 * the second sending would pass no fence (S1, rule 21). On a connection of its own a request is sent once.
 *
 * @module
 */

/** The part of `fetch` that providers use. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Two ways to send. */
export interface Transport {
  /** For reads: connections are reused, and a request may be sent again. */
  readonly read: Fetch;
  /** For mutations: each request is sent at most once. */
  readonly mutate: Fetch;
}

/** Makes the transport on Deno's own `fetch`. `caCerts` are PEM texts trusted beside the system's. */
export function createTransport(
  options: { readonly caCerts?: readonly string[] | undefined } = {},
): Transport {
  const common = options.caCerts === undefined ? {} : { caCerts: [...options.caCerts] };
  const pooled = Deno.createHttpClient({ ...common });
  // No pool, so no reuse; no HTTP/2, whose one connection is always a reused one.
  const single = Deno.createHttpClient({ ...common, poolMaxIdlePerHost: 0, http2: false });
  return {
    read: (url, init) => fetch(url, { ...init, client: pooled } as RequestInit),
    mutate: (url, init) => fetch(url, { ...init, client: single } as RequestInit),
  };
}

/** Whether a failed `fetch` never had a connection, so that not one byte of the request left. */
export function neverConnected(error: unknown): boolean {
  for (let e = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if (/client error \(Connect\)/.test(e.message)) return true; // refused, no route, no such host, TLS refused
    if ("code" in e && (e.code === "ECONNREFUSED" || e.code === "ENOTFOUND")) return true;
  }
  return false;
}

/** What the innermost cause of a failed `fetch` says. It may hold addresses. */
export function innermostReason(error: unknown): string {
  let innermost = error;
  for (let depth = 0; innermost instanceof Error && innermost.cause instanceof Error && depth < 5; depth++) {
    innermost = innermost.cause;
  }
  return innermost instanceof Error ? innermost.message : "no reason given";
}
