/**
 * The socket under the HTTP server: plain, or TLS whose certificate can be replaced.
 *
 * Promised: what a client can make it hold is bounded (`connections.ts`); a new connection always finds room; a certificate
 * is replaced under the open socket, so that no connection is refused. TLS is 1.2 or 1.3.
 *
 * It is node's server and not `Deno.serve`, which bounds neither connections nor time, ends the process when that has no
 * file descriptors left, and keeps the certificate that it began with. What node's server does not do either: it listens no
 * more once the process had none left. The liveness probe then fails.
 *
 * @module
 */
import {
  createServer as createPlain,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTls, type Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { hostOf } from "../cli/listening.ts";
import type { ListenAddress } from "../cli/values.ts";
import type { Clock } from "../core/clock.ts";
import type { Pair } from "./certificate.ts";
import { Connections, IDLE_MS } from "./connections.ts";
import { hasBody, requestOf, send } from "./exchange.ts";

/** Requests over one connection: so that all find their way to a new certificate. */
const MAX_REQUESTS = 1_000;
/** Longest head of a request, in bytes: it has a token, of at most 16,384. */
const MAX_HEAD = 32_768;

/** What {@linkcode openListener} takes. */
export interface ListenerOptions {
  readonly listen: ListenAddress;
  readonly clock: Clock;
  /** Absent: plain HTTP. */
  readonly pair?: Pair | undefined;
  /**
   * The request's signal aborts once its answer was read, or never will be. `undefined`: what came is no request. `remote`:
   * the address of the client's end of the connection.
   */
  readonly handle: (request: Request | undefined, remote: string) => Promise<Response>;
  /** Answers for what `handle` threw. */
  readonly failed: (error: unknown) => Response;
}

/** An open socket. */
export interface Listener {
  readonly address: { readonly hostname: string; readonly port: number };
  /** Connections now. */
  readonly connections: number;
  /** From now on new connections get this certificate. Throws when it is refused: then the one before stays. */
  replace(pair: Pair): void;
  /** Takes no more connections, lets open requests end for `limitMs`, then cuts them. */
  close(limitMs: number): Promise<void>;
}

/** Listens. Rejects, as `Deno.listen` does, when the address cannot be had, and when the pair is refused. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { listen, pair, clock, handle, failed } = options;
  const scheme = pair === undefined ? "http" : "https";
  const connections = new Connections(clock);
  const limits = { keepAliveTimeout: IDLE_MS, maxHeaderSize: MAX_HEAD };
  const server: Server = pair === undefined
    ? createPlain(limits)
    : createTls({ ...limits, ...contextOf(pair) });
  server.maxRequestsPerSocket = MAX_REQUESTS;
  server.on("connection", (socket: Socket) => connections.add(socket));
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    const exchange = connections.begin(message.socket, hasBody(message));
    if (exchange === undefined) return;
    const remote = message.socket.remoteAddress ?? "";
    const over = new AbortController();
    response.once("close", () => {
      exchange.ended();
      over.abort();
    });
    response.on("error", () => {}); // the client went; it closes
    const made = await handle(requestOf(message, scheme, over.signal), remote).catch(failed);
    if (made.headers.get("content-type")?.startsWith("text/event-stream")) exchange.streams();
    await send(made, message, response, over.signal);
  };
  server.on("request", (message: IncomingMessage, response: ServerResponse) => {
    answer(message, response).catch((error: unknown) => {
      failed(error);
      response.destroy();
    });
  });
  await bind(server, listen);
  server.on("error", (error) => void failed(error)); // of a connection that could not be taken
  const { address, port } = server.address() as { address: string; port: number };
  return {
    address: { hostname: address, port },
    get connections() {
      return connections.size;
    },
    replace(next) {
      (server as TlsServer).setSecureContext(contextOf(next));
    },
    async close(limitMs) {
      const closed = new Promise((resolve) => server.close(resolve));
      await connections.close(limitMs);
      await closed;
    },
  };
}

/** Throws what TLS has against the pair, which would come up no sooner than at a client's hello. */
function contextOf({ cert, key }: Pair): { cert: string; key: string; minVersion: "TLSv1.2" } {
  // A client takes a pair as a server does, and needs no port for it, which the process may not be allowed to listen on.
  Deno.createHttpClient({ cert, key }).close();
  return { cert, key, minVersion: "TLSv1.2" };
}

async function bind(server: Server, { hostname, port }: ListenAddress): Promise<void> {
  // Node's server throws where nobody can catch it what Deno says here: of a name, of an address, of a permission.
  const tried = Deno.listen({ hostname, port });
  const found = { hostname: tried.addr.hostname, port };
  tried.close();
  const host = hostOf(found);
  const { state } = await Deno.permissions.query({ name: "net", host });
  if (state !== "granted") throw new Deno.errors.NotCapable(`--allow-net=${host} is needed`);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: found.hostname, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
