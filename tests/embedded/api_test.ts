import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createEmbeddedApi, type EmbeddedApiOptions } from "../../src/embedded/api.ts";
import { widgetCrd } from "../contract/kube/widget_crd.ts";
import { Session, slim } from "../contract/kube/session.ts";
import { manualClock } from "./manual_clock.ts";

const GROUP = "test.example.com";
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async function start(options: Partial<EmbeddedApiOptions> = {}) {
  const api = createEmbeddedApi({ clock: systemClock, random: seededRandom(1), ...options });
  const fetch = (path: string, init?: RequestInit) => api.fetch(new Request(`http://embedded${path}`, init));
  const close = () => Promise.resolve(api.close());
  const s = new Session({ fetch, forget: () => Promise.resolve(), close }, "default", GROUP);
  const headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  await s.quiet("POST", CRDS, { body: widgetCrd(GROUP), headers });
  return { api, s, fetch };
}

Deno.test("A create costs the same among thousands of objects, and a thousand are listed in less than they are made", async () => {
  const { api, s } = await start();
  let made = 0;
  const create = async (n: number) => {
    const begin = performance.now();
    for (const end = made + n; made < end; made++) {
      const { status } = await s.quiet("POST", s.widgets, {
        body: s.widget(`w${made}`, { size: 2, color: "red" }),
      });
      if (status !== 201) throw new Error(`Creating widget ${made} failed with ${status}`);
    }
    return performance.now() - begin;
  };
  const first = await create(1_000);
  await create(2_000);
  const last = await create(1_000);
  const begin = performance.now();
  const { body } = await s.quiet("GET", `${s.widgets}?limit=1000`);
  const listed = performance.now() - begin;
  assertEquals(body.items.length, 1_000);
  assert(last < 4 * first, `the first 1,000 creates took ${first} ms, the fourth ${last} ms`);
  assert(listed < first, `listing 1,000 took ${listed} ms, creating them ${first} ms`);
  api.close();
});

Deno.test("Thousands of objects with owners and finalizers go in about the time in which they came", async () => {
  const { api, s } = await start();
  const at = "/api/v1/namespaces/crowd";
  await s.quiet("POST", "/api/v1/namespaces", {
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "crowd" } },
  });
  const inside = `/apis/${GROUP}/v1/namespaces/crowd/widgets`;
  const came = performance.now();
  for (let i = 0; i < 1_000; i++) {
    const { body } = await s.quiet("POST", inside, {
      body: s.widget(`w${i}`, { size: 2 }, { finalizers: ["x.y/z"] }),
    });
    const ownerReferences = [{
      apiVersion: `${GROUP}/v1`,
      kind: "Widget",
      name: `w${i}`,
      uid: body.metadata.uid,
    }];
    await s.quiet("POST", `${at}/secrets`, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: `s${i}`, ownerReferences } },
    });
  }
  const begin = performance.now();
  await s.quiet("DELETE", at);
  for (let i = 0; i < 1_000; i++) {
    const body = { metadata: { finalizers: null } };
    await s.quiet("PATCH", `${inside}/w${i}`, { body, type: "application/merge-patch+json" });
  }
  await s.until(at, ({ status }) => status === 404);
  const took = performance.now() - begin;
  assertEquals([api.store.count(`${GROUP}/widgets`), api.store.count("/secrets")], [0, 0]);
  assert(took < 8 * (begin - came), `creating took ${begin - came} ms, deleting ${took} ms`);
  api.close();
});

Deno.test("Only the changes within the history limit are known to watches and pages", async () => {
  const { api, s } = await start({ historyLimit: 5 });
  for (let i = 0; i < 4; i++) await s.quiet("POST", s.widgets, { body: s.widget(`w${i}`) });
  const page = await s.quiet("GET", `${s.widgets}?limit=2`);
  for (let i = 0; i < 12; i++) {
    await s.quiet("PATCH", `${s.widgets}/w0`, {
      body: { metadata: { labels: { i: `${i}` } } },
      type: "application/merge-patch+json",
    });
  }
  const next = await s.quiet("GET", `${s.widgets}?limit=2&continue=${page.body.metadata.continue}`);
  assertEquals([next.status, next.body.reason], [410, "Expired"]);
  // The answer's own token goes on without consistency.
  const rest = await s.quiet("GET", `${s.widgets}?limit=9&continue=${next.body.metadata.continue}`);
  assertEquals(rest.body.items.map((item: { metadata: { name: string } }) => item.metadata.name), [
    "w2",
    "w3",
  ]);
  const watch = await s.watch(`${s.widgets}?watch=1&resourceVersion=${page.body.metadata.resourceVersion}`);
  const [event] = await watch.take(1);
  assertEquals([watch.answer.status, event?.type, event?.object.code, event?.object.reason], [
    200,
    "ERROR",
    410,
    "Expired",
  ]);
  await watch.close();
  api.close();
});

