/**
 * A server on bare TCP that answers whatever bytes a test wants.
 *
 * @module
 */

/** One request as it came. */
export interface RawRequest {
  /** Such as `POST /v1/databases`. */
  readonly line: string;
  /** Head and body. */
  readonly text: string;
  /** Counts requests on all connections, from 1. */
  readonly count: number;
}

/** What a test does with a request: the bytes to send, and what comes after them. */
export interface RawAnswer {
  readonly bytes?: string | Uint8Array;
  /** `keep`: more requests may come; `close`: end the connection; `hang`: say nothing more. @default "keep" */
  readonly then?: "keep" | "close" | "hang";
  /** Sends one byte at a time, this many milliseconds apart. */
  readonly dripMs?: number;
}

/** A running raw server. */
export interface RawServer {
  readonly url: string;
  readonly requests: readonly RawRequest[];
  close(): Promise<void>;
}

/** Serves on a port of the system's choice. */
export function serveRaw(answer: (request: RawRequest) => RawAnswer): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: RawRequest[] = [];
  const connections = new Set<Deno.TcpConn>();
  const work = new Set<Promise<void>>();

  async function serve(connection: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    let text = "";
    for (;;) {
      const size = await connection.read(buffer);
      if (size === null) return;
      text += new TextDecoder().decode(buffer.subarray(0, size));
      const head = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) continue;
      const request = { line: text.slice(0, text.indexOf(" HTTP/")), text, count: requests.length + 1 };
      requests.push(request);
      text = "";
      const { bytes = "", then = "keep", dripMs } = answer(request);
      const data = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
      if (dripMs === undefined) await writeAll(connection, data);
      else {
        for (const byte of data) {
          await writeAll(connection, Uint8Array.of(byte));
          await new Promise((resolve) => setTimeout(resolve, dripMs));
        }
      }
      if (then === "close") return;
    }
  }

  const accept = (async () => {
    for await (const connection of listener) {
      connections.add(connection);
      const done = serve(connection).catch(() => {}) // the client went, or the test is over
        .finally(() => {
          connections.delete(connection);
          work.delete(done);
          try {
            connection.close();
          } catch { /* closed by the end of the test */ }
        });
      work.add(done);
    }
  })();

  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    requests,
    async close() {
      listener.close();
      for (const connection of connections) connection.close();
      await accept;
      await Promise.all(work);
    },
  };
}

async function writeAll(connection: Deno.TcpConn, data: Uint8Array): Promise<void> {
  for (let done = 0; done < data.length;) done += await connection.write(data.subarray(done));
}

/** An HTTP answer as bytes. `length` may lie. */
export function http(
  status: number,
  body: string,
  headers: Record<string, string> = {},
  length = new TextEncoder().encode(body).length,
): string {
  const lines = Object.entries({
    "content-type": "application/json",
    "content-length": String(length),
    ...headers,
  });
  return `HTTP/1.1 ${status} X\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join("")}\r\n${body}`;
}
