import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { Identity, Reviews } from "../../src/kube/reviews.ts";
import {
  type Access,
  AccessGate,
  ALLOWED_MS,
  REFUSED_MS,
  STREAM_MS,
  tokenOf,
} from "../../src/server/access.ts";
import { ManualClock } from "../support/manual_clock.ts";

const PROMETHEUS: Identity = { username: "prometheus", groups: ["scrapers"], extra: {} };

/** An API server that knows one token, and lets its owner get some paths. */
class Cluster implements Reviews {
  readonly asked: string[] = [];
  allowed = new Set(["/metrics"]);
  tokens = new Map([["good", PROMETHEUS]]);
  down = false;
  /** What stands before it repeats what it was sent. */
  echoes = false;
  hold: Promise<void> | undefined;

  async identify(token: string): Promise<Identity | undefined> {
    this.asked.push(`token ${token}`);
    await this.hold;
    if (this.echoes) throw new Error(`the API server answered 502: cannot forward {"token":"${token}"}`);
    if (this.down) throw new Error("no route to the API server");
    return this.tokens.get(token);
  }

  mayGet(identity: Identity, path: string): Promise<boolean> {
    this.asked.push(`${identity.username} ${path}`);
    if (this.down) return Promise.reject(new Error("no route to the API server"));
    return Promise.resolve(this.allowed.has(path));
  }
}

function rig() {
  const clock = new ManualClock();
  const cluster = new Cluster();
  const ended: Access[] = [];
  const lines: string[] = [];
  const told: string[] = [];
  const gate = new AccessGate({
    reviews: cluster,
    clock,
    log: {
      log: (level, message, fields) => {
        lines.push(`${level} ${message}`);
        told.push(JSON.stringify(fields));
      },
    },
    signal: new AbortController().signal,
    onAccess: (access) => ended.push(access),
  });
  let handled = 0;
  const handle = gate.guard(() => {
    handled++;
    return Promise.resolve(new Response("the fleet"));
  });
  const get = async (path: string, authorization?: string) => {
    const headers: HeadersInit = authorization === undefined ? {} : { authorization };
    const response = await handle(new Request(`http://127.0.0.1${path}`, { headers }));
    await response.body?.cancel();
    return response;
  };
  const status = async (path: string, authorization?: string) => (await get(path, authorization)).status;
  return { clock, cluster, gate, get, status, ended, lines, told, handled: () => handled };
}

Deno.test("only a token whose owner may get the path is let in; health is open to all", async () => {
  const { status, get, ended, handled, cluster } = rig();
  assertEquals([await status("/healthz"), await status("/readyz")], [200, 200]);
  assertEquals([handled(), cluster.asked], [2, []]);
  const unknown = await get("/metrics");
  assertEquals(unknown.status, 401);
  assertMatch(unknown.headers.get("www-authenticate") ?? "", /Bearer realm=.*Basic realm=/);
  assertEquals(cluster.asked, [], "nobody is asked about nothing");
  assertEquals(await status("/metrics", "Bearer bad"), 401);
  assertEquals(await status("/metrics", "Bearer good"), 200);
  assertEquals(await status("/", "Bearer good"), 403);
  assertEquals(await status("/api/databases", "Bearer good"), 403);
  assertEquals(handled(), 3);
  assertEquals(ended, ["unauthenticated", "unauthenticated", "allowed", "denied", "denied"]);
});

Deno.test("paths of the page and the API are reviewed under a prefix of their own: /api/* is everybody's by default", async () => {
  const { status, cluster } = rig();
  cluster.allowed = new Set(["/api/databases", "/api/fleet", "/"]);
  assertEquals(await status("/api/databases", "Bearer good"), 403);
  cluster.allowed = new Set(["/externaldatabases/api/fleet", "/externaldatabases/"]);
  assertEquals([await status("/api/fleet", "Bearer good"), await status("/", "Bearer good")], [200, 200]);
  assertEquals(await status("/x/../metrics", "Bearer good"), 403, "as the handler reads it");
});

