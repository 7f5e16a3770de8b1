/**
 * What clients can make the HTTP server hold: connections, and answers that nobody reads.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Clock } from "../../src/core/clock.ts";
import { ANSWER_MS, IDLE_MS, MAX_CONNECTIONS } from "../../src/server/connections.ts";
import { MAX_ANSWERS, type OperatorServer, type ServeOperatorOptions } from "../../src/server/http.ts";
import { eventually } from "../support/eventually.ts";
import { viewOf } from "../support/fleet_view.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { selfSigned } from "../support/self_signed.ts";
import { serveView } from "../support/served.ts";

/** More than the buffers of a socket, at both its ends, take. */
const BIG = "x".repeat(16_000_000);

interface World {
  readonly server: OperatorServer & { readonly url: string };
  readonly clock: ManualClock;
  /** A connection that has sent `text`, and reads nothing of itself. */
  open(text?: string): Promise<Deno.TcpConn>;
}

async function world(
  work: (world: World) => Promise<void>,
  options: Partial<ServeOperatorOptions> & { readonly clock?: Clock } = {},
): Promise<void> {
  const clock = new ManualClock();
  const server = await serveView({
    clock,
    view: viewOf(() => []),
    metrics: { render: () => Promise.resolve("up 1\n"), contentType: "text/plain" },
    chart: () => Promise.resolve({ big: BIG } as never),
    ...options,
  });
  const connections: Deno.TcpConn[] = [];
  try {
    await work({
      server,
      clock,
      async open(text = "") {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.address.port });
        connections.push(connection);
        await connection.write(new TextEncoder().encode(text));
        return connection;
      },
    });
  } finally {
    for (const connection of connections) connection.close();
    await server.close();
  }
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
}

/** Lets all in, but holds who asks for one path until the end. */
class HoldingGate {
  held = 0;
  let = 0;
  readonly end = Promise.withResolvers<void>();

  constructor(private readonly path = "/held") {}

  guard(handle: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
    return async (request) => {
      if (!request.url.endsWith(this.path)) return await handle(request);
      this.held++;
      await this.end.promise;
      const answer = await handle(request);
      this.let++;
      return answer;
    };
  }
}

/** The status of an answer over a connection of its own. */
async function status(url: string, path: string): Promise<number> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const answer = await fetch(url + path, { client } as RequestInit);
  await answer.body?.cancel();
  return answer.status;
}

/** Reads to the end, which the server made. */
async function rest(connection: Deno.TcpConn): Promise<string> {
  const text: string[] = [];
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  while (true) {
    const n = await connection.read(buffer).catch(() => null); // a reset
    if (n === null) return text.join("");
    text.push(decoder.decode(buffer.subarray(0, n), { stream: true }));
  }
}

Deno.test("a flood of connections holds no more than there may be, and keeps neither probe nor scrape out", async () => {
  await world(async ({ server, open }) => {
    for (let i = 0; i < MAX_CONNECTIONS + 200; i++) await open(i % 2 === 0 ? "" : "GET / HT");
    for (const path of ["/healthz", "/readyz", "/metrics"]) assertEquals(await status(server.url, path), 200);
    assert(server.connections <= MAX_CONNECTIONS, `${server.connections} are open`);
  });
});

Deno.test("in a flood one that asks nothing goes first, then one that is answered longest, and a stream of events stays", async () => {
  const gate = new HoldingGate();
  await world(async ({ server, open }) => {
    await open(get("/api/stream"));
    await eventually("it is open", () => server.streams === 1);
    const first = await open(get("/held"));
    await eventually("it is being answered", () => gate.held === 1);
    const idle = await open();
    for (let i = 3; i <= MAX_CONNECTIONS; i++) await open(get("/held"));
    assertEquals(await rest(idle), "");
    await eventually("all others are being answered", () => gate.held === MAX_CONNECTIONS - 1);
    assertEquals(server.connections, MAX_CONNECTIONS);
    assertEquals(await status(server.url, "/healthz"), 200);
    assertEquals([await rest(first), server.streams], ["", 1]);
    gate.end.resolve();
  }, { gate });
});

Deno.test("one that asks nothing is closed after a time, however often it sends a byte of its request", async () => {
  await world(async ({ server, clock, open }) => {
    const silent = await open();
    const trickles = await open("GET / HTTP/1.1\r\n");
    const asked = await open(get("/healthz"));
    await asked.read(new Uint8Array(1_000));
    await eventually("all are taken", () => server.connections === 3);
    for (let i = 0; i < 5; i++) {
      await clock.advance(IDLE_MS / 6);
      await trickles.write(new TextEncoder().encode("x"));
    }
    assertEquals(server.connections, 3);
    await clock.advance(IDLE_MS / 6 + 1);
    assertEquals([await rest(silent), await rest(trickles), await rest(asked)], ["", "", ""]);
    assertEquals([server.connections, clock.pending], [0, 0]);
  });
});

