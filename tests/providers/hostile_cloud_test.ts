import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { printable } from "../../src/providers/classify.ts";
import { createHttpProvider } from "../../src/providers/http.ts";
import { pages } from "../../src/providers/paging.ts";
import type { DatabaseProvider } from "../../src/providers/port.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { http, type RawAnswer, type RawRequest, serveRaw } from "./raw_server.ts";

const CALL = { signal: new AbortController().signal };
const REQUEST = {
  name: "o",
  engine: "postgres",
  version: "14",
  sizeGb: 1,
  tags: { t: "1" },
  clientToken: "u-1",
};
const DATABASE = {
  id: "db-1",
  name: "o",
  engine: "postgres",
  version: "14",
  sizeGb: 1,
  state: "Available",
  endpoint: "h:1",
  tags: { t: "1" },
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};

async function on(
  answer: (request: RawRequest) => RawAnswer,
  body: (provider: DatabaseProvider, requests: readonly RawRequest[]) => Promise<void>,
  timeoutMs = 5_000,
): Promise<void> {
  const server = serveRaw(answer);
  try {
    await body(createHttpProvider({ url: server.url, clock: systemClock, timeoutMs }), server.requests);
  } finally {
    await server.close();
  }
}

async function outcome(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "ok";
  } catch (error) {
    assertInstanceOf(error, ProviderError);
    assert(error.message.length <= 512 && printable(error.message, 512) === error.message, error.message);
    return error.errorClass;
  }
}

/** Classes of create, modify, delete, get, list and info, one after the other. */
async function outcomes(provider: DatabaseProvider): Promise<string> {
  const all = [
    () => provider.create(REQUEST, CALL),
    () => provider.modify("db-1", { sizeGb: 2 }, CALL),
    () => provider.delete("db-1", CALL),
    () => provider.get("db-1", CALL),
    () => provider.list({ ...CALL, tags: { t: "1" } }),
    () => provider.info(CALL),
  ];
  const result: string[] = [];
  for (const send of all) result.push(await outcome(send()));
  return result.join(" ");
}

const LOST = "unknown unknown unknown retryable retryable retryable";

const BROKEN: Record<string, () => RawAnswer> = {
  "closes without an answer": () => ({ then: "close" }),
  "closes in the middle of the head": () => ({ bytes: "HTTP/1.1 200 OK\r\ncontent-le", then: "close" }),
  "closes in the middle of the body": () => ({ bytes: http(200, '{"id": "db-', {}, 500), then: "close" }),
  "answers what is not HTTP": () => ({ bytes: "SSH-2.0-OpenSSH_9.2\r\n", then: "close" }),
  "answers half of a JSON text": () => ({ bytes: http(200, '{"id": "db-1", "na') }),
  "answers JSON of another shape": () => ({ bytes: http(200, "[1,2,3]") }),
  "answers null": () => ({ bytes: http(200, "null") }),
  "answers garbage": () => ({ bytes: http(200, "\u0000\u001b[31m\u0007{{{") }),
  "answers HTML with 200": () => ({
    bytes: http(200, "<html>Sign in</html>", { "content-type": "text/html" }),
  }),
  "answers HTML with 502": () => ({
    bytes: http(502, "<html>Bad gateway</html>", { "content-type": "text/html" }),
  }),
  "answers 500 with nothing": () => ({ bytes: http(500, "") }),
  "answers a body that says it is huge": () => ({ bytes: http(200, "{", {}, 50_000_000) }),
};

for (const [what, answer] of Object.entries(BROKEN)) {
  Deno.test(`a cloud that ${what} leaves mutations unknown and reads to be tried again`, async () => {
    await on(answer, async (provider) => {
      assertEquals(await outcomes(provider), LOST);
    });
  });
}

Deno.test("a cloud that never answers costs the time-out and no more", async () => {
  await on(() => ({ then: "hang" }), async (provider) => {
    const begin = performance.now();
    assertEquals(await outcomes(provider), LOST);
    assert(performance.now() - begin < 5_000);
  }, 100);
});

Deno.test("a cloud that drips its answer byte by byte costs the time-out and no more", async () => {
  await on(() => ({ bytes: http(200, JSON.stringify(DATABASE)), dripMs: 5 }), async (provider) => {
    const begin = performance.now();
    assertEquals(await outcome(provider.get("db-1", CALL)), "retryable");
    assertEquals(await outcome(provider.create(REQUEST, CALL)), "unknown");
    assert(performance.now() - begin < 4_000);
  }, 150);
});

