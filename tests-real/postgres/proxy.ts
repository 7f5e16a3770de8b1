/**
 * A TCP proxy in front of a PostgreSQL server that reads the client's statements, delays answers and cuts connections
 * at a statement's boundary.
 *
 * @module
 */

import type { Fate } from "../support/cuts.ts";

/** A running proxy. */
export interface Proxy {
  readonly port: number;
  /** Statements that arrived at the server, in order. */
  readonly statements: string[];
  /** Decides on each statement. @default all pass */
  fate: (text: string) => Fate;
  /** Answers come this late, in milliseconds; only those to statements that `delays` picks, by what its connection sent before. */
  delayMs: number;
  delays: (text: string, before: readonly string[]) => boolean;
  close(): Promise<void>;
}

/** Serves one on a port of the system's choice. */
export function serveProxy(upstreamPort: number): Proxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pairs = new Set<() => void>();
  const timers = new Map<ReturnType<typeof setTimeout>, () => void>();
  const running = new Set<Promise<unknown>>();
  const proxy: Proxy = {
    port: (listener.addr as Deno.NetAddr).port,
    statements: [],
    fate: () => "pass",
    delayMs: 0,
    delays: () => true,
    async close() {
      listener.close();
      for (const cut of pairs) cut();
      for (const [timer, resolve] of timers) {
        clearTimeout(timer);
        resolve();
      }
      await Promise.all([...running]);
    },
  };

  const wait = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        resolve();
      }, ms);
      timers.set(timer, resolve);
    });

  async function serve(client: Deno.TcpConn): Promise<void> {
    let upstream: Deno.TcpConn;
    try {
      upstream = await Deno.connect({ hostname: "127.0.0.1", port: upstreamPort });
    } catch {
      client.close(); // the server is down: so is its proxy
      return;
    }
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    let open = true;
    let slow = false;
    const before: string[] = [];
    let mute = false;
    const cut = () => {
      if (!open) return;
      open = false;
      pairs.delete(cut);
      client.close();
      upstream.close();
    };
    pairs.add(cut);
    const requests = async () => {
      const reader = new MessageReader();
      for await (const chunk of chunks(client)) {
        for (const message of reader.push(chunk)) {
          const text = statementOf(message);
          const fate = text === undefined ? "pass" : proxy.fate(text);
          if (fate === "before") return;
          if (text !== undefined) {
            proxy.statements.push(text);
            slow = proxy.delays(text, before);
            before.push(text);
            mute = fate === "after";
          }
          await writeAll(upstream, message);
        }
      }
    };
    const answers = async () => {
      for await (const chunk of chunks(upstream)) {
        if (mute) return; // the server has answered: what the statement does, it has done
        if (proxy.delayMs > 0 && slow) await wait(proxy.delayMs);
        if (!open) return;
        await writeAll(client, chunk);
      }
    };
    await Promise.all([requests().catch(() => {}).finally(cut), answers().catch(() => {}).finally(cut)]);
  }

  const accepting = (async () => {
    for await (const client of listener) {
      const served = serve(client).finally(() => running.delete(served));
      running.add(served);
    }
  })();
  running.add(accepting);
  return proxy;
}

async function* chunks(connection: Deno.Conn): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const size = await connection.read(buffer);
    if (size === null) return;
    yield buffer.slice(0, size);
  }
}

async function writeAll(connection: Deno.Conn, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) at += await connection.write(data.subarray(at));
}

/** Splits a client's bytes into protocol messages: the first has no type. */
class MessageReader {
  #rest = new Uint8Array();
  #started = false;

  push(chunk: Uint8Array): Uint8Array[] {
    const data = new Uint8Array(this.#rest.length + chunk.length);
    data.set(this.#rest);
    data.set(chunk, this.#rest.length);
    const messages: Uint8Array[] = [];
    let at = 0;
    for (;;) {
      const head = this.#started ? 1 : 0;
      if (data.length - at < head + 4) break;
      const size = head + new DataView(data.buffer, at + head).getInt32(0);
      if (data.length - at < size) break;
      messages.push(data.slice(at, at + size));
      at += size;
      this.#started = true;
    }
    this.#rest = data.slice(at);
    return messages;
  }
}

/** The SQL of a Query or Parse message. */
function statementOf(message: Uint8Array): string | undefined {
  const type = String.fromCharCode(message[0]!);
  if (type !== "Q" && type !== "P") return undefined;
  const text = new TextDecoder().decode(message.subarray(5));
  return text.split("\0")[type === "Q" ? 0 : 1];
}
