/**
 * The embedded API over HTTP on loopback, with the kubeconfig that kubectl needs.
 *
 * @module
 */
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { createEmbeddedApi, type EmbeddedApi, type EmbeddedApiOptions } from "./api.ts";

/** What a served API is made with; clock and randomness default to the machine's. */
export interface ServeOptions extends Partial<EmbeddedApiOptions> {
  /** @default "127.0.0.1" */
  readonly hostname?: string;
  /** 0: one that is free. @default 0 */
  readonly port?: number;
  /**
   * First part of every path, hard to guess: whoever does not know it gets 404. It stands in for a token, since
   * kubectl sends none over plain HTTP. The OpenAPI documents are served without it too (kubectl asks at the root).
   */
  readonly secretPath?: string | undefined;
}

/** A served API. */
export interface ServedApi {
  /** `http://127.0.0.1:PORT`, with the secret path if there is one. */
  readonly url: string;
  /** A kubeconfig for it, as YAML. */
  kubeconfig(): string;
  /** Ends watches, connections and the server. */
  close(): Promise<void>;
  readonly api: EmbeddedApi;
}

/** Serves an embedded API; rejects where the port is taken. */
export function serveEmbeddedApi(options: ServeOptions = {}): Promise<ServedApi> {
  const { hostname = "127.0.0.1", port = 0, clock = systemClock, random = systemRandom } = options;
  const api = createEmbeddedApi({ ...options, clock, random });
  const prefix = options.secretPath === undefined ? "" : `/${options.secretPath}`;
  return new Promise((resolve, reject) => {
    let server: Deno.HttpServer<Deno.NetAddr>;
    const onListen = ({ port: bound }: Deno.NetAddr) => {
      const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}${prefix}`;
      resolve({
        url,
        api,
        kubeconfig: () => kubeconfig(url, options.token),
        async close() {
          api.close();
          await server.shutdown();
        },
      });
    };
    try {
      const onError = () => new Response(null, { status: 502 });
      server = Deno.serve({ hostname, port, onListen, onError }, (request, info) => {
        // Deno's own signal also aborts after a success: this one only when the client went away.
        const gone = new AbortController();
        info.completed.catch((error: unknown) => gone.abort(error));
        const { method, headers, body } = request;
        const inner = withoutPrefix(request.url, prefix);
        if (inner === undefined) return new Response("404 page not found\n", { status: 404 });
        return api.fetch(new Request(inner, { method, headers, body, signal: gone.signal }));
      });
    } catch (error) {
      api.close();
      reject(new Error(`Serving the embedded API on ${hostname}:${port} failed`, { cause: error }));
    }
  });
}

/** The URL as the API knows it, or `undefined` for one without the secret path. */
function withoutPrefix(text: string, prefix: string): URL | undefined {
  const url = new URL(text);
  if (prefix === "" || url.pathname.startsWith("/openapi/")) return url;
  if (!url.pathname.startsWith(`${prefix}/`)) return undefined;
  url.pathname = url.pathname.slice(prefix.length);
  return url;
}

/**
 * A kubeconfig of one cluster, one user and one context, all named `embedded`. The token is part of the server's
 * address, since clients built on client-go send none over plain HTTP; others find it at the user. There is no TLS to
 * verify, yet without `insecure-skip-tls-verify` the JavaScript client refuses `http:` addresses.
 */
export function kubeconfig(url: string, token: string | undefined): string {
  const server = token === undefined ? url : `${url}/${encodeURIComponent(token)}`;
  const user = token === undefined ? "{}" : `{token: ${JSON.stringify(token)}}`;
  return `apiVersion: v1
kind: Config
clusters:
- {name: embedded, cluster: {server: ${JSON.stringify(server)}, insecure-skip-tls-verify: true}}
users:
- {name: embedded, user: ${user}}
contexts:
- {name: embedded, context: {cluster: embedded, user: embedded}}
current-context: embedded
`;
}
