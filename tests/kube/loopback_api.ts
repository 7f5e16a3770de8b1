/**
 * A Kubernetes API for ExternalDatabases over bare TCP on loopback, that can reset, stall and lie on the wire: what a
 * proper HTTP server would not let a test do.
 *
 * @module
 */
import type { ExternalDatabase } from "../../src/api/schema.ts";

/** One request as it came. */
export interface WireRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

/** What a test wants done with a request instead of the proper answer. */
export type Misdeed =
  | "reset"
  /** Takes the request and never answers. */
  | "stall"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Sends the headers and half of the body, then resets. */
  | { readonly cut: string };

/** An open watch. */
export class WireWatch {
  ended = false;
  constructor(readonly url: URL, readonly conn: Deno.Conn, readonly from: string) {}

  /** Sends text in one chunk, whole lines or not. */
  async raw(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    await write(this.conn, `${bytes.length.toString(16)}\r\n${text}\r\n`);
  }

  send(type: string, object: unknown): Promise<void> {
    return this.raw(JSON.stringify({ type, object }) + "\n");
  }

  bookmark(resourceVersion: number): Promise<void> {
    return this.send("BOOKMARK", {
      kind: "ExternalDatabase",
      metadata: { resourceVersion: String(resourceVersion) },
    });
  }

  /** Ends the stream as a server does at its time-out. */
  async end(): Promise<void> {
    this.ended = true;
    await write(this.conn, "0\r\n\r\n").catch(() => {});
    close(this.conn);
  }

  /** Breaks the stream in the middle. */
  break(): void {
    this.ended = true;
    close(this.conn);
  }
}

/** The server. `objects` and `version` are the world; every change through {@linkcode put} and {@linkcode remove} is told to open watches. */
export class LoopbackApi {
  readonly objects = new Map<string, ExternalDatabase>();
  readonly requests: WireRequest[] = [];
  readonly watches: WireWatch[] = [];
  version = 100;
  /** What lists show instead, as those of a server that lags do. */
  lagging: { readonly objects: readonly ExternalDatabase[]; readonly version: number } | undefined;
  /** Looked at for every request; `undefined` gives the proper answer. */
  misdeed: (request: WireRequest) => Misdeed | undefined = () => undefined;
  /** So many connects are closed before a byte is read, which the client sees as a reset. */
  refuse = 0;
  /** Events that open watches are not told of while it is false. */
  telling = true;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #conns = new Set<Deno.Conn>();
  readonly #serving: Promise<void>;
  readonly #history: { version: number; type: string; object: ExternalDatabase }[] = [];

