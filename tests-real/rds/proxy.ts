/**
 * An HTTP proxy in front of an API of AWS that reads which action is asked, delays answers, and cuts connections before a
 * request arrives or after it took effect.
 *
 * @module
 */

import type { Fate } from "../support/cuts.ts";

/** A request. */
export interface Asked {
  readonly action: string;
  readonly mutates: boolean;
  /** Header `x-test-verb`: the port's verb, where the test's fetch says it. */
  readonly verb: string | undefined;
  readonly parameters: URLSearchParams;
  /** The id of the key that it is signed with. */
  readonly keyId: string | undefined;
}

/** A running proxy. */
export interface Proxy {
  readonly url: string;
  /** Requests that were passed on, in order. */
  readonly asked: Asked[];
  /** Decides on each request. @default all pass */
  fate: (asked: Asked) => Fate;
  /** An answer in RDS's stead. @default none */
  instead: (asked: Asked) => Response | undefined;
  /** Answers come this late, in milliseconds; only those that `delays` picks. */
  delayMs: number;
  delays: (asked: Asked) => boolean;
  close(): Promise<void>;
}

/** Serves one on a port of the system's choice. */
export function serveProxy(upstream: string): Proxy {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const running = new Set<Promise<void>>();
  const timers = new Map<ReturnType<typeof setTimeout>, () => void>();
  let closing = false;
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    asked: [],
    fate: () => "pass",
    instead: () => undefined,
    delayMs: 0,
    delays: () => true,
    async close() {
      closing = true;
      listener.close();
      for (const [timer, resolve] of timers) {
        clearTimeout(timer);
        resolve();
      }
      await Promise.all([...running]);
      client.close();
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

  async function serve(connection: Deno.Conn): Promise<void> {
    open.add(connection);
    try {
      const { head, body } = await readRequest(connection);
      const headers = new Headers();
      for (const line of head.slice(1)) {
        const at = line.indexOf(":");
        headers.set(line.slice(0, at), line.slice(at + 1).trim());
      }
      const parameters = new URLSearchParams(body);
      const action = parameters.get("Action") ?? "";
      const mutates = !/^(Describe|List|Get|AssumeRole)/.test(action);
      const verb = headers.get("x-test-verb") ?? undefined;
      const keyId = /Credential=(\w+)/.exec(headers.get("authorization") ?? "")?.[1];
      const asked: Asked = { action, mutates, verb, parameters, keyId };
      const fate = proxy.fate(asked);
      if (fate === "before") return;
      proxy.asked.push(asked);
      for (const name of ["host", "connection", "content-length", "x-test-verb"]) headers.delete(name);
      const slow = proxy.delayMs > 0 && proxy.delays(asked);
      const response = proxy.instead(asked) ??
        await fetch(
          upstream,
          { method: "POST", headers, body, client, signal: AbortSignal.timeout(30_000) } as RequestInit,
        );
      const text = await response.text();
      if (slow) await wait(proxy.delayMs);
      if (fate === "after" || closing) return;
      const bytes = new TextEncoder().encode(text);
      const lines = [
        `HTTP/1.1 ${response.status} OK`,
        "content-type: text/xml",
        `content-length: ${bytes.length}`,
        "connection: close",
      ];
      await writeAll(connection, new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
      await writeAll(connection, bytes);
    } catch {
      // The client went away, or the server did: so does the connection.
    } finally {
      open.delete(connection);
      connection.close();
    }
  }

  running.add((async () => {
    for await (const connection of listener) {
      const served: Promise<void> = serve(connection).finally(() => running.delete(served));
      running.add(served);
    }
  })());
  return proxy;
}

async function readRequest(connection: Deno.Conn): Promise<{ head: string[]; body: string }> {
  let bytes = new Uint8Array();
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const text = new TextDecoder().decode(bytes);
    const end = text.indexOf("\r\n\r\n");
    if (end >= 0) {
      const head = text.slice(0, end).split("\r\n");
      const length = Number(/^content-length:\s*(\d+)/im.exec(text.slice(0, end))?.[1] ?? 0);
      const start = new TextEncoder().encode(text.slice(0, end + 4)).length;
      if (bytes.length - start >= length) {
        return { head, body: new TextDecoder().decode(bytes.subarray(start, start + length)) };
      }
    }
    const size = await connection.read(buffer);
    if (size === null) throw new Error("Reading a request: the connection ended before it did");
    const longer = new Uint8Array(bytes.length + size);
    longer.set(bytes);
    longer.set(buffer.subarray(0, size), bytes.length);
    bytes = longer;
  }
}

async function writeAll(connection: Deno.Conn, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) at += await connection.write(data.subarray(at));
}