Deno.test("Time passes only by the clock: bookmarks, time-outs and controllers wait for it", async () => {
  const clock = manualClock();
  const { api, s } = await start({ clock, bookmarkIntervalMs: 1_000 });
  await s.quiet("POST", "/api/v1/namespaces", {
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } },
  });
  const watch = await s.watch(
    `${s.widgets}?watch=1&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion=${api.store.version}`,
  );
  await s.quiet("DELETE", "/api/v1/namespaces/n");
  assertEquals((await s.quiet("GET", "/api/v1/namespaces/n")).body.status.phase, "Terminating");
  clock.advance(1_000);
  assertEquals((await s.quiet("GET", "/api/v1/namespaces/n")).status, 404);
  clock.advance(2_000);
  const events = await watch.take(99);
  assertEquals(events.map((event) => event.type), ["BOOKMARK", "BOOKMARK"]);
  assertEquals(events.at(-1)!.object.metadata.resourceVersion, String(api.store.version));
  await watch.close();
  assertEquals(clock.pending(), 0, "a timer outlives its watch");
  api.close();
});

Deno.test("The same seed gives the same identities", async () => {
  const uids = [];
  for (let i = 0; i < 2; i++) {
    const { api, s } = await start({ clock: manualClock() });
    const { body } = await s.quiet("POST", s.widgets, { body: s.widget("a") });
    uids.push(body.metadata.uid);
    api.close();
  }
  assertEquals(uids[0], uids[1]);
  assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uids[0]!));
});

Deno.test("W8: a lagging cache shows old objects to watches and to reads from version 0, never to quorum reads", async () => {
  const clock = manualClock();
  const { api, s } = await start({ clock, watchCacheLag: 500 });
  await s.quiet("POST", s.widgets, { body: s.widget("a") });
  clock.advance(600);
  const watch = await s.watch(`${s.widgets}?watch=1&timeoutSeconds=60&resourceVersion=${api.store.version}`);
  await s.quiet("PATCH", `${s.widgets}/a`, {
    body: { spec: { size: 9 } },
    type: "application/merge-patch+json",
  });
  const size = async (query: string) => (await s.quiet("GET", `${s.widgets}/a${query}`)).body.spec.size;
  assertEquals(await size("?resourceVersion=0"), 2);
  assertEquals((await s.quiet("GET", `${s.widgets}?resourceVersion=0`)).body.items[0].spec.size, 2);
  assertEquals(await size(""), 9);
  const event = watch.take(1);
  clock.advance(500);
  assertEquals((await event).map(slim), [{ type: "MODIFIED", kind: "Widget", name: "a", size: 9 }]);
  assertEquals(await size("?resourceVersion=0"), 9);
  await watch.close();
  api.close();
});

Deno.test("Open watches end, break, fall silent or expire on request", async () => {
  const { api, s } = await start();
  const open = () => s.watch(`${s.widgets}?watch=1&timeoutSeconds=60&resourceVersion=${api.store.version}`);
  const ended = await open();
  api.watches.break("end");
  assertEquals(await ended.take(9), []);
  await ended.close();
  const expired = await open();
  api.watches.break("expire");
  assertEquals((await expired.take(9)).map((event) => event.object.code), [410]);
  await expired.close();
  const broken = await open();
  api.watches.break("reset");
  await assertRejects(() => broken.take(1), TypeError, "connection reset");
  await broken.close();
  const silent = await open();
  api.watches.break("silence");
  await s.quiet("POST", s.widgets, { body: s.widget("a") });
  const told = await Promise.race([
    silent.take(1),
    new Promise((resolve) => setTimeout(resolve, 30, "nothing")),
  ]);
  assertEquals(told, "nothing");
  assertEquals(api.watches.size, 1);
  await silent.close();
  assertEquals(api.watches.size, 0);
  api.close();
});

