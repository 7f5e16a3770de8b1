/**
 * The socket under the HTTP server: plain, or TLS whose certificate can be replaced.
 *
 * Deno cannot change the certificate of a socket that listens, nor have two on one port without an unstable flag. So the
 * first is closed and the next opened on its port, some milliseconds later; requests and streams that are open go on.
 * TLS is 1.2 or 1.3; Deno speaks nothing older.
 *
 * @module
 */
import type { ListenAddress } from "../cli/values.ts";
import type { Clock } from "../core/clock.ts";
import { sleep } from "../core/wait.ts";
import type { Pair } from "./certificate.ts";

/** What {@linkcode openListener} takes. */
export interface ListenerOptions {
  readonly listen: ListenAddress;
  readonly clock: Clock;
  /** Absent: plain HTTP. */
  readonly pair?: Pair | undefined;
  readonly handle: (request: Request) => Promise<Response>;
  /** Answers for what `handle` threw. */
  readonly failed: (error: unknown) => Response;
}

/** An open socket. */
export interface Listener {
  readonly address: { readonly hostname: string; readonly port: number };
  /** From now on new connections get this certificate. Rejects when it is refused: then the one before stays. */
  replace(pair: Pair): Promise<void>;
  /** Takes no more connections, lets open requests end for `limitMs`, then cuts them. */
  close(limitMs: number): Promise<void>;
}

/** How long requests over a connection of an earlier certificate may take to end, in milliseconds. */
const OLD_LIMIT_MS = 60_000;
/** How long a port may take to come free, and how often that is looked at, in milliseconds. */
const REBIND_LIMIT_MS = 5_000;
const REBIND_STEP_MS = 5;

/** Listens. Throws when the address cannot be had or the pair is refused. */
export function openListener(options: ListenerOptions): Listener {
  const { listen, clock } = options;
  const first = new Socket(options, listen.port, options.pair);
  const { hostname, port } = first.address;
  const open = new Set([first]);
  let current: Socket | undefined = first;
  let pair = options.pair;
  let closing = false;

  const rebind = async (next: Pair | undefined) => {
    const until = clock.monotonic() + REBIND_LIMIT_MS;
    while (!closing) {
      try {
        open.add(current = new Socket(options, port, next));
        return;
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse) || clock.monotonic() >= until) throw error;
        await sleep(clock, REBIND_STEP_MS);
      }
    }
  };
  return {
    address: { hostname, port },
    async replace(next) {
      // A pair that is refused, and looked at again and again, must not close what serves.
      await new Socket(options, 0, next).close(0);
      if (closing) return;
      const before = current;
      current = undefined;
      before?.close(OLD_LIMIT_MS).finally(() => open.delete(before));
      try {
        await rebind(next);
        pair = next;
      } catch (error) {
        await rebind(pair);
        throw error;
      }
    },
    async close(limitMs) {
      closing = true;
      await Promise.all([...open].map((socket) => socket.close(limitMs)));
    },
  };
}

/** One socket that listens. */
class Socket {
  readonly #abort = new AbortController();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #clock: Clock;

  constructor({ listen, clock, handle, failed }: ListenerOptions, port: number, pair: Pair | undefined) {
    this.#clock = clock;
    this.#server = Deno.serve({
      hostname: listen.hostname,
      port,
      signal: this.#abort.signal,
      onListen: () => {},
      onError: failed,
      ...(pair && { cert: pair.cert, key: pair.key }),
    }, handle);
  }

  get address(): { readonly hostname: string; readonly port: number } {
    return this.#server.addr;
  }

  /** May be called again, with a shorter limit. */
  async close(limitMs: number): Promise<void> {
    const timer = this.#clock.setTimeout(() => this.#abort.abort(), limitMs);
    await this.#server.shutdown();
    this.#clock.clearTimeout(timer);
    await this.#server.finished;
  }
}
