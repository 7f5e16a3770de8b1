/**
 * What comes over the wire and is no request, or more than one: every byte is read strictly.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { viewOf } from "../support/fleet_view.ts";
import { whileServed } from "../support/served.ts";

/** All that the server says to these bytes, until it closes or has said `answers` answers. */
async function said(url: string, bytes: string, answers = 1): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(bytes));
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (text.split("HTTP/1.1 ").length <= answers || !/\r\n\r\n/.test(text)) {
    const n = await connection.read(buffer).catch(() => null);
    if (n === null) break;
    text += new TextDecoder().decode(buffer.subarray(0, n));
  }
  return text;
}

function statuses(text: string): number[] {
  return [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
}

async function served(work: (url: string, asked: string[]) => Promise<void>): Promise<void> {
  const asked: string[] = [];
  await whileServed({
    view: viewOf(() => []),
    gate: {
      guard: (handle) => (request) => {
        asked.push(`${request.method} ${request.url}`);
        return handle(request);
      },
    },
  }, (url) => work(url, asked));
}

Deno.test("a request has one host, which is a host, and a path: all else is refused before anybody is asked", async () => {
  await served(async (url, asked) => {
    const bad = [
      "GET /healthz HTTP/1.1\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nHost: evil.example/@127.0.0.1\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nHost: evil.example#@127.0.0.1\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nHost: me@127.0.0.1\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:99999\r\n\r\n",
      "GET /healthz HTTP/1.1\r\nHost: \r\n\r\n",
      "GET http://127.0.0.1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      "TRACE /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      "GET /healthz HTTP/1.1\nHost 127.0.0.1\n\n",
      "GET /health\u0000z HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      `GET /?q=${"x".repeat(40_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${"x".repeat(40_000)}\r\n\r\n`,
    ];
    for (const bytes of bad) {
      const [status, ...more] = statuses(await said(url, bytes));
      assert([400, 414, 431].includes(status ?? 0), `${status}: ${bytes.slice(0, 80)}`);
      assertEquals(more, []);
    }
    assertEquals(asked, []);
  });
});

Deno.test("what follows a body, or hides in one, is never answered as a request", async () => {
  await served(async (url, asked) => {
    const hidden = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const heads = [
      `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${hidden.length}\r\n\r\n`,
      `GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${hidden.length}\r\n\r\n`,
      `GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n`,
      "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
      "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ];
    for (const head of heads) {
      const answered = await said(url, head + hidden + hidden, 9);
      assert(statuses(answered).length <= 1, `${statuses(answered)}: ${head}`);
      assert(!statuses(answered).includes(200), head);
    }
    assertEquals(asked.filter((request) => request.includes("healthz")), []);
  });
});

Deno.test("a path is looked up as it is: none leads out of the page's files or into another host", async () => {
  await served(async (url, asked) => {
    for (
      const path of [
        "//evil.example/healthz",
        "/\\evil.example/healthz",
        "/%",
        "/%ff%fe",
        "/api/databases/%2e%2e/%2e%2e/x",
        "/api/databases/%00/x",
        "/../../etc/passwd",
        "/assets/..%2f..%2fdeno.json",
        "/api/%2e%2e%2f",
      ]
    ) {
      const answer = await said(url, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      assertEquals(statuses(answer), [404], path);
    }
    assert(asked.every((request) => request.startsWith("GET http://127.0.0.1/")), asked.join("\n"));
  });
});

Deno.test("a loopback address answers to loopback names alone, IPv6 among them", async () => {
  await served(async (url) => {
    for (const host of ["127.0.0.1", "localhost", "[::1]", "LOCALHOST:8080", "127.1.2.3:1"]) {
      assertEquals(statuses(await said(url, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)), [200], host);
    }
    for (
      const host of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]", "10.0.0.1"]
    ) {
      assertEquals(statuses(await said(url, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)), [421], host);
    }
  });
});

Deno.test("so does one of all addresses, over loopback as a port-forward comes; by its other addresses it has any name", async () => {
  const other = Deno.networkInterfaces().find(({ family, address }) =>
    family === "IPv4" && !address.startsWith("127.")
  );
  const listen = { hostname: "0.0.0.0", port: 0 };
  const asked = (url: string, at: string, host: string) =>
    said(url.replace("127.0.0.1", at), `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`).then(statuses);
  await whileServed({ listen, view: viewOf(() => []) }, async (url) => {
    assertEquals(await asked(url, "127.0.0.1", "evil.example"), [421]);
    assertEquals(await asked(url, "127.0.0.1", "localhost:8080"), [200]);
    if (other !== undefined) assertEquals(await asked(url, other.address, "databases.example"), [200]);
  });
  // Who asks for a token gives none to another's page.
  await whileServed({ listen, view: viewOf(() => []), gate: { guard: (handle) => handle } }, async (url) => {
    assertEquals(await asked(url, "127.0.0.1", "databases.example"), [200]);
  });
});

Deno.test("HEAD has the head of its GET and no body, and an answer is nobody else's to read", async () => {
  await served(async (url) => {
    for (const path of ["/healthz", "/api/fleet", "/", "/metrics", "/api/stream"]) {
      const two = await said(
        url,
        `HEAD ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n` +
          "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        2,
      );
      assertEquals(statuses(two), [200, 404], path);
      const [head = ""] = two.split("\r\n\r\n");
      assert(!/access-control/i.test(head), "no other origin may read it");
      assertMatch(head, /cache-control: no-store/i);
    }
  });
});

Deno.test("a browser finds the challenge that it can answer on a line of its own", async () => {
  await whileServed({
    view: viewOf(() => []),
    gate: {
      guard: () => () => {
        const headers = new Headers();
        headers.append("www-authenticate", 'Bearer realm="x"');
        headers.append("www-authenticate", 'Basic realm="x: any name, a token as password"');
        return Promise.resolve(new Response("no\n", { status: 401, headers }));
      },
    },
  }, async (url) => {
    const answer = await said(url, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assertEquals([...answer.matchAll(/^www-authenticate: (\w+)/gim)].map(([, scheme]) => scheme), [
      "Bearer",
      "Basic",
    ]);
  });
});

Deno.test("an answer with a head that cannot be sent costs its connection alone, and is told", async () => {
  const errors: unknown[] = [];
  await whileServed({
    view: viewOf(() => []),
    onError: (error) => void errors.push(error),
    gate: {
      guard: (handle) => async (request) => {
        const answer = await handle(request);
        if (request.url.endsWith("/x")) answer.headers.set("x-odd", "\u0001");
        return answer;
      },
    },
  }, async (url) => {
    assertEquals(await said(url, "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "");
    assertEquals(errors.length, 1);
    assertEquals(statuses(await said(url, "GET /y HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")), [404]);
  });
});
