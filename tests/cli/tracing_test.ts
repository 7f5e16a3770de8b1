/**
 * Spans of a run of the whole program, as a collector on loopback hears of them from Deno itself.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { eventually } from "../support/eventually.ts";
import { Child } from "./support.ts";

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
}

interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly status?: { readonly code?: number };
}

/** An OTLP/HTTP collector that takes JSON. */
function collector() {
  const spans: ExportedSpan[] = [];
  const tenants = new Set<string | null>();
  const resources = new Map<string, string | undefined>();
  let text = "";
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const body = await request.text();
    text += body;
    if (new URL(request.url).pathname === "/v1/traces") {
      tenants.add(request.headers.get("x-tenant"));
      for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
        for (const { key, value } of resource.attributes) resources.set(key, value.stringValue);
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
    }
    return Response.json({});
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    spans,
    tenants,
    resources,
    text: () => text,
    close: () => server.shutdown(),
  };
}

const fact = (span: ExportedSpan | undefined, key: string) =>
  span?.attributes.find((a) => a.key === key)?.value.stringValue;

Deno.test("each pass of an actor is a span with its effects inside, and their calls inside of those; log lines bear its trace", async () => {
  const directory = await Deno.makeTempDir();
  const heard = collector();
  const child = new Child(
    [
      ...["demo", "--cloud", "simulated", "--listen", "127.0.0.1:0", "--samples", "1"],
      ...["--provisioning", "1s", "--log-format", "json", "--log-level", "info"],
    ],
    ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write=.demo"],
    {
      cwd: directory,
      env: {
        OTEL_DENO: "true",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_ENDPOINT: heard.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=databases",
        OTEL_SERVICE_NAME: "externaldatabase-operator",
        OTEL_RESOURCE_ATTRIBUTES: "k8s.cluster.name=west",
        OTEL_BSP_SCHEDULE_DELAY: "200",
      },
    },
  );
  try {
    const line = JSON.parse(
      await child.line((l) => l.includes('"msg":"Transition"') && l.includes('"to":"Available"')),
    );
    assertMatch(line.traceId, /^[0-9a-f]{32}$/);
    const inside = (parent: ExportedSpan | undefined) =>
      heard.spans.filter((span) => parent !== undefined && span.parentSpanId === parent.spanId);
    const passes = () => heard.spans.filter((span) => span.name === "pass");
    // The spans come in batches, which may overtake each other: each is waited for until all that is in it came too.
    const innermost = (path: readonly string[]): ExportedSpan | undefined =>
      path.reduce<readonly ExportedSpan[]>(
        (of, name) => of.flatMap(inside).filter((s) => s.name === name),
        passes(),
      )[0];
    const told = async (...path: string[]) => {
      await eventually(`${path.join(" > ")} is told`, () => innermost(path) !== undefined);
      return innermost(path);
    };
    const call = await told("create", "cloud create");
    assertEquals(fact(call, "externaldatabase.provider"), "simulated");
    assertEquals(fact(call, "externaldatabase.lane"), "create");
    assertEquals(fact(call, "externaldatabase.outcome"), "ok");
    const patch = await told("finalize", "kubernetes patch");
    assertMatch(fact(patch, "externaldatabase.action") ?? "", /default\/orders|orders/);
    await told("finalize", "kubernetes patch", "PATCH");
    await eventually(
      "the pass that ends in Available is told",
      () => passes().some((pass) => fact(pass, "externaldatabase.to") === "Available"),
    );
    for (const pass of passes()) {
      assertEquals(pass.parentSpanId ?? "", "", "a pass is a trace of its own");
      assertEquals(fact(pass, "k8s.namespace.name"), "default");
      assertEquals(fact(pass, "externaldatabase.name"), line.name);
    }
    await eventually(
      "the trace that the log line bears is told",
      () => passes().some((pass) => pass.traceId === line.traceId),
    );
    assertEquals([...heard.tenants], ["databases"]);
    assertEquals(["service.name", "k8s.cluster.name"].map((key) => heard.resources.get(key)), [
      "externaldatabase-operator",
      "west",
    ]);
    const ids = new Set(heard.spans.map((span) => span.spanId));
    assertEquals(ids.size, heard.spans.length, "no span is told twice");
    assert(
      !heard.spans.some((s) => s.name.startsWith("kubernetes") && !s.parentSpanId),
      "no renewal is a trace",
    );
    assert(!/"password"|BEGIN PRIVATE|"Bearer /.test(heard.text()), "no secret is told");
  } finally {
    await child.end();
    await heard.close();
    await Deno.remove(directory, { recursive: true });
  }
});