Deno.test("S1, rule 21: a mutation is sent once, though the platform's fetch would repeat it on a reused connection", async () => {
  let good = true;
  const answer = (): RawAnswer => good ? { bytes: http(200, JSON.stringify(DATABASE)) } : { then: "close" };
  await on(answer, async (provider, requests) => {
    const mutations = [
      () => provider.create(REQUEST, CALL),
      () => provider.modify("db-1", { sizeGb: 2 }, CALL),
      () => provider.delete("db-1", CALL),
    ];
    for (const send of mutations) {
      good = true; // so that there are connections that could be reused, had they been kept
      assertEquals(await outcome(provider.get("db-1", CALL)), "ok");
      assertEquals(await outcome(send()), "ok");
      good = false;
      assertEquals(await outcome(send()), "unknown");
    }
    for (const method of ["POST", "PATCH", "DELETE"]) {
      assertEquals(requests.filter((r) => r.line.startsWith(method)).length, 2, method);
    }
  });
});

Deno.test("an answer without a length is cut at the bound", async () => {
  const chunk = `fffff\r\n${" ".repeat(0xfffff)}\r\n`;
  const bytes = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(11)}`;
  await on(() => ({ bytes, then: "hang" }), async (provider) => {
    const error = await provider.get("db-1", CALL).catch((e: ProviderError) => e);
    assertInstanceOf(error, ProviderError);
    assertEquals(error.code, "InvalidAnswer");
  });
});

Deno.test("redirects are not followed: neither the token nor the create goes elsewhere", async () => {
  const elsewhere = serveRaw(() => ({ bytes: http(201, JSON.stringify(DATABASE)) }));
  try {
    for (const status of [301, 302, 303, 307, 308]) {
      await on(
        () => ({ bytes: http(status, "", { location: `${elsewhere.url}/v1/databases` }) }),
        async (provider) => {
          assertEquals(await outcomes(provider), Array(6).fill("retryable").join(" "));
        },
      );
    }
    assertEquals(elsewhere.requests.length, 0);
  } finally {
    await elsewhere.close();
  }
});

Deno.test("nobody listening is certainly no effect: mutations are to be tried again", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  const provider = createHttpProvider({ url, clock: systemClock });
  assertEquals(await outcomes(provider), Array(6).fill("retryable").join(" "));
});

Deno.test("A3: a 404 that is not the contract's says of no database that it is absent", async () => {
  for (
    const body of ["<h1>Not found</h1>", "", "{}", '{"error":"NotFound"}', '{"error":{"code":"NoSuchRoute"}}']
  ) {
    await on(() => ({ bytes: http(404, body) }), async (provider) => {
      assertEquals(await outcomes(provider), "retryable retryable retryable retryable retryable ok", body);
    });
  }
  const contract = '{"error":{"code":"NotFound","message":"gone"}}';
  await on(() => ({ bytes: http(404, contract) }), async (provider) => {
    assertEquals(await outcomes(provider), "retryable absent absent absent retryable ok");
  });
});

Deno.test("a page larger than the bound is refused, one of 10,000 items is taken", async () => {
  const items = (n: number) => Array.from({ length: n }, (_, i) => ({ ...DATABASE, id: `db-${i}` }));
  for (const [n, expected] of [[100_000, "retryable"], [10_000, "ok"]] as const) {
    await on(() => ({ bytes: http(200, JSON.stringify({ items: items(n) })) }), async (provider) => {
      assertEquals(await outcome(provider.list({ ...CALL, tags: { t: "1" } })), expected);
    });
  }
});

Deno.test("the content type does not matter, the content does", async () => {
  const bytes = http(200, JSON.stringify(DATABASE), { "content-type": "text/plain; charset=latin1" });
  await on(() => ({ bytes }), async (provider) => {
    assertEquals((await provider.get("db-1", CALL)).endpoint, "h:1");
  });
});

Deno.test("pages that go in a circle are an error and no complete list", async () => {
  const circle: Record<string, string> = { none: "a", a: "b", b: "a" };
  const answer = (request: RawRequest): RawAnswer => {
    const token = /pageToken=(\w+)/.exec(request.line)?.[1] ?? "none";
    return { bytes: http(200, JSON.stringify({ items: [], nextPageToken: circle[token] })) };
  };
  await on(answer, async (provider, requests) => {
    const all = async () => {
      for await (const _ of pages(provider, { ...CALL, tags: {} })) { /* only the end matters */ }
    };
    assertEquals(await outcome(all()), "retryable");
    assert(requests.length <= 4);
  });
  await on(() => ({ bytes: http(200, '{"items":[],"nextPageToken":"x"}') }), async (provider) => {
    assertEquals(await outcome(provider.list({ ...CALL, tags: {}, pageToken: "x" })), "retryable");
  });
});

Deno.test("S6: an unreadable database of ours hides no other and is told; a stranger's does not matter", async () => {
  const page = (bad: unknown) => http(200, JSON.stringify({ items: [DATABASE, bad] }));
  const list = (provider: DatabaseProvider) => provider.list({ ...CALL, tags: { t: "1" } });
  const ours: readonly (readonly [unknown, string | undefined, RegExp])[] = [
    [{ ...DATABASE, id: "db-2", sizeGb: "20" }, "db-2", /"db-2" is not valid \(sizeGb: /],
    [{ ...DATABASE, id: "db-2", tags: { t: "1", odd: 7 } }, "db-2", /"db-2" is not valid \(tags\.odd: /],
    [{ ...DATABASE, id: 7 }, undefined, /without a usable id \(id: /],
    [{ ...DATABASE, id: "db\u0000" }, undefined, /without a usable id \(id: /],
    [{}, undefined, /without a usable id/],
  ];
  for (const [bad, id, message] of ours) {
    await on(() => ({ bytes: page(bad) }), async (provider) => {
      const { items, unreadable = [] } = await provider.list({ ...CALL, tags: {} });
      assertEquals([items.map((d) => d.id), unreadable.map((u) => u.id)], [["db-1"], [id]]);
      assertMatch(unreadable[0]!.message, message);
      const all = pages(provider, { ...CALL, tags: {} });
      assertEquals(await outcome(all.next()), "retryable", "who must know of all is told of none");
    });
  }
  for (const bad of [null, 7, "db-2", [DATABASE]]) {
    await on(() => ({ bytes: page(bad) }), async (provider) => {
      assertEquals(await outcome(provider.list({ ...CALL, tags: {} })), "retryable", JSON.stringify(bad));
    });
  }
  await on(() => ({ bytes: page({ ...DATABASE, sizeGb: "20", tags: { t: "2" } }) }), async (provider) => {
    assertEquals((await list(provider)).items.map((d) => d.id), ["db-1"]);
  });
});

Deno.test("S3: a cloud that ignores the tag filter shows us nothing that is not ours", async () => {
  const items = [
    { ...DATABASE, id: "foreign", tags: {} },
    { ...DATABASE, id: "other", tags: { t: "2" } },
    DATABASE,
  ];
  await on(() => ({ bytes: http(200, JSON.stringify({ items })) }), async (provider) => {
    assertEquals((await provider.list({ ...CALL, tags: { t: "1" } })).items.map((d) => d.id), ["db-1"]);
  });
});

Deno.test("fields of the wrong type, another database, or an id that could not be recorded are no answer", async () => {
  const wrong = [
    { id: "" },
    { id: 7 },
    { id: "x".repeat(254) },
    { id: "db\u0000" },
    { id: "db-2" },
    { version: 14 },
    { sizeGb: 20.5 },
    { sizeGb: null },
    { state: "" },
    { tags: [] },
    { tags: { t: 1 } },
    { engine: undefined },
  ];
  for (const change of wrong) {
    await on(() => ({ bytes: http(200, JSON.stringify({ ...DATABASE, ...change })) }), async (provider) => {
      assertEquals(await outcome(provider.get("db-1", CALL)), "retryable", JSON.stringify(change));
      assertEquals(
        await outcome(provider.modify("db-1", { sizeGb: 2 }, CALL)),
        "unknown",
        JSON.stringify(change),
      );
    });
  }
});

Deno.test("S1: no database is unreadable for the time it was made, which only orders several of one CR", async () => {
  const made: [unknown, string][] = [
    ["2026-01-01T00:00:00.123456789+05:30", "2026-01-01T00:00:00.123456789+05:30"],
    ["2026-01-01t00:00:00z", "2026-01-01t00:00:00z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"],
    ["2017-01-01T05:29:60.5+05:30", "2017-01-01T05:29:59+05:30"],
    ["yesterday", "1970-01-01T00:00:00Z"],
    [1767225600, "1970-01-01T00:00:00Z"],
    [null, "1970-01-01T00:00:00Z"],
    [undefined, "1970-01-01T00:00:00Z"],
  ];
  for (const [createdAt, expected] of made) {
    await on(() => ({ bytes: http(200, JSON.stringify({ ...DATABASE, createdAt })) }), async (provider) => {
      const read = await provider.get("db-1", CALL);
      assertEquals(read.createdAt, expected);
      assert(!Number.isNaN(Date.parse(read.createdAt)));
    });
  }
});

Deno.test("unknown state words are waited out; absent optional fields are absent", async () => {
  const words = { "AVAILABLE": "Available", "storage-full": "Available", "Creating": "Provisioning" };
  for (
    const [word, state] of Object.entries({
      ...words,
      "hibernating": "Modifying",
      "incompatible-restore": "Modifying",
    })
  ) {
    const body = { ...DATABASE, state: word, endpoint: null, tags: undefined };
    await on(() => ({ bytes: http(200, JSON.stringify(body)) }), async (provider) => {
      const database = await provider.get("db-1", CALL);
      assertEquals([database.state, database.providerState], [state, word]);
      assertEquals(database.unknownState, state === "Modifying" ? true : undefined);
      assertEquals([database.endpoint, database.tags], [undefined, {}]);
    });
  }
});
