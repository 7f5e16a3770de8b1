/**
 * No secret in anything that the operator says: the program itself, as `deno task start` runs it, against a cloud that tells
 * back all it was sent. Every path of its HTTP server that the code or its documentation names is read, so that a new one is
 * read too; and its log in both formats, all Events, statuses, Leases and classes, and what is exported to a collector of
 * telemetry.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { classResourceDefinition, customResourceDefinition } from "../../src/api/crd.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { createCloudHandler } from "../../src/providers/simulated/server.ts";
import { Child } from "../cli/support.ts";
import { eventually } from "../support/eventually.ts";

const TOKENS = { flags: "flags-token-0123456789abcdef", class: "class-token-0123456789abcdef" };
const GROUP = "/apis/crd.my.domain/v1";
const SECRETS = "/api/v1/namespaces/default/secrets";
const SERVER = new URL("../../src/server/", import.meta.url);
const PATIENCE_MS = 60_000;

/** Every path that the server's code and documentation name, with the parts of a resource put in. */
async function paths(folder = SERVER): Promise<string[]> {
  const found = new Set<string>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) { for (const path of await paths(new URL(`${name}/`, folder))) found.add(path); }
    else if (name.endsWith(".ts")) {
      const text = await Deno.readTextFile(new URL(name, folder));
      for (const [, path] of text.matchAll(/(?:GET |case ["'`]|["'`])(\/(?:[a-z][\w{}/.:$-]*)?)/g)) {
        if (!path!.includes("$")) {
          found.add(path!.replace(/[{:]namespace}?/, "default").replace(/[{:]name}?/, "orders"));
        }
      }
    }
  }
  return [...found].toSorted();
}

/** All of an answer; of a stream that does not end what comes in two seconds. */
async function read(url: string): Promise<string> {
  const answer = await fetch(url);
  let text = `${answer.status} ${[...answer.headers].flat().join(" ")}\n`;
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  const timer = setTimeout(() => void reader?.cancel().catch(() => {}), 2_000);
  try {
    for (let part; reader !== undefined && !(part = await reader.read()).done;) {
      text += decoder.decode(part.value);
    }
  } finally {
    clearTimeout(timer);
  }
  return text;
}

/** A cloud that, asked to, refuses changes with an error which quotes the request: headers, body and all. */
function serveTellTale(cloud: SimulatedCloud) {
  const handle = createCloudHandler(cloud);
  const told = { status: 0, count: 0 };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    if (told.status === 0 || !["POST", "PATCH"].includes(request.method)) return await handle(request);
    told.count++;
    const headers = [...request.headers].map(([name, value]) => `${name}: ${value}`).join("; ");
    const message = `cannot take ${await request.text()} (${headers})`;
    return Response.json({ error: { code: "InvalidParameter", message } }, { status: told.status });
  });
  return { told, url: `http://127.0.0.1:${server.addr.port}`, close: () => server.shutdown() };
}

/** A collector of OpenTelemetry: all that it was sent, by path. */
function serveCollector() {
  const heard: Record<string, string> = {};
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const path = `telemetry ${new URL(request.url).pathname}`;
    heard[path] = `${heard[path] ?? ""}${await request.text()}\n`;
    return Response.json({});
  });
  return { heard, url: `http://127.0.0.1:${server.addr.port}`, close: () => server.shutdown() };
}