  constructor() {
    this.#serving = this.#serve();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  /** Open watches that have not ended. */
  get open(): WireWatch[] {
    return this.watches.filter((watch) => !watch.ended);
  }

  lists(): WireRequest[] {
    return this.requests.filter((r) =>
      r.method === "GET" && r.url.pathname.endsWith("/externaldatabases") && !isWatch(r)
    );
  }

  /** Creates or changes an object; the UID is made from the name and `generation` of names. */
  async put(
    name: string,
    uid = `uid-${name}`,
    fields: Partial<ExternalDatabase> = {},
  ): Promise<ExternalDatabase> {
    const known = this.objects.get(name);
    const object: ExternalDatabase = {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabase",
      spec: { engine: "postgres", version: "14.2", sizeGb: 20 },
      ...fields,
      metadata: {
        namespace: "default",
        generation: 1,
        ...fields.metadata,
        name,
        uid,
        resourceVersion: String(++this.version),
      },
    };
    this.objects.set(name, object);
    await this.#tell(known?.metadata.uid === uid ? "MODIFIED" : "ADDED", object);
    return object;
  }

  async remove(name: string): Promise<void> {
    const known = this.objects.get(name);
    if (!known) throw new Error(`there is no ${name}`);
    this.objects.delete(name);
    const metadata = { ...known.metadata, resourceVersion: String(++this.version) };
    await this.#tell("DELETED", { ...known, metadata });
  }

  async close(): Promise<void> {
    this.#listener.close();
    for (const conn of this.#conns) close(conn);
    await this.#serving;
  }

  async #tell(type: string, object: ExternalDatabase): Promise<void> {
    this.#history.push({ version: this.version, type, object });
    if (this.telling) {
      for (const watch of this.open) await watch.send(type, object).catch(() => watch.break());
    }
  }

  async #serve(): Promise<void> {
    const handling = new Set<Promise<void>>();
    try {
      for await (const conn of this.#listener) {
        if (this.refuse > 0) {
          this.refuse--;
          close(conn);
          continue;
        }
        this.#conns.add(conn);
        const handled = this.#connection(conn).catch(() => {}).finally(() => {
          handling.delete(handled);
          this.#conns.delete(conn);
        });
        handling.add(handled);
      }
    } catch { /* closed */ }
    await Promise.all(handling);
  }

  async #connection(conn: Deno.Conn): Promise<void> {
    const reader = new WireReader(conn);
    let held = false;
    try {
      for (;;) {
        const request = await reader.request();
        if (!request) return;
        this.requests.push(request);
        const misdeed = this.misdeed(request);
        if (misdeed === "reset") return;
        if (misdeed === "stall") {
          held = true;
          return await reader.drain();
        }
        if (misdeed && "cut" in misdeed) {
          await write(
            conn,
            `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n${misdeed.cut}`,
          );
          return;
        }
        if (misdeed) {
          await respond(conn, misdeed.status, misdeed.body ?? "", misdeed.headers);
          continue;
        }
        if (isWatch(request)) {
          held = true;
          return await this.#watch(request, conn, reader);
        }
        await this.#answer(request, conn);
      }
    } finally {
      if (!held) close(conn);
    }
  }

  async #watch(request: WireRequest, conn: Deno.Conn, reader: WireReader): Promise<void> {
    const from = request.url.searchParams.get("resourceVersion") ?? "0";
    await write(
      conn,
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    const watch = new WireWatch(request.url, conn, from);
    for (const event of this.#history) {
      if (event.version > Number(from) && this.telling) await watch.send(event.type, event.object);
    }
    this.watches.push(watch);
    await reader.drain(); // until the client goes
    watch.ended = true;
    close(conn);
  }

  async #answer(request: WireRequest, conn: Deno.Conn): Promise<void> {
    const parts = request.url.pathname.split("/").filter(Boolean);
    if (parts.at(-1) === "externaldatabases") {
      const limit = Number(request.url.searchParams.get("limit") ?? "0") || Infinity;
      const start = Number(request.url.searchParams.get("continue") ?? "0");
      const { version, objects } = this.lagging ??
        { version: this.version, objects: [...this.objects.values()] };
      const all = objects;
      const items = all.slice(start, start + limit);
      const more = start + limit < all.length;
      const metadata = {
        resourceVersion: String(version),
        ...(more ? { continue: String(start + limit) } : {}),
      };
      return await respond(conn, 200, JSON.stringify({ kind: "ExternalDatabaseList", metadata, items }));
    }
    const object = this.objects.get(parts.at(-1) ?? "");
    if (!object) {
      const status = {
        kind: "Status",
        status: "Failure",
        message: `"${parts.at(-1)}" not found`,
        reason: "NotFound",
        code: 404,
      };
      return await respond(conn, 404, JSON.stringify(status));
    }
    await respond(conn, 200, JSON.stringify(object));
  }
}

/** Whether a request opens a watch. */
export function isWatch(request: WireRequest): boolean {
  return request.url.searchParams.get("watch") === "true";
}

class WireReader {
  #buffer = "";
  constructor(readonly conn: Deno.Conn) {}

  async request(): Promise<WireRequest | undefined> {
    let end: number;
    while ((end = this.#buffer.indexOf("\r\n\r\n")) < 0) if (!await this.#more()) return undefined;
    const [first = "", ...rest] = this.#buffer.slice(0, end).split("\r\n");
    this.#buffer = this.#buffer.slice(end + 4);
    const headers = new Headers(rest.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as [string, string];
    }));
    const length = Number(headers.get("content-length") ?? "0");
    while (this.#buffer.length < length) if (!await this.#more()) return undefined;
    const body = this.#buffer.slice(0, length);
    this.#buffer = this.#buffer.slice(length);
    const [method = "", path = "/"] = first.split(" ");
    return { method, url: new URL(path, "http://loopback"), headers, body };
  }

  /** Reads until the client goes. */
  async drain(): Promise<void> {
    while (await this.#more());
  }

  async #more(): Promise<boolean> {
    const bytes = new Uint8Array(16_384);
    const n = await this.conn.read(bytes).catch(() => null);
    if (n === null) return false;
    this.#buffer += new TextDecoder().decode(bytes.subarray(0, n)); // tests send ASCII
    return true;
  }
}

async function respond(
  conn: Deno.Conn,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const length = new TextEncoder().encode(body).length;
  const all = { "content-type": "application/json", ...headers, "content-length": String(length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  await write(conn, `HTTP/1.1 ${status} X\r\n${lines}\r\n${body}`);
}

async function write(conn: Deno.Conn, text: string): Promise<void> {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(await conn.write(bytes));
}

function close(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch { /* closed already */ }
}
