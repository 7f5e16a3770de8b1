import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { spell } from "../../src/core/spell.ts";
import type { FleetRow } from "../../src/server/fleet.ts";
import type { HealthReport, OperatorServer, ReadyReport } from "../../src/server/http.ts";
import { viewOf } from "../support/fleet_view.ts";
import { eventually } from "../support/eventually.ts";
import { rawGet, serveView, whileServed } from "../support/served.ts";

const NOW = Date.UTC(2026, 10, 29, 12, 0, 0);

function row(change: Partial<FleetRow> = {}): FleetRow {
  return {
    namespace: "shop",
    name: "orders",
    uid: "u-1",
    engine: "postgres",
    version: "14.2",
    sizeGb: 20,
    state: "Available",
    ready: "True",
    reason: "Available",
    message: "In step",
    endpoint: "db:5432",
    providerId: "db-1",
    createdAt: new Date(NOW - 3_600_000).toISOString(),
    nextTryAt: new Date(NOW + 12_000).toISOString(),
    ...change,
  };
}

interface World {
  readonly url: string;
  readonly server: OperatorServer;
  rows: FleetRow[];
  health: HealthReport;
  ready: ReadyReport;
  readonly errors: unknown[];
}

async function withServer(work: (world: World) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  const state = {
    rows: [row()],
    health: { healthy: true, reasons: [] } as HealthReport,
    ready: { ready: true, reasons: [] } as ReadyReport,
  };
  const server = await serveView({
    clock: { ...systemClock, now: () => NOW },
    health: () => state.health,
    ready: () => state.ready,
    view: viewOf(() => state.rows),
    onError: (error) => errors.push(error),
  });
  try {
    await work(Object.assign(state, { url: server.url, server, errors }));
  } finally {
    await server.close();
  }
}

Deno.test("health and readiness answer 200, or 503 with every reason on its own line", async () => {
  await withServer(async (world) => {
    for (const path of ["/healthz", "/readyz"]) {
      const good = await fetch(world.url + path);
      assertEquals([good.status, await good.text()], [200, "ok\n"]);
    }
    world.ready = {
      ready: false,
      reasons: ["CRD externaldatabases.crd.my.domain is missing", "Not\nsynced"],
    };
    const bad = await fetch(world.url + "/readyz");
    assertEquals(bad.status, 503);
    assertEquals(
      await bad.text(),
      "not ok\n- CRD externaldatabases.crd.my.domain is missing\n- Not synced\n",
    );
    world.health = { healthy: false, reasons: ["No progress"] };
    const sick = await fetch(world.url + "/healthz");
    assertEquals([sick.status, await sick.text()], [503, "not ok\n- No progress\n"]);
  });
});

Deno.test("L4: the page shows state, reason, message and next try of each database", async () => {
  await withServer(async ({ url }) => {
    const answer = await fetch(url);
    const html = await answer.text();
    for (
      const text of [
        "shop",
        "orders",
        "postgres",
        "14.2",
        "20 GiB",
        "Available",
        "In step",
        "db:5432",
        "db-1",
      ]
    ) {
      assertStringIncludes(html, text);
    }
    assertStringIncludes(html, ">60m</time>");
    assertStringIncludes(html, ">in 12s</time>");
    assertMatch(
      answer.headers.get("content-security-policy") ?? "",
      /^default-src 'none'; style-src 'sha256-/,
    );
    assert(!html.includes("<script"));
  });
});

Deno.test("every value on the page is escaped", async () => {
  await withServer(async (world) => {
    const evil = `"><img src=x onerror=alert(1)>'&\``;
    const text = Object.fromEntries(
      [
        "namespace",
        "name",
        "engine",
        "version",
        "state",
        "detail",
        "reason",
        "message",
        "endpoint",
        "providerId",
      ]
        .map((key) => [key, evil]),
    );
    const forged = { ...text, ready: evil, sizeGb: evil, createdAt: evil, nextTryAt: evil };
    world.rows = [row(forged as unknown as FleetRow)];
    const html = await (await fetch(`${world.url}/?namespace=${encodeURIComponent(evil)}`)).text();
    const all = html + await (await fetch(world.url)).text();
    assert(!all.includes("<img"), "no tag gets through");
    assert(!all.includes(evil), "no value appears as it is");
    assertStringIncludes(all, "&#60;img src=x onerror=alert(1)&#62;");
  });
});

Deno.test("the page and the API select by namespace, state and readiness, and page through many rows", async () => {
  await withServer(async (world) => {
    world.rows = Array.from({ length: 450 }, (_, i) =>
      row({
        name: `db-${String(i).padStart(3, "0")}`,
        namespace: i % 2 ? "odd" : "even",
        state: i % 3 ? "Available" : "Creating",
        ready: i % 3 ? "True" : "False",
      }));
    const get = async (query: string) => await (await fetch(`${world.url}/api/databases${query}`)).json();
    assertEquals((await get("?namespace=odd")).total, 225);
    assertEquals((await get("?state=Creating")).total, 150);
    assertEquals((await get("?ready=False&namespace=even")).total, 75);
    const page = await get("?limit=100&offset=400");
    assertEquals([page.total, page.items.length, page.items[0].name], [450, 50, "db-351"]);
    assertEquals((await get("?limit=-1&offset=x")).items.length, 200);
    const html = await (await fetch(`${world.url}/?state=Creating&limit=100`)).text();
    assertStringIncludes(html, "Databases 1–100 of 150");
    assertStringIncludes(html, "state=Creating&#38;offset=100");
  });
});