Deno.test("a client that begins no TLS is closed after a time", async () => {
  const clock = new ManualClock();
  const pair = await selfSigned("one", clock.now());
  await world(async ({ server, open }) => {
    const silent = await open();
    await eventually("it is taken", () => server.connections === 1);
    await clock.advance(IDLE_MS + 1);
    assertEquals([await rest(silent), server.connections], ["", 0]);
  }, { clock, pair: { ...pair, expiresAt: 0 } });
});

Deno.test("an answer that is not read is cut off after a time, and what it held is let go", async () => {
  await world(async ({ server, clock, open }) => {
    const slow = await open(get("/api/chart"));
    assertEquals(await slow.read(new Uint8Array(1)), 1);
    for (let i = 0; i < 9; i++) {
      await clock.advance(ANSWER_MS / 10);
      assertEquals(await slow.read(new Uint8Array(1)), 1, "a byte now and then");
    }
    assertEquals(server.connections, 1);
    await clock.advance(ANSWER_MS / 10 + 1);
    assertEquals([server.connections, clock.pending], [0, 0]);
    assert((await rest(slow)).length < BIG.length, "it is not taken for the whole");
  });
});

Deno.test("only so many answers are under way, before more are made, and probes and the scrape are not among them", async () => {
  await world(async ({ server, clock, open }) => {
    for (let i = 0; i < MAX_ANSWERS; i++) {
      const slow = await open(get("/api/chart"));
      await slow.read(new Uint8Array(1));
    }
    const refused = await fetch(`${server.url}/api/fleet`);
    assertEquals([refused.status, refused.headers.get("retry-after")], [503, "1"]);
    await refused.body?.cancel();
    for (const path of ["/healthz", "/metrics", "/api/stream"]) {
      assertEquals(await status(server.url, path), 200);
    }
    await clock.advance(ANSWER_MS + 1);
    await eventually("there is room again", async () => await status(server.url, "/api/fleet") === 200);
  });
});

Deno.test("one that asks again and again, before it was answered, is cut off", async () => {
  const gate = new HoldingGate();
  await world(async ({ server, open }) => {
    const connection = await open(get("/held").repeat(500));
    assertEquals(await rest(connection), "");
    assertEquals([gate.held, server.connections], [16, 0]);
    gate.end.resolve();
  }, { gate });
});

for (const path of ["/api/databases", "/plain"]) {
  Deno.test(`a flood of questions for the whole fleet leaves others half of the event loop: ${path}`, async () => {
    const took = 40;
    let made = 0;
    const clock = new ManualClock();
    const rows = () => {
      made++;
      clock.freeze(took);
      return [];
    };
    await world(async ({ server }) => {
      const all = Array.from({ length: 3 }, () => status(server.url, path));
      await eventually("one is answered", () => made === 1);
      assertEquals(await status(server.url, "/healthz"), 200);
      assertEquals(made, 1, "the next has to wait");
      while (made < 3) await clock.advance(took);
      assertEquals(await Promise.all(all), [200, 200, 200]);
    }, { clock, view: { ...viewOf(() => []), rows } });
  });
}

Deno.test("a stream that is cut off, as its client reads nothing, holds no connection", async () => {
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  await world(async ({ server, open }) => {
    const silent = await open(get("/api/stream"));
    await silent.read(new Uint8Array(1));
    await eventually("no more goes out", () => (source?.desiredSize ?? 0) < 0);
    source?.error(new Error("The client does not read"));
    await eventually("it is gone", () => server.connections === 0);
    assert(!(await rest(silent)).endsWith("0\r\n\r\n"), "and it is seen to be cut off");
  }, {
    gate: {
      guard: () => () =>
        Promise.resolve(
          new Response(
            new ReadableStream<Uint8Array>({
              start: (controller) => {
                source = controller;
                for (let i = 0; i < 16; i++) {
                  controller.enqueue(new TextEncoder().encode(BIG.slice(0, 1_000_000)));
                }
              },
            }),
            { headers: { "content-type": "text/event-stream" } },
          ),
        ),
    },
  });
});

Deno.test("one that goes before its stream begins is no reader of it", async () => {
  const gate = new HoldingGate("/api/stream");
  await world(async ({ server }) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.address.port });
    await connection.write(new TextEncoder().encode(get("/api/stream")));
    await eventually("it is held", () => gate.held === 1);
    connection.close();
    await eventually("it is gone", () => server.connections === 0);
    gate.end.resolve();
    await eventually("the stream was begun", () => gate.let === 1);
    await eventually("and ended", () => server.streams === 0);
  }, { gate });
});
