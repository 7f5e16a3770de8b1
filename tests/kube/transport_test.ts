/** The transport on the wire: F5, W9, W10, deadlines, bounds. @module */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertNotMatch,
  assertRejects,
} from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { fileToken, staticCredentials } from "../../src/kube/credentials.ts";
import { KubeError, type KubeErrorKind } from "../../src/kube/port.ts";
import { Transport } from "../../src/kube/transport.ts";
import { createCluster } from "../../src/kube/client.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { eventually } from "../support/eventually.ts";
import { isWatch, type Misdeed } from "./loopback_api.ts";
import { keepingMetrics, loopbackConfig, startReflector, withApi } from "./support.ts";

const key = { namespace: "default", name: "a" };
const never = new AbortController().signal;

async function failure(work: Promise<unknown>): Promise<KubeError> {
  const error = await assertRejects(() => work);
  assertInstanceOf(error, KubeError);
  return error;
}

async function withTokenFile(run: (file: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${dir}/token`, "first\n");
    await run(`${dir}/token`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("F5: a token file that rotated, with a line feed at its end, costs one re-read and one retry", () =>
  withTokenFile((file) =>
    withApi(async (api, cluster) => {
      await api.put("a");
      let valid = "Bearer first";
      api.misdeed = (r) => r.headers.get("authorization") === valid ? undefined : { status: 401 };
      await cluster.get(key, { signal: never });
      await Deno.writeTextFile(file, "second\n");
      valid = "Bearer second";
      await cluster.get(key, { signal: never });
      assertEquals(api.requests.map((r) => r.headers.get("authorization")), [
        "Bearer first",
        "Bearer first",
        "Bearer second",
      ]);
      valid = "Bearer third"; // and the file still holds the second
      const error = await failure(cluster.get(key, { signal: never }));
      assertEquals(
        [error.kind, api.requests.length],
        ["unauthorised", 4],
        "an unchanged token is not tried twice",
      );
    }, { credentials: fileToken(file, systemClock) })
  ));

Deno.test("F5: twenty requests that meet the rotation together all succeed, and the watch reopens", () =>
  withTokenFile((file) =>
    withApi(async (api, cluster) => {
      await api.put("a");
      let valid = "Bearer first";
      api.misdeed = (r) => r.headers.get("authorization") === valid ? undefined : { status: 401 };
      const r = startReflector(cluster);
      await eventually("the watch", () => api.open.length === 1);
      await Deno.writeTextFile(file, "second");
      valid = "Bearer second";
      for (const watch of api.open) watch.break();
      await Promise.all(Array.from({ length: 20 }, () => cluster.get(key, { signal: never })));
      await eventually("the watch again", () => api.open.length === 1);
      await r.stop();
    }, { credentials: fileToken(file, systemClock) })
  ));

Deno.test("W10: answers of every kind become one tagged error each, readable, with no header in it", async (t) => {
  const status = (code: number, reason: string, message: string, details = {}) =>
    JSON.stringify({ kind: "Status", status: "Failure", code, reason, message, details });
  const cases: readonly [string, Misdeed, KubeErrorKind, RegExp][] = [
    [
      "401 with an empty body",
      { status: 401 },
      "unauthorised",
      /^Reading ExternalDatabase default\/a: .*401 Unauthorized without a reason$/,
    ],
    [
      "403",
      { status: 403, body: status(403, "Forbidden", "user x cannot get") },
      "forbidden",
      /user x cannot get$/,
    ],
    ["404", { status: 404, body: status(404, "NotFound", "a not found") }, "notFound", /a not found$/],
    [
      "409",
      { status: 409, body: status(409, "Conflict", "the object has been modified") },
      "conflict",
      /modified$/,
    ],
    [
      "422 with causes",
      {
        status: 422,
        body: status(422, "Invalid", "it is invalid", {
          causes: [{ field: "spec.sizeGb", message: "must grow" }],
        }),
      },
      "invalid",
      /it is invalid \(spec\.sizeGb: must grow\)$/,
    ],
    [
      "429 text",
      {
        status: 429,
        headers: { "content-type": "text/plain", "retry-after": "1" },
        body: "Too many requests, please try again later.\n",
      },
      "throttled",
      /Too many requests, please try again later$/,
    ],
    [
      "500 HTML",
      {
        status: 500,
        headers: { "content-type": "text/html" },
        body: "<html><head><title>Oops</title></head><body>\n\n<b>secret</b></body></html>",
      },
      "server",
      /500 Internal Server Error with an HTML page: Oops$/,
    ],
    ["503 empty", { status: 503 }, "unavailable", /503/],
    ["410", { status: 410, body: status(410, "Expired", "too old") }, "expired", /too old$/],
    ["413", { status: 413, body: "big" }, "tooLarge", /413.*big/],
    [
      "504",
      { status: 504, body: status(504, "Timeout", "Too large resource version") },
      "timeout",
      /Too large/,
    ],
    [
      "200 HTML",
      { status: 200, headers: { "content-type": "text/html" }, body: "<html>" },
      "server",
      /"text\/html" instead of JSON/,
    ],
    ["200 with half a document", { status: 200, body: '{"metadata":' }, "server", /could not be read/],
    ["200 with another document", { status: 200, body: "{}" }, "server", /without a UID/],
    ["a body that is cut", { cut: '{"kind":' }, "network", /Reading/],
    ["a reset", "reset", "network", /Reading/],
    [
      "an echoed token",
      { status: 400, body: "bad header Authorization: Bearer abcdefghijkl.mnop" },
      "badRequest",
      /Bearer …$/,
    ],
  ];
  for (const [name, misdeed, kind, message] of cases) {
    await t.step(name, () =>
      withApi(async (api, cluster) => {
        api.misdeed = () => misdeed;
        const error = await failure(cluster.get(key, { signal: never }));
        assertEquals(error.kind, kind);
        assertMatch(error.message, message);
        assertNotMatch(error.message, /\n|content-type|user-agent|abcdefghijkl|<b>/i);
      }));
  }
});

Deno.test("W9: 429 tells when to come back, as seconds or as a date, for five minutes at most", () =>
  withApi(async (api, cluster) => {
    const after = async (header: string) => {
      api.misdeed = () => ({ status: 429, headers: { "retry-after": header } });
      return (await failure(cluster.get(key, { signal: never }))).retryAfterMs;
    };
    assertEquals(await after("40"), 40_000);
    assertEquals(await after("86400"), 300_000);
    assertEquals(await after("nonsense"), undefined);
    const date = await after(new Date(Date.now() + 60_000).toUTCString());
    assert(date !== undefined && date > 50_000 && date <= 60_000, String(date));
  }));

Deno.test("A request that is not answered ends at its deadline as a time-out, and its slot is free again", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    let stalled = true;
    api.misdeed = () => stalled ? "stall" : undefined;
    const errors = await Promise.all([1, 2, 3].map(() => failure(cluster.get(key, { signal: never }))));
    assertEquals(errors.map((e) => e.kind), ["timeout", "timeout", "timeout"]);
    assertEquals(errors[0]?.message, "Reading ExternalDatabase default/a: no answer within 150 ms");
    stalled = false;
    assertEquals((await cluster.get(key, { signal: never })).metadata.name, "a");
  }, { deadlineMs: 150, concurrency: 1 }));

/** HTTP clients that tell when they are closed. */
function tellingClients() {
  const made: { closed: boolean }[] = [];
  return {
    closed: () => made.map((entry) => entry.closed),
    createClient: () => {
      const client = Deno.createHttpClient({});
      const entry = { closed: false };
      made.push(entry);
      return Object.assign(client, { // fetch takes its own class only
        close: () => {
          entry.closed = true;
          Deno.HttpClient.prototype.close.call(client);
        },
      });
    },
  };
}

Deno.test("After a time-out on a connection that answered nothing, a new client is made; the old one lives as long as its watch", async () => {
  const clients = tellingClients();
  await withApi(async (api, cluster) => {
    await api.put("a");
    const stop = new AbortController();
    const watch = cluster.watch({ resourceVersion: "101", timeoutSeconds: 60, signal: stop.signal })
      [Symbol.asyncIterator]();
    const next = watch.next();
    await eventually("the watch", () => api.open.length === 1);
    api.misdeed = () => "stall";
    await failure(cluster.get(key, { signal: never }));
    api.misdeed = () => undefined;
    await cluster.get(key, { signal: never });
    assertEquals(clients.closed(), [false, false]);
    await api.put("b");
    assertEquals((await next).value?.type, "ADDED", "the watch lives on");
    stop.abort(new Error("stopping"));
    await assertRejects(() => watch.next());
    assertEquals(clients.closed(), [true, false]);
  }, { deadlineMs: 150, createClient: clients.createClient });
  assertEquals(clients.closed(), [true, true]);
});

Deno.test("One slow request is no reason for a new client while others are answered", async () => {
  const clients = tellingClients();
  await withApi(async (api, cluster) => {
    await api.put("a");
    await api.put("slow");
    api.misdeed = (request) => request.url.pathname.endsWith("/slow") ? "stall" : undefined;
    const slow = failure(cluster.get({ ...key, name: "slow" }, { signal: never }));
    await eventually("the slow request", () => api.requests.length === 1);
    await cluster.get(key, { signal: never });
    assertEquals((await slow).kind, "timeout");
    await cluster.get(key, { signal: never });
    assertEquals(clients.closed(), [false]);
  }, { deadlineMs: 200, createClient: clients.createClient });
});

Deno.test("A redirect is not followed: the token is for the API server alone", () =>
  withApi(async (other) => {
    await other.put("a");
    await withApi(async (api, cluster) => {
      api.misdeed = (r) => ({ status: 307, headers: { location: `${other.url}${r.url.pathname}` } });
      assertEquals((await failure(cluster.get(key, { signal: never }))).kind, "network");
      assertEquals(other.requests, []);
    }, { credentials: staticCredentials({ Authorization: "Bearer secret-token" }) });
  }));

Deno.test("An aborted request rejects with the signal's own reason, also while it waits for a slot", () =>
  withApi(async (api, cluster) => {
    api.misdeed = () => "stall";
    const first = new AbortController(), second = new AbortController();
    const a = cluster.get(key, { signal: first.signal });
    const b = cluster.get(key, { signal: second.signal });
    await eventually("the first request", () => api.requests.length === 1);
    const reason = new Error("stopping");
    second.abort(reason);
    first.abort(reason);
    assertEquals(await assertRejects(() => a), reason);
    assertEquals(await assertRejects(() => b), reason);
    assertEquals(api.requests.length, 1, "what waited was never sent");
    api.misdeed = () => undefined;
    await api.put("a");
    assertEquals((await cluster.get(key, { signal: never })).metadata.name, "a", "the slot is free");
  }, { concurrency: 1 }));

Deno.test("No more than the allowed requests are in flight, and watches do not count", () =>
  withApi(async (api, cluster) => {
    await api.put("a");
    const r = startReflector(cluster, { namespaces: ["x", "y", "z"] });
    await eventually("three watches", () => api.open.length === 3);
    api.misdeed = () => "stall";
    const stop = new AbortController();
    const calls = Array.from(
      { length: 10 },
      () => cluster.get(key, { signal: stop.signal }).catch(() => "ended"),
    );
    const gets = () => api.requests.filter((q) => q.url.pathname.endsWith("/a")).length;
    await eventually("four requests", () => gets() === 4);
    await new Promise((resolve) => setTimeout(resolve, 50)); // a fifth would have come by now
    assertEquals(gets(), 4);
    stop.abort(new Error("stopping"));
    assertEquals(await Promise.all(calls), Array(10).fill("ended"));
    await r.stop();
  }, { concurrency: 4 }));

Deno.test("A watch whose headers do not come ends at the deadline; one that is open has none", () =>
  withApi(async (api, cluster) => {
    api.misdeed = (request) => isWatch(request) ? "stall" : undefined;
    const request = { resourceVersion: "1", timeoutSeconds: 60, signal: never };
    const stalled = cluster.watch(request)[Symbol.asyncIterator]();
    assertEquals((await failure(stalled.next())).kind, "timeout");
    api.misdeed = () => undefined;
    let opened = 0;
    const open = cluster.watch({ ...request, onOpen: () => opened++ })[Symbol.asyncIterator]();
    const next = open.next();
    await eventually("the watch", () => api.open.length === 1 && opened === 1);
    await new Promise((resolve) => setTimeout(resolve, 200)); // twice the deadline
    await api.put("a");
    assertEquals((await next).value?.type, "ADDED");
    await open.return?.(undefined);
    await eventually("the end of the watch", () => api.open.length === 0);
  }, { deadlineMs: 100 }));

Deno.test("Patches carry their content type, field manager and operations; metrics count each request", async () => {
  const metrics = keepingMetrics();
  await withApi(async (api, cluster) => {
    await api.put("a");
    const operations = [{ op: "test", path: "/metadata/uid", value: "uid-a" }] as const;
    await cluster.patch(key, operations, { signal: never });
    await cluster.patchStatus(key, operations, { signal: never }).catch(() => {});
    const [patch, status] = api.requests;
    assertEquals(patch?.method, "PATCH");
    assertEquals(patch?.headers.get("content-type"), "application/json-patch+json");
    assertEquals(patch?.url.searchParams.get("fieldManager"), "externaldatabase-operator");
    assertEquals(JSON.parse(patch?.body ?? ""), [...operations]);
    assert(status?.url.pathname.endsWith("/externaldatabases/a/status"));
    assertEquals(metrics.codes, ["patch 200", "patch 404"]);
  }, { metrics });
});

Deno.test("A CA that rotated is read again when the handshake fails, and the request is sent again", async () => {
  let ca = "old", reads = 0;
  const clients: string[] = [];
  const transport = new Transport({
    config: {
      ...loopbackConfig("https://127.0.0.1:1"),
      readTls: () => {
        reads++;
        return Promise.resolve({ caCerts: [ca] });
      },
    },
    clock: new ManualClock(),
    createClient: (tls) => {
      clients.push(tls.caCerts?.[0] ?? "");
      return { close: () => {} };
    },
    fetch: () => {
      if (clients.at(-1) === "new") {
        return Promise.resolve(Response.json({ metadata: { name: "kube-system", uid: "u-1" } }));
      }
      ca = "new";
      return Promise.reject(
        new TypeError("fetch failed", { cause: new Error("invalid peer certificate: UnknownIssuer") }),
      );
    },
  });
  assertEquals(await createCluster(transport).clusterId({ signal: never }), "u-1");
  assertEquals([clients, reads], [["old", "new"], 2]);
});

Deno.test("The CRD is missing, established or terminating", () =>
  withApi(async (api, cluster) => {
    const answer = (crd: unknown) => api.misdeed = () => ({ status: 200, body: JSON.stringify(crd) });
    assertEquals(await cluster.crdState({ signal: never }), "missing");
    answer({ metadata: { name: "x" }, status: { conditions: [{ type: "Established", status: "False" }] } });
    assertEquals(await cluster.crdState({ signal: never }), "missing");
    const conditions = [{ type: "NamesAccepted", status: "True" }, { type: "Established", status: "True" }];
    answer({ metadata: { name: "x" }, status: { conditions } });
    assertEquals(await cluster.crdState({ signal: never }), "established");
    answer({ metadata: { name: "x", deletionTimestamp: "2026-01-01T00:00:00Z" }, status: { conditions } });
    assertEquals(await cluster.crdState({ signal: never }), "terminating");
    api.misdeed = () => ({ status: 403 });
    assertEquals((await failure(cluster.crdState({ signal: never }))).kind, "forbidden");
  }));