Deno.test("a browser's login is taken: the password is the token", async () => {
  const { status } = rig();
  assertEquals(await status("/metrics", `Basic ${btoa("anybody:good")}`), 200);
  assertEquals(await status("/metrics", `Basic ${btoa("good:")}`), 401);
  assertEquals([tokenOf("Basic !!!"), tokenOf("Basic"), tokenOf(`Basic ${btoa("good")}`)], [
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals(tokenOf(`Basic ${btoa("a:b:c")}`), "b:c");
  assertEquals([tokenOf("bearer x"), tokenOf("Digest x"), tokenOf("Bearer x y"), tokenOf(null)], [
    "x",
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals(tokenOf(`Bearer ${"x".repeat(20_000)}`), undefined);
});

Deno.test("answers are kept for a bounded time: what is taken back is refused after it, what is granted let in soon", async () => {
  const { status, cluster, clock } = rig();
  assertEquals(await status("/metrics", "Bearer good"), 200);
  const asked = cluster.asked.length;
  for (let i = 0; i < 20; i++) assertEquals(await status("/metrics", "Bearer good"), 200);
  assertEquals(cluster.asked.length, asked, "kept");
  cluster.allowed.clear();
  await clock.advance(ALLOWED_MS + 1);
  assertEquals(await status("/metrics", "Bearer good"), 403);
  cluster.allowed.add("/metrics");
  await clock.advance(REFUSED_MS + 1);
  assertEquals(await status("/metrics", "Bearer good"), 200);
  cluster.tokens.clear();
  await clock.advance(ALLOWED_MS + 1);
  assertEquals(await status("/metrics", "Bearer good"), 401);
});

Deno.test("while the API server cannot be asked nobody new is let in, which is told once, and it is asked again", async () => {
  const { status, cluster, clock, lines } = rig();
  assertEquals(await status("/metrics", "Bearer good"), 200);
  cluster.down = true;
  assertEquals(await status("/metrics", "Bearer good"), 200, "known for a minute");
  await clock.advance(ALLOWED_MS + 1);
  for (let i = 0; i < 3; i++) assertEquals(await status("/metrics", "Bearer good"), 503);
  assertEquals(lines, ["warn Access cannot be reviewed; nobody new is let in"]);
  cluster.down = false;
  assertEquals(await status("/metrics", "Bearer good"), 200);
});

Deno.test("many requests of one token share a review; too many that wait are refused", async () => {
  const { status, cluster, gate } = rig();
  const held = Promise.withResolvers<void>();
  cluster.hold = held.promise;
  const same = Array.from({ length: 40 }, () => status("/metrics", "Bearer good"));
  while (gate.waiting < same.length) await new Promise((resolve) => setTimeout(resolve)); // digests end in any order
  const others = Array.from({ length: 60 }, (_, i) => status("/metrics", `Bearer guess-${i}`));
  const first = await Promise.race(others);
  assertEquals(first, 429);
  held.resolve();
  cluster.hold = undefined;
  assertEquals(new Set(await Promise.all(same)), new Set([200]));
  assertEquals(cluster.asked.filter((a) => a === "token good").length, 1);
  await Promise.all(others);
});

Deno.test("however many tokens are tried, or are good for nothing, one that was let in is reviewed as rarely as ever", async () => {
  const { status, cluster, clock, ended } = rig();
  for (let i = 0; i < 100; i++) cluster.tokens.set(`useless-${i}`, { ...PROMETHEUS, username: "nobody" });
  const mayGet = cluster.mayGet.bind(cluster);
  cluster.mayGet = async (identity, path) => await mayGet(identity, path) && identity.username !== "nobody";
  assertEquals(await status("/metrics", "Bearer good"), 200);
  const seconds = 180;
  for (let second = 0; second < seconds; second++) {
    for (let i = 0; i < 20; i++) {
      await status("/metrics", `Bearer guess-${second}-${i}`);
      await status(`/api/${second}/${i}`, `Bearer useless-${second % 100}`);
    }
    assertEquals(await status("/metrics", "Bearer good"), 200);
    await clock.advance(1_000);
  }
  const good = cluster.asked.filter((a) => a === "token good" || a === "prometheus /metrics").length;
  assert(good <= 2 * (seconds * 1_000 / ALLOWED_MS + 1), `${good} reviews of one that was let in`);
  const strange = cluster.asked.length - good;
  assert(strange <= 40 + 10 * seconds, `${strange} reviews of strangers`);
  assert(ended.includes("limited"));
});

Deno.test("the paths that one who was let in asks for are reviewed at a bounded rate", async () => {
  const { status, cluster } = rig();
  assertEquals(await status("/metrics", "Bearer good"), 200);
  for (let i = 0; i < 1_000; i++) await status(`/api/${i}`, "Bearer good");
  assert(cluster.asked.length <= 2 + 100, `${cluster.asked.length} reviews`);
  cluster.tokens.set("other", { ...PROMETHEUS, username: "other" });
  assertEquals(await status("/metrics", "Bearer other"), 200, "which is nobody else's loss");
});

Deno.test("no token is in the log, also where what answers for the API server repeats it", async () => {
  const { status, cluster, told } = rig();
  cluster.echoes = true;
  assertEquals(await status("/metrics", "Bearer s3cr3t-t0ken"), 503);
  assertEquals([told.length, told.join().includes("s3cr3t")], [1, false]);
});

Deno.test("a path of any length is neither reviewed nor kept", async () => {
  const { status, cluster } = rig();
  assertEquals(await status(`/api/${"x".repeat(60_000)}`, "Bearer good"), 403);
  assertEquals(cluster.asked, ["token good"]);
});

Deno.test("strangers who are being reviewed keep nobody out who is known", async () => {
  const { status, cluster } = rig();
  assertEquals(await status("/metrics", "Bearer good"), 200);
  const held = Promise.withResolvers<void>();
  cluster.hold = held.promise;
  const strangers = Array.from({ length: 100 }, (_, i) => status("/metrics", `Bearer guess-${i}`));
  assertEquals(await Promise.race(strangers), 429, "no more of them can wait");
  assertEquals(await status("/metrics", "Bearer good"), 200);
  assertEquals(await status("/", "Bearer good"), 403, "that is asked for him all the same");
  held.resolve();
  await Promise.all(strangers);
});

Deno.test("a stream ends after a time, so that it is reviewed anew", async () => {
  const { gate, clock } = rig();
  let cancelled = false;
  const handle = gate.guard(() =>
    Promise.resolve(
      new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
          cancel: () => void (cancelled = true),
        }),
        { headers: { "content-type": "text/event-stream" } },
      ),
    )
  );
  const response = await handle(
    new Request("http://127.0.0.1/metrics", { headers: { authorization: "Bearer good" } }),
  );
  const text = response.text();
  await clock.advance(STREAM_MS);
  assertStringIncludes(await text, "data: 1");
  assertEquals([cancelled, clock.pending], [true, 0]);
});

Deno.test("a stream that is cut off before its time leaves no timer that fails later", async () => {
  const { gate, clock } = rig();
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const handle = gate.guard(() =>
    Promise.resolve(
      new Response(new ReadableStream<Uint8Array>({ start: (controller) => void (source = controller) }), {
        headers: { "content-type": "text/event-stream" },
      }),
    )
  );
  const response = await handle(
    new Request("http://127.0.0.1/metrics", { headers: { authorization: "Bearer good" } }),
  );
  const text = response.text();
  source?.error(new Error("The client does not read"));
  await assertRejects(() => text, Error, "The client does not read");
  assertEquals(clock.pending, 0);
  await clock.advance(STREAM_MS); // would throw, and an error in a timer ends the process
});