Deno.test("only GET and HEAD are served, and only what exists", async () => {
  await withServer(async ({ url }) => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const answer = await fetch(url + "/api/databases", { method });
      await answer.text();
      assertEquals([answer.status, answer.headers.get("allow")], [405, "GET, HEAD"]);
    }
    const head = await fetch(url, { method: "HEAD" });
    assertEquals([head.status, await head.text()], [200, ""]);
    for (const path of ["/api", "/api/", "/x", "/metrics/", "/..%2f", "/api/databases/1"]) {
      const answer = await fetch(url + path);
      assertEquals([answer.status, await answer.text()], [404, "Not found\n"]);
    }
    const metrics = await fetch(url + "/metrics");
    assertStringIncludes(await metrics.text(), "# TYPE controller_runtime_reconcile_total counter");
    assertMatch(metrics.headers.get("content-type") ?? "", /^text\/plain/);
  });
});

Deno.test("on a loopback address a foreign host name is refused", async () => {
  await withServer(async ({ url, server: { address: { port } } }) => {
    const asked = async (host: string) =>
      await (await rawGet(url, "/healthz", { Host: `${host}:${port}` })).text();
    assertMatch(await asked("evil.example"), /^HTTP\/1\.1 421 /);
    assertMatch(await asked("localhost"), /^HTTP\/1\.1 200 /);
  });
});

Deno.test("a failing report is one 500 without detail, and is told", async () => {
  await withServer(async (world) => {
    Object.defineProperty(world, "health", {
      get: () => {
        throw new Error("inside detail");
      },
    });
    const answer = await fetch(world.url + "/healthz");
    assertEquals([answer.status, await answer.text()], [500, "Internal error\n"]);
    assertMatch(String(world.errors[0]), /inside detail/);
  });
});

Deno.test("every answer says that it is no script, no frame and not to be kept, also what a gate refuses", async () => {
  await whileServed({
    ready: () => {
      throw new Error("inside detail");
    },
    view: viewOf(() => []),
    gate: {
      guard: (handle) => (request) =>
        request.url.endsWith("/metrics")
          ? Promise.resolve(new Response("no\n", { status: 401 }))
          : handle(request),
    },
  }, async (url) => {
    for (
      const [path, status] of [["/healthz", 200], ["/readyz", 500], ["/x", 404], ["/metrics", 401]] as const
    ) {
      const answer = await fetch(url + path);
      await answer.text();
      const said = [
        "x-content-type-options",
        "referrer-policy",
        "cross-origin-resource-policy",
        "cache-control",
        "content-security-policy",
      ].map((name) => answer.headers.get(name));
      assertEquals([answer.status, ...said], [
        status,
        "nosniff",
        "no-referrer",
        "same-origin",
        "no-store",
        "default-src 'none'; frame-ancestors 'none'",
      ], path);
    }
  });
});

Deno.test("an address in use is an error at once", async () => {
  await withServer(async ({ server }) => {
    let message = "";
    try {
      const listen = { hostname: "127.0.0.1", port: server.address.port };
      await (await serveView({ listen, view: viewOf(() => []) })).close();
    } catch (error) {
      message = error instanceof Error ? error.name : String(error);
    }
    assertEquals(message, "AddrInUse");
  });
});

Deno.test("W5: the server closes though a client keeps its connection and never asks anything", async () => {
  let idle: Deno.Conn | undefined;
  await withServer(async ({ server, url }) => {
    idle = await Deno.connect({ hostname: "127.0.0.1", port: server.address.port });
    await (await fetch(url + "/healthz")).text();
  });
  assertEquals(await idle?.read(new Uint8Array(1)), null);
  idle?.close();
});

Deno.test("ages are spelled as kubectl does", () => {
  const cases: [number, string][] = [[0, "0s"], [119_000, "119s"], [125_000, "2m5s"], [600_000, "10m"], [
    5 * 3_600_000,
    "5h",
  ], [3 * 86_400_000, "3d"]];
  for (const [ms, text] of cases) assertEquals(spell(ms), text);
});

Deno.test("the server says how many streams are open, for the metric", async () => {
  await withServer(async ({ url, server }) => {
    assertEquals(server.streams, 0);
    const stream = await fetch(`${url}/api/stream`);
    assertEquals([stream.status, server.streams], [200, 1]);
    await stream.body?.cancel();
    await eventually("it is closed", () => server.streams === 0);
  });
});