for (const format of ["json", "text"] as const) {
  Deno.test(`rule 25: no password and no token is in the log (${format}), in any answer of the HTTP server, an Event, a status, a class or telemetry`, async () => {
    const clouds = [1, 2].map((seed) =>
      new SimulatedCloud({
        ...{ clock: systemClock, random: seededRandom(seed), latencyMs: 1, account: `account-${seed}` },
        ...{
          provisionMs: 30,
          modifyMs: 30,
          deleteMs: 30,
          readLagMs: 0,
          effectBoundMs: 100,
          passwords: "always",
        },
      })
    );
    const [ofFlags, ofClass] = clouds.map(serveTellTale) as [Telltale, Telltale];
    const collector = serveCollector();
    const served = await serveEmbeddedApi();
    const dir = await Deno.makeTempDir();
    const ask = async (method: string, path: string, body?: unknown) => {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const init = body === undefined
        ? { method }
        : { method, headers: { "content-type": type }, body: JSON.stringify(body) };
      const answer = await served.api.fetch(new Request(`http://embedded${path}`, init));
      const text = await answer.text();
      assert(answer.ok || answer.status === 404, `${method} ${path}: ${text}`);
      return { status: answer.status, body: JSON.parse(text) };
    };
    const secrets = new Map<string, string>(Object.entries(TOKENS));
    const passwordOf = async (name: string) => {
      const { status, body } = await ask("GET", `${SECRETS}/${name}-connection`);
      return status === 200 ? atob(body.data?.password ?? "") : "";
    };
    const ready = async (name: string) => {
      const { body } = await ask("GET", `${GROUP}/namespaces/default/externaldatabases/${name}`);
      const conditions: { status: string }[] = body.status?.conditions ?? [];
      return conditions.length > 0 && conditions.every(({ status }) => status === "True");
    };
    const next = async (name: string, what: string) => {
      await eventually(
        `${name} is ${what}`,
        async () => {
          const password = await passwordOf(name);
          return password !== "" && ![...secrets.values()].includes(password) && await ready(name);
        },
        PATIENCE_MS,
        50,
      );
      secrets.set(`${name} ${what}`, await passwordOf(name));
    };
    let child: Child | undefined;
    try {
      const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      await ask("POST", crds, customResourceDefinition());
      await ask("POST", crds, classResourceDefinition());
      await ask("POST", SECRETS, {
        ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "keys", namespace: "default" } },
        data: { token: btoa(TOKENS.class) },
      });
      await ask("POST", `${GROUP}/externaldatabaseclasses`, {
        ...{ apiVersion: "crd.my.domain/v1", kind: "ExternalDatabaseClass", metadata: { name: "other" } },
        spec: {
          ...{ provider: "http", parameters: { url: ofClass.url } },
          credentialsSecretRef: { name: "keys", namespace: "default" },
        },
      });
      await Deno.writeTextFile(`${dir}/kubeconfig`, served.kubeconfig());
      await Deno.writeTextFile(`${dir}/token`, `${TOKENS.flags}\n`);
      child = new Child(
        [
          ...["start", "--provider=http", `--cloud-url=${ofFlags.url}`, `--cloud-token-file=${dir}/token`],
          ...[`--kubeconfig=${dir}/kubeconfig`, "--listen=127.0.0.1:0", "--poll-interval=10s"],
          ...[`--log-format=${format}`, "--log-level=debug"],
        ],
        ["--allow-env", "--allow-read", "--allow-net=127.0.0.1"],
        {
          env: {
            ...{ OTEL_DENO: "true", OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
            ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: "200" },
          },
        },
      );
      const started = await child.line((line) => line.includes("The operator has started"));
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(started)![0];
      const shown: Record<string, string> = {};
      const all = await paths();
      const look = async (when = "") => {
        await Promise.all(all.map(async (path) => shown[`${path}${when}`] = await read(`${url}${path}`)));
        for (const plural of ["externaldatabases", "externaldatabaseclasses"]) {
          shown[`${plural}${when}`] = JSON.stringify((await ask("GET", `${GROUP}/${plural}`)).body);
        }
      };
      const annotate = (name: string, value: string) =>
        ask("PATCH", `${GROUP}/namespaces/default/externaldatabases/${name}`, {
          metadata: { annotations: { "db.my.domain/rotate-password": value } },
        });
      for (const [name, className] of [["orders", ""], ["carts", "other"]] as const) {
        await ask("POST", `${GROUP}/namespaces/default/externaldatabases`, {
          ...{
            apiVersion: "crd.my.domain/v1",
            kind: "ExternalDatabase",
            metadata: { name, namespace: "default" },
          },
          spec: { engine: "postgres", version: "14.2", sizeGb: 20, className },
        });
        await next(name, "created");
      }
      await annotate("orders", "1");
      await next("orders", "rotated");
      await ask("DELETE", `${SECRETS}/orders-connection`);
      await next("orders", "rebuilt");
      // Refused with an error that tells the password; a status that shows it is written meanwhile.
      for (const [cloud, name] of [[ofFlags, "orders"], [ofClass, "carts"]] as const) {
        for (const status of [400, 500]) {
          cloud.told.status = status;
          const before = cloud.told.count;
          await annotate(name, `refused-${status}`);
          await eventually("the refusal", () => cloud.told.count > before, PATIENCE_MS, 50);
          await eventually("it is told", async () => !await ready(name), PATIENCE_MS, 50);
          secrets.set(`${name} refused ${status}`, await passwordOf(name));
          await look(`${name} refused ${status}`);
          cloud.told.status = 0;
          await ask("PATCH", `${GROUP}/namespaces/default/externaldatabases/${name}`, {
            metadata: { annotations: { "db.my.domain/reconcile": `${status}` } },
          });
          await eventually("it is well again", () => ready(name), PATIENCE_MS, 50);
        }
      }
      await look();
      for (const path of ["/plain", "/api/databases"]) {
        assert(shown[path]?.includes("orders"), `${path}: ${shown[path]}`);
      }
      for (const path of ["/", "/metrics", "/healthz", "/readyz", "/api/orphans"]) {
        assert(shown[path]?.startsWith("200"), `${path}: ${shown[path]}`);
      }
      shown["Events"] = JSON.stringify((await ask("GET", "/apis/events.k8s.io/v1/events")).body);
      shown["Leases"] = JSON.stringify((await ask("GET", "/apis/coordination.k8s.io/v1/leases")).body);
      for (const name of ["orders", "carts"]) {
        await ask("DELETE", `${GROUP}/namespaces/default/externaldatabases/${name}`);
        await eventually(`${name} is gone`, async () => await passwordOf(name) === "", PATIENCE_MS, 50);
      }
      child.kill("SIGTERM");
      assertEquals(await child.code(), 0);
      shown["log"] = child.out;
      shown["standard error"] = child.err;
      assert(shown["log"].length > 2_000 && shown["Events"].includes("SecretWritten"), "they speak of it");
      Object.assign(shown, collector.heard);
      assert(shown["telemetry /v1/traces"]?.includes("orders"), "they speak of it");
      // One that was made but never set is a password of the time after; all of them are looked for.
      assert(secrets.size >= 8, [...secrets.keys()].join());
      const leaks = Object.entries(shown).flatMap(([where, text]) =>
        [...secrets].filter(([, secret]) => text.includes(secret) || text.includes(btoa(secret)))
          .map(([what]) => `${what} in ${where}`)
      );
      assertEquals(leaks, []);
    } finally {
      await child?.end();
      await served.close();
      for (const each of [ofFlags, ofClass, collector]) await each.close();
      await Deno.remove(dir, { recursive: true });
    }
  });
}

type Telltale = ReturnType<typeof serveTellTale>;
