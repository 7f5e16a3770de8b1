import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createHttpProvider } from "../../src/providers/http.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { createProvider } from "../../src/providers/registry.ts";
import { seededRandom } from "../../src/core/random.ts";
import { VirtualClock } from "./virtual_clock.ts";

const CALL = { signal: new AbortController().signal };
const DATABASE = {
  id: "db-1",
  name: "o",
  engine: "postgres",
  version: "14",
  sizeGb: 1,
  state: "Available",
  tags: {},
  createdAt: "2026-01-01T00:00:00Z",
};

interface Sent {
  url: string;
  init: RequestInit;
}

/** A provider whose fetch answers with `answer` and keeps what was sent. */
function stage(answer: (sent: Sent) => Response, options: Record<string, unknown> = {}) {
  const sent: Sent[] = [];
  const clock = new VirtualClock();
  const fetch = (url: string, init: RequestInit) => {
    sent.push({ url, init });
    return Promise.resolve(answer({ url, init }));
  };
  const provider = createHttpProvider({ url: "http://cloud.test/base/", clock, fetch, ...options });
  return { provider, sent, clock };
}

function authorization(sent: Sent | undefined): string | null {
  return new Headers(sent?.init.headers).get("authorization");
}

Deno.test("ids, tags and page tokens are percent-encoded, and the base path is kept", async () => {
  const { provider, sent } = stage(({ url }) =>
    Response.json(url.includes("?") ? { items: [] } : { ...DATABASE, id: "a/b ?" })
  );
  await provider.get("a/b ?", CALL);
  await provider.list({ ...CALL, tags: { "k/x": "a=b&c d" }, pageToken: "p&=", limit: 5 });
  assertEquals(sent.map((s) => s.url), [
    "http://cloud.test/base/v1/databases/a%2Fb%20%3F",
    "http://cloud.test/base/v1/databases?tag=k%2Fx%3Da%3Db%26c%20d&limit=5&pageToken=p%26%3D",
  ]);
  assertEquals(sent[0]?.init.redirect, "manual");
});

Deno.test("S6: a page whose items are null is empty, one without items is no page", async () => {
  const page = (body: unknown) => stage(() => Response.json(body)).provider.list({ ...CALL, tags: {} });
  assertEquals((await page({ items: null, nextPageToken: null })).items, []);
  const error = await assertRejects(() => page({ nextPageToken: null }), ProviderError);
  assertEquals(error.errorClass, "retryable");
});

Deno.test("S1: an id that no status can hold as it is, half of a surrogate pair, is none: a create that answers it is unknown", async () => {
  const { provider } = stage(() => Response.json({ ...DATABASE, id: "db-\ud83d" }));
  const request = { name: "o", engine: "postgres", version: "14", sizeGb: 1, tags: {}, clientToken: "t" };
  const error = await assertRejects(() => provider.create(request, CALL), ProviderError);
  assertEquals(error.errorClass, "unknown");
});

Deno.test("F5: a token file is re-read after a 401, trimmed, and never quoted", async () => {
  let content = "old-secret-token\n";
  let reads = 0;
  const { provider, sent } = stage(
    ({ init }) =>
      new Headers(init.headers).get("authorization") === "Bearer new-secret-token"
        ? Response.json(DATABASE)
        : Response.json({ error: { code: "Unauthenticated", message: "old-secret-token is\nexpired" } }, {
          status: 401,
        }),
    {
      tokenFile: "/token",
      readFile: () => {
        reads++;
        return Promise.resolve(content);
      },
    },
  );
  const error = await assertRejects(() => provider.get("db-1", CALL), ProviderError);
  assertEquals(error.errorClass, "unauthorised");
  assertEquals(error.message, "Reading the database: Unauthenticated: [token] is\\u000aexpired");
  content = "  new-secret-token\r\n";
  await provider.get("db-1", CALL);
  await provider.get("db-1", CALL);
  assertEquals(reads, 2);
  assertEquals(sent.map(authorization), [
    "Bearer old-secret-token",
    "Bearer new-secret-token",
    "Bearer new-secret-token",
  ]);
});

Deno.test("a token file is read again after a minute, and its absence is unauthorised, with nothing sent", async () => {
  let content: string | undefined = "one";
  const readFile = () =>
    content === undefined ? Promise.reject(new Error("ENOENT")) : Promise.resolve(content);
  const { provider, sent, clock } = stage(() => Response.json(DATABASE), { tokenFile: "/t", readFile });
  await provider.get("db-1", CALL);
  content = "two";
  await clock.advance(60_000);
  await provider.get("db-1", CALL);
  assertEquals(sent.map(authorization), ["Bearer one", "Bearer two"]);
  for (const bad of [undefined, "", "two words", "a\nb"]) {
    content = bad;
    await clock.advance(60_000);
    let fenced = 0;
    const create = provider.create({ ...DATABASE, clientToken: "t" }, {
      ...CALL,
      beforeSend: () => fenced++,
    });
    const error = await assertRejects(() => create, ProviderError);
    assertEquals([error.errorClass, fenced], ["unauthorised", 0]);
    const why = bad === undefined ? "ENOENT" : "it is empty, too long, or";
    assertStringIncludes(
      error.message,
      `Creating the database: no token to send. Reading the token file "/t": ${why}`,
    );
    assert(!error.message.includes("two words"));
  }
  assertEquals(sent.length, 2);
});