Deno.test("Faults answer instead, delay, refuse, or lose the answer of a request that took effect", async () => {
  let lose = false;
  const { api, s, fetch } = await start({
    faults: ({ verb, name }) => {
      if (name === "throttled") {
        return {
          kind: "answer",
          status: 429,
          retryAfterSeconds: 7,
          body: "Too many requests",
          contentType: "text/plain",
        };
      }
      if (verb === "create" && lose) return { kind: "loseAnswer" };
      if (verb === "deletecollection") return { kind: "refuse" };
      return name === "slow" ? { kind: "hang" } : undefined;
    },
  });
  const throttled = await fetch(`${s.widgets}/throttled`);
  assertEquals([throttled.status, throttled.headers.get("retry-after"), await throttled.text()], [
    429,
    "7",
    "Too many requests",
  ]);
  await s.quiet("POST", s.widgets, { body: s.widget("a") });
  lose = true;
  await assertRejects(
    () => s.quiet("POST", s.widgets, { body: s.widget("b") }),
    TypeError,
    "connection reset",
  );
  assertEquals((await s.quiet("GET", `${s.widgets}/b`)).status, 200);
  await assertRejects(() => s.quiet("DELETE", s.widgets), TypeError, "connection reset");
  assertEquals(api.store.count(`${GROUP}/widgets`), 2);
  const abort = new AbortController();
  const hung = fetch(`${s.widgets}/slow`, { signal: abort.signal });
  abort.abort(new Error("given up"));
  await assertRejects(() => hung, Error, "given up");
  api.close();
  await assertRejects(() => s.quiet("GET", s.widgets), TypeError);
});

Deno.test("With a token, nobody else is let in", async () => {
  const { api, s } = await start({ token: "secret" });
  const { status, body } = await s.quiet("GET", s.widgets);
  assertEquals([status, body.reason, body.message], [401, "Unauthorized", "Unauthorized"]);
  assertEquals(
    (await s.quiet("GET", s.widgets, { headers: { authorization: "Bearer secret" } })).status,
    200,
  );
  assertEquals((await s.quiet("GET", `/secret${s.widgets}`)).status, 200);
  assertEquals((await s.quiet("GET", `/secretx${s.widgets}`)).status, 401);
  assertEquals((await s.quiet("GET", "/readyz")).body, "ok");
  api.close();
});

Deno.test("The protobuf of kubectl create namespace and create secret is understood", async () => {
  const { api, s } = await start();
  const type = "application/vnd.kubernetes.protobuf";
  const text = (number: number, value: string | number[]) => {
    const bytes = typeof value === "string" ? [...new TextEncoder().encode(value)] : value;
    return [number * 8 + 2, bytes.length, ...bytes];
  };
  const envelope = (kind: string, raw: number[]) =>
    new Uint8Array([0x6b, 0x38, 0x73, 0, ...text(1, [...text(1, "v1"), ...text(2, kind)]), ...text(2, raw)]);
  const namespace = envelope(
    "Namespace",
    text(1, [...text(1, "made"), ...text(11, [...text(1, "a"), ...text(2, "b")])]),
  );
  const made = await s.quiet("POST", "/api/v1/namespaces", { body: namespace, type });
  assertEquals([made.status, made.body.metadata.labels.a, made.body.status.phase], [201, "b", "Active"]);
  const secret = envelope("Secret", [
    ...text(1, text(1, "s")),
    ...text(2, [...text(1, "k"), ...text(2, "hi")]),
    ...text(3, "Opaque"),
  ]);
  const stored = await s.quiet("POST", "/api/v1/namespaces/made/secrets", { body: secret, type });
  assertEquals([stored.status, stored.body.data, stored.body.type], [201, { k: "aGk=" }, "Opaque"]);
  const other = await s.quiet("POST", "/api/v1/namespaces/made/events", {
    body: envelope("Event", []),
    type,
  });
  assertEquals(other.status, 400);
  assert(other.body.message.includes("send JSON (kubectl apply -f)"), other.body.message);
  const custom = await s.quiet("POST", s.widgets, { body: namespace, type });
  assertEquals(custom.status, 415);
  api.close();
});
