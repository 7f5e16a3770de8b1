import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { followPair, LOOK_MS, type Pair, PairError, readPair } from "../../src/server/certificate.ts";
import { type Listener, openListener } from "../../src/server/listener.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";
import { selfSigned, type TestPair } from "../support/self_signed.ts";

const NOW = systemClock.now();

interface Folder {
  readonly certFile: string;
  readonly keyFile: string;
  write(pair: Partial<TestPair>): Promise<void>;
}

async function inFolder(work: (folder: Folder) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const [certFile, keyFile] = [`${directory}/tls.crt`, `${directory}/tls.key`];
  try {
    await work({
      certFile,
      keyFile,
      async write({ cert, key }) {
        if (cert !== undefined) await Deno.writeTextFile(certFile, cert);
        if (key !== undefined) await Deno.writeTextFile(keyFile, key);
      },
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** What the server at `port` answers a client that trusts `trusted` alone; the error where it does not trust. */
async function ask(port: number, trusted: string): Promise<string> {
  using client = Deno.createHttpClient({ caCerts: [trusted] });
  try {
    return await (await fetch(`https://127.0.0.1:${port}/`, { client } as RequestInit)).text();
  } catch (error) {
    return `refused: ${(error as { cause?: unknown }).cause ?? error}`;
  }
}

async function withListener(
  pair: Pair,
  work: (listener: Listener, port: number) => Promise<void>,
  handle = () => Promise.resolve(new Response("hello")),
  port = 0,
): Promise<void> {
  const listener = await openListener({
    listen: { hostname: "127.0.0.1", port },
    clock: systemClock,
    pair,
    handle,
    failed: () => new Response("failed", { status: 500 }),
  });
  try {
    await work(listener, listener.address.port);
  } finally {
    await listener.close(1_000);
  }
}

Deno.test("a pair that cannot be used is refused with the file at fault", () =>
  inFolder(async ({ write, ...files }) => {
    const [one, two] = [await selfSigned("one", NOW), await selfSigned("two", NOW)];
    for (let i = 0; i < 50; i++) { // whichever of the two is read first
      await assertRejects(() => readPair(files), PairError, "Reading the file of --tls-cert-file failed");
    }
    await write(one);
    assertEquals((await readPair(files)).cert, one.cert);
    await write({ key: two.key });
    await assertRejects(() => readPair(files), PairError, "do not belong together");
    await write({ key: one.cert });
    await assertRejects(() => readPair(files), PairError, "--tls-key-file");
    await write({ cert: "no certificate", key: one.key });
    const error = await assertRejects(() => readPair(files), PairError, "--tls-cert-file");
    assert(!error.message.includes("PRIVATE"), "no key in an error");
  }));

Deno.test("a rotated pair is used by new connections, while a stream that is open goes on to its end", async () => {
  const [one, two] = [await selfSigned("one", NOW), await selfSigned("two", NOW)];
  const end = Promise.withResolvers<void>();
  const handle = () =>
    Promise.resolve(
      new Response(
        new ReadableStream<Uint8Array>({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode("begun, "));
            await end.promise;
            controller.enqueue(new TextEncoder().encode("ended"));
            controller.close();
          },
        }),
      ),
    );
  await withListener({ ...one, expiresAt: 0 }, async (listener, port) => {
    using client = Deno.createHttpClient({ caCerts: [one.cert] });
    const stream = await fetch(`https://127.0.0.1:${port}/`, { client } as RequestInit);
    listener.replace({ ...two, expiresAt: 0 });
    const text = stream.text();
    end.resolve();
    assertEquals(await text, "begun, ended");
    assertEquals(await ask(port, two.cert), "begun, ended");
    assertMatch(await ask(port, one.cert), /refused: .*(certificate|UnknownIssuer)/);
  }, handle);
});

Deno.test("while the pair is changed no connection is refused, nor any request that comes meanwhile", async () => {
  const pairs = [await selfSigned("one", NOW), await selfSigned("two", NOW)];
  await withListener({ ...pairs[0]!, expiresAt: 0 }, async (listener, port) => {
    const trusted = pairs.map(({ cert }) => cert);
    const asked: Promise<string>[] = [];
    for (let i = 1; i <= 20; i++) {
      for (let k = 0; k < 4; k++) asked.push(askAny(port, trusted));
      listener.replace({ ...pairs[i % 2]!, expiresAt: 0 });
      for (let k = 0; k < 4; k++) asked.push(askAny(port, trusted));
      await asked.at(-1);
    }
    assertEquals(new Set(await Promise.all(asked)), new Set(["hello"]));
  });
});

/** What the server answers over a new connection to a client that trusts all of these. */
async function askAny(port: number, trusted: string[]): Promise<string> {
  using client = Deno.createHttpClient({ caCerts: trusted, poolMaxIdlePerHost: 0 });
  return await fetch(`https://127.0.0.1:${port}/`, { client } as RequestInit).then((r) => r.text(), String);
}

/** A port that the system thinks free. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

const PORT = freePort();
Deno.test({
  name: "a pair is changed by a process that may listen on its own port and on no other",
  permissions: { net: [`127.0.0.1:${PORT}`] },
  async fn() {
    const [one, two] = [await selfSigned("one", NOW), await selfSigned("two", NOW)];
    await withListener(
      { ...one, expiresAt: 0 },
      async (listener, port) => {
        listener.replace({ ...two, expiresAt: 0 });
        assertEquals(await ask(port, two.cert), "hello");
      },
      undefined,
      PORT,
    );
  },
});

Deno.test({
  name: "an address that the process may not listen on, or that is none, is an error that can be caught",
  permissions: { net: [`localhost:${PORT}`, `127.0.0.2:${PORT}`, "192.0.2.1"] },
  async fn() {
    const listening = (hostname: string) =>
      openListener({
        listen: { hostname, port: PORT },
        clock: systemClock,
        handle: () => Promise.resolve(new Response("hello")),
        failed: () => new Response("failed", { status: 500 }),
      });
    await assertRejects(() => listening("0.0.0.0"), Deno.errors.NotCapable);
    // It is by its address that a name is allowed.
    await assertRejects(() => listening("localhost"), Deno.errors.NotCapable, `--allow-net=`);
    await assertRejects(() => listening("192.0.2.1"), Deno.errors.AddrNotAvailable);
    const listener = await listening("127.0.0.2");
    await assertRejects(() => listening("127.0.0.2"), Deno.errors.AddrInUse);
    await listener.close(0);
  },
});

Deno.test("a pair that the server refuses leaves the one before in use", async () => {
  const [one, two] = [await selfSigned("one", NOW), await selfSigned("two", NOW)];
  await withListener({ ...one, expiresAt: 0 }, async (listener, port) => {
    assertThrows(() => listener.replace({ cert: one.cert, key: two.key, expiresAt: 0 }));
    assertEquals(await ask(port, one.cert), "hello");
  });
});

Deno.test("a pair that the server refuses costs no connection that is open", async () => {
  const [one, two] = [await selfSigned("one", NOW), await selfSigned("two", NOW)];
  await withListener({ ...one, expiresAt: 0 }, async (listener, port) => {
    using connection = await Deno.connectTls({ hostname: "127.0.0.1", port, caCerts: [one.cert] });
    const again = async () => {
      await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"));
      const buffer = new Uint8Array(4_096);
      const n = await connection.read(buffer);
      return new TextDecoder().decode(buffer.subarray(0, n ?? 0));
    };
    assertMatch(await again(), /hello/);
    assertThrows(() => listener.replace({ cert: one.cert, key: two.key, expiresAt: 0 }));
    assertMatch(await again(), /hello/);
  });
});

Deno.test("files are looked at; a changed pair is used once, a bad one is told once and the one before stays", () =>
  inFolder(async ({ write, ...files }) => {
    const [one, two, three] = [
      await selfSigned("one", NOW),
      await selfSigned("two", NOW),
      await selfSigned("three", NOW),
    ];
    await write(one);
    const clock = new ManualClock();
    const abort = new AbortController();
    const used: string[] = [];
    const lines: string[] = [];
    let failures = 0;
    let looks = 0;
    const following = followPair({
      ...files,
      current: await readPair(files),
      clock: {
        ...clock,
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        clearTimeout: (id) => clock.clearTimeout(id),
        setTimeout: (fn, ms) => {
          looks++;
          return clock.setTimeout(fn, ms);
        },
      },
      log: { log: (level, message) => void lines.push(`${level} ${message}`) },
      use: (pair) => void used.push(pair.cert),
      onFailure: () => failures++,
    }, abort.signal);
    const look = async () => {
      const before = looks;
      await clock.advance(LOOK_MS);
      while (looks === before) await settle(); // it reads files
    };
    await look();
    assertEquals(used, []);
    await write(two);
    await look();
    await look();
    assertEquals(used, [two.cert]);
    await write({ cert: three.cert });
    await look();
    await look();
    assertEquals([used.length, failures], [1, 1]);
    assertEquals(lines.filter((line) => line.startsWith("error")), [
      "error The server's new certificate cannot be used; the one before stays",
    ]);
    await write({ key: three.key });
    await look();
    assertEquals(used, [two.cert, three.cert]);
    abort.abort();
    await following;
    assertEquals(clock.pending, 0);
  }));

/** What the server answers to a hello of at most this version of TLS: its first record's type and bytes. */
async function hello(port: number, version: number): Promise<Uint8Array> {
  const random = crypto.getRandomValues(new Uint8Array(32));
  // One suite that all versions know, P-256 and its signatures; no supported_versions, so `version` is the highest.
  const suites = [0x00, 0x04, 0xc0, 0x2b, 0xc0, 0x2f];
  const extensions = [
    ...[0x00, 0x0a, 0x00, 0x04, 0x00, 0x02, 0x00, 0x17],
    ...[0x00, 0x0b, 0x00, 0x02, 0x01, 0x00],
    ...[0x00, 0x0d, 0x00, 0x04, 0x00, 0x02, 0x04, 0x03],
    ...[0x00, 0x17, 0x00, 0x00],
  ];
  const body = [0x03, version, ...random, 0, ...suites, 1, 0, 0, extensions.length, ...extensions];
  const handshake = [1, 0, 0, body.length, ...body];
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(Uint8Array.from([0x16, 0x03, 0x01, 0, handshake.length, ...handshake]));
  const answer = new Uint8Array(64);
  const n = await connection.read(answer) ?? 0;
  return answer.subarray(0, n);
}

Deno.test("TLS older than 1.2 is refused with an alert, 1.2 is spoken", async () => {
  const one = await selfSigned("one", NOW);
  await withListener({ ...one, expiresAt: 0 }, async (_, port) => {
    const [ALERT, HANDSHAKE, PROTOCOL_VERSION] = [0x15, 0x16, 70];
    for (const old of [1, 2]) {
      const answer = await hello(port, old);
      assertEquals([answer[0], answer[6]], [ALERT, PROTOCOL_VERSION], `TLS 1.${old - 1}`);
    }
    assertEquals((await hello(port, 3))[0], HANDSHAKE);
  });
});