Deno.test("a token file that does not answer costs five seconds, and the call says which it is", async () => {
  const { provider, sent, clock } = stage(() => Response.json(DATABASE), {
    tokenFile: "/net/t",
    readFile: () => new Promise(() => {}),
  });
  const error = await assertRejects(() => clock.until(provider.get("db-1", CALL)), ProviderError);
  assertEquals([error.errorClass, sent.length], ["unauthorised", 0]);
  assertStringIncludes(error.message, 'Reading the token file "/net/t": no answer within 5000 ms');
});

Deno.test("an account's description is taken field by field, the safe value for what makes no sense", async () => {
  const info = async (body: unknown) => {
    const { account, clientTokens, readLagSeconds, effectBoundSeconds } = await stage(() =>
      Response.json(body)
    ).provider.info(CALL);
    return [account, clientTokens, readLagSeconds, effectBoundSeconds];
  };
  assertEquals(await info({ account: "a", clientTokens: true, readLagSeconds: 1.5, effectBoundSeconds: 0 }), [
    "a",
    true,
    1.5,
    0,
  ]);
  assertEquals(await info({}), [undefined, false, 15, 30]);
  assertEquals((await info({ account: 123456789012 }))[0], "123456789012", "a number names an account too");
  const wrong = { account: "", clientTokens: "yes", readLagSeconds: -1, effectBoundSeconds: "10" };
  assertEquals(await info(wrong), [undefined, false, 15, 30]);
  for (const body of [null, [], "x"]) {
    const error = await assertRejects(
      () => stage(() => Response.json(body)).provider.info(CALL),
      ProviderError,
    );
    assertEquals(error.errorClass, "retryable", JSON.stringify(body));
  }
});

Deno.test("a throttled call says how long to wait", async () => {
  const { provider } = stage(() =>
    new Response("slow down", { status: 429, headers: { "retry-after": "40" } })
  );
  const error = await assertRejects(() => provider.get("db-1", CALL), ProviderError);
  assertEquals([error.errorClass, error.retryAfterMs], ["throttled", 40_000]);
});

Deno.test("a date to wait for is by the clock of the cloud that says it, where it tells that clock", async () => {
  const ahead = Date.UTC(2040, 0, 1); // far from the clock of this machine
  const { provider } = stage(() =>
    new Response("slow down", {
      status: 429,
      headers: {
        "date": new Date(ahead).toUTCString(),
        "retry-after": new Date(ahead + 7_000).toUTCString(),
      },
    })
  );
  const error = await assertRejects(() => provider.get("db-1", CALL), ProviderError);
  assertEquals(error.retryAfterMs, 7_000);
});

Deno.test("the whole exchange has one deadline, by the injected clock, and the request is told to stop", async () => {
  const clock = new VirtualClock();
  let aborted = false;
  const fetch = (_url: string, init: RequestInit) =>
    new Promise<Response>((_, reject) =>
      init.signal!.addEventListener("abort", () => {
        aborted = true;
        reject(init.signal!.reason);
      })
    );
  const provider = createHttpProvider({ url: "http://cloud.test", clock, fetch, timeoutMs: 2_000 });
  const call = provider.delete("db-1", CALL);
  const error = await assertRejects(() => clock.until(call, 2_000), ProviderError);
  assertEquals([error.errorClass, error.code, aborted], ["unknown", "Timeout", true]);
  assertEquals(clock.pending, 0);
});

Deno.test("beforeSend and fetch share one tick even where the token comes from a file", async () => {
  const events: string[] = [];
  const { provider } = stage(() => {
    events.push("fetch");
    return Response.json(DATABASE);
  }, { tokenFile: "/t", readFile: () => Promise.resolve("t") });
  const beforeSend = () => {
    events.push("before");
    queueMicrotask(() => events.push("microtask"));
  };
  await provider.modify("db-1", { sizeGb: 2 }, { ...CALL, beforeSend });
  assertEquals(events.slice(0, 3), ["before", "fetch", "microtask"]);
});

Deno.test("messages hold no address, no secret, and at most 512 characters", async () => {
  const fetch = () =>
    Promise.reject(new TypeError("fetch failed for http://user:secret@10.0.0.1/" + "x".repeat(2_000)));
  const clock = new VirtualClock();
  const provider = createHttpProvider({ url: "http://cloud.test", clock, fetch, token: "secret-token" });
  const error = await assertRejects(
    () => provider.create({ ...DATABASE, clientToken: "t" }, CALL),
    ProviderError,
  );
  assertEquals(error.errorClass, "unknown");
  assert(!/secret|10\.0\.0\.1/.test(error.message) && error.message.length <= 512, error.message);
});

