/**
 * The demo's world in this process, with a hand at the cloud's console: an embedded Kubernetes API, a simulated cloud, the
 * operator with its page, and sample databases.
 *
 * @module
 */
import { customResourceDefinition } from "../../src/api/crd.ts";
import { hostOperator } from "../../src/cli/host.ts";
import { sampleDatabases } from "../../src/cli/samples.ts";
import { systemClock as clock } from "../../src/core/clock.ts";
import { systemRandom as random } from "../../src/core/random.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { loadClusterConfig } from "../../src/kube/config.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import type { DatabaseDetail, FleetSnapshot } from "../../src/server/api/types.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { buildPage } from "../../tools/page.ts";

/** Longest wait for what a test awaits, in milliseconds. */
export const PATIENCE_MS = 60_000;

/** A running world. */
export interface World extends AsyncDisposable {
  /** Of the page, without a slash at its end. */
  readonly url: string;
  readonly cloud: SimulatedCloud;
  /** Asks the operator's API. */
  fleet(): Promise<FleetSnapshot>;
  detail(name: string): Promise<DatabaseDetail>;
  /** Patches a resource of the namespace `default`, as a person would by kubectl. */
  patch(name: string, change: unknown): Promise<void>;
}

const DATABASES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";

/** Opens a world with `samples` databases and waits until they are Ready. The page is built first. */
export async function openWorld(samples: number): Promise<World> {
  await buildPage();
  const log = { log: () => {} };
  const directory = await Deno.makeTempDir({ prefix: "externaldatabase-page-" });
  const served = await serveEmbeddedApi({ hostname: "127.0.0.1", port: 0, clock, random, log });
  const stop = new AbortController();
  const ask = async (method: "POST" | "PATCH", path: string, body: unknown) => {
    const answer = await served.api.fetch(
      new Request(`http://embedded${path}?fieldManager=test`, {
        method,
        headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
        body: JSON.stringify(body),
      }),
    );
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text.slice(0, 512)}`);
  };
  await ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", customResourceDefinition());
  const cloud = new SimulatedCloud({ clock, random, provisionMs: 500, account: "demo" });
  cloud.settings.modifyMs = 3_000;
  const kubeconfig = `${directory}/kubeconfig`;
  await Deno.writeTextFile(kubeconfig, served.kubeconfig());
  const listening = Promise.withResolvers<string>();
  const running = hostOperator({
    config: await loadClusterConfig({ clock, kubeconfig, env: () => undefined }),
    provider: createSimulatedProvider(cloud, { clock, timeoutMs: 10_000 }),
    identity: "page-test",
    listen: { hostname: "127.0.0.1", port: 0 },
    namespaces: [],
    pollIntervalMs: 10_000,
    cacheTtlMs: 10_000,
    concurrency: 64,
    rate: 0,
    callTimeoutMs: 10_000,
  }, {
    clock,
    random,
    log,
    signal: stop.signal,
    onListen: ({ port }) => listening.resolve(`http://127.0.0.1:${port}`),
  });
  running.catch(listening.reject);
  const url = await listening.promise;
  const get = async (path: string) => await (await fetch(`${url}${path}`)).json();
  for (const sample of sampleDatabases(samples)) await ask("POST", DATABASES, sample);
  const world: World = {
    url,
    cloud,
    fleet: () => get("/api/fleet"),
    detail: (name) => get(`/api/databases/default/${name}`),
    patch: (name, change) => ask("PATCH", `${DATABASES}/${name}`, change),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await served.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
  await eventually(
    "the samples are Ready",
    async () => {
      const { rows } = await world.fleet();
      return rows.length === samples && rows.every((row) => row.ready === "True");
    },
    PATIENCE_MS,
    100,
  );
  return world;
}