Deno.test("a URL or token that cannot be used is refused at once, without being quoted", () => {
  const clock = new VirtualClock();
  for (const url of ["", "cloud", "ftp://x", "http://u:hunter2@x", "http://x/?key=hunter2", "http://x/#f"]) {
    const error = assertThrows(() => createHttpProvider({ url, clock }));
    assertInstanceOf(error, Error);
    assert(!error.message.includes("hunter2"), error.message);
  }
  const error = assertThrows(() => createHttpProvider({ url: "http://x", clock, token: "hunter2\nx" }));
  assertInstanceOf(error, Error);
  assert(!error.message.includes("hunter2"), error.message);
});

Deno.test("providers are made by name; an unknown name says which there are", async () => {
  const options = { clock: new VirtualClock(), random: seededRandom(1) };
  const simulated = createProvider("simulated", options);
  assertEquals((await options.clock.until(simulated.info(CALL))).account, "simulated");
  assertEquals(createProvider("http", { ...options, cloudUrl: "http://x" }).name, "http");
  assertEquals(createProvider("aws-rds", options).name, "aws-rds");
  assertEquals(createProvider("postgres", { ...options, postgresUrlFile: "servers" }).name, "postgres");
  for (
    const [name, text] of [["http", "--cloud-url"], ["postgres", "--postgres-url-file"], [
      "x",
      'there is no "x"',
    ]]
  ) {
    const error = assertThrows(() => createProvider(name!, options));
    assertInstanceOf(error, Error);
    assertStringIncludes(error.message, text!);
  }
});

Deno.test("K1: a password goes out in the body alone, and no error says it again, whatever the cloud answers", async () => {
  const password = 'se"cret-\\0123456789';
  const bodies: unknown[] = [];
  const answers = [
    () =>
      Response.json({ error: { code: "InvalidParameter", message: `bad: ${password}` } }, { status: 400 }),
    () => new Response(`<p>${password}</p>`, { status: 200 }),
    () => new Response(JSON.stringify({ password }), { status: 200 }),
    () => Response.json({ id: "a", name: "a", engine: password, version: password, sizeGb: password }),
    () => new Response(password, { status: 500 }),
    () => Response.json({ error: { code: password, message: password } }, { status: 409 }),
  ];
  for (const answer of answers) {
    const { provider, sent } = stage(answer);
    const request = {
      name: "o",
      engine: "postgres",
      version: "14",
      sizeGb: 1,
      tags: {},
      clientToken: "t",
      password,
    };
    for (
      const call of [() => provider.create(request, CALL), () => provider.modify("db-1", { password }, CALL)]
    ) {
      let error: unknown = await assertRejects(call, ProviderError);
      for (; error instanceof Error; error = error.cause) {
        const text = `${error.stack} ${JSON.stringify(error)}`;
        assert(!text.includes(password) && !text.includes(JSON.stringify(password).slice(1, -1)), text);
      }
    }
    assert(sent.every(({ url }) => !url.includes("cret")));
    bodies.push(...sent.map(({ init }) => JSON.parse(String(init.body))));
  }
  assertEquals(bodies.slice(0, 2), [
    {
      ...{ name: "o", engine: "postgres", version: "14", sizeGb: 1, tags: {}, clientToken: "t" },
      ...{ masterUsername: "dbadmin", masterPassword: password },
    },
    { masterPassword: password },
  ]);
});

Deno.test("what a cloud says of logins and snapshots is taken, what it does not say is the contract's", async () => {
  const info = async (body: unknown) => {
    const { passwords, snapshots } = await stage(() => Response.json(body)).provider.info(CALL);
    return [passwords, snapshots];
  };
  assertEquals(await info({}), ["asked", true]);
  assertEquals(await info({ passwords: "always", snapshots: false }), ["always", false]);
  assertEquals(await info({ passwords: "never", snapshots: "yes" }), [undefined, true]);
  const access = async (engine: string, given?: unknown) => {
    const body = {
      ...{ id: "db-1", name: "orders", engine, version: "1", sizeGb: 1, state: "Available", tags: {} },
      ...{ createdAt: "2026-01-01T00:00:00Z", access: given },
    };
    return (await stage(() => Response.json(body)).provider.get("db-1", CALL)).access;
  };
  const own = { type: "postgresql", database: "x", username: "y" };
  assertEquals(await access("postgres"), { type: "postgresql", database: "orders", username: "dbadmin" });
  assertEquals((await access("MariaDB"))?.type, "mysql");
  assertEquals((await access("oracle"))?.type, "oracle");
  assertEquals(await access("postgres", own), own);
  assertEquals(
    (await access("postgres", { type: "no scheme", database: "x", username: "y" }))?.database,
    "orders",
  );
});
