/**
 * `demo`: a whole world on this machine, with nothing installed: an embedded Kubernetes API, a cloud of real PostgreSQL
 * servers or a simulated one, the operator, its page, and sample databases.
 *
 * Everything listens on loopback, behind secrets that only files of this user hold; those files are in `.demo/`, which
 * is removed at the end.
 *
 * @module
 */
import { customResourceDefinition } from "../api/crd.ts";
import type { Clock } from "../core/clock.ts";
import { sleep } from "../core/wait.ts";
import type { EmbeddedApi } from "../embedded/api.ts";
import { serveEmbeddedApi } from "../embedded/serve.ts";
import { loadClusterConfig } from "../kube/config.ts";
import { createApiHandler, serveHandler } from "../providers/served/http.ts";
import { type DemoCloud, openDemoCloud } from "./demo_cloud.ts";
import { openDemoDirectory } from "./demo_directory.ts";
import { introduction, login, table } from "./demo_text.ts";
import { fleetRows } from "./fleet_rows.ts";
import { type HostEnvironment, hostOperator } from "./host.ts";
import { hostOf, listening } from "./listening.ts";
import type { DemoOptions } from "./options.ts";
import { sampleDatabases } from "./samples.ts";
import type { Operator } from "../operator/operator.ts";
import type { OperatorServer } from "../server/http.ts";

/** What the demo takes from outside. */
export interface DemoEnvironment extends HostEnvironment {
  /** Writes for the person in front of the terminal. */
  readonly say: (text: string) => Promise<void>;
  /** @default ".demo" */
  readonly directory?: string;
}

/** How long one cloud call may take, in milliseconds. */
const CALL_TIMEOUT_MS = 10_000;
/** How often and for how long the samples are looked at until they are Ready, in milliseconds. */
const LOOK_MS = 200;
const READY_LIMIT_MS = 120_000;

/** Runs until the signal aborts; leaves nothing behind. Rejects when an address is taken or `.demo` is in use. */
export async function runDemo(options: DemoOptions, environment: DemoEnvironment): Promise<void> {
  const { clock, random, log, signal, say } = environment;
  const directory = await openDemoDirectory(environment.directory ?? ".demo");
  const ends: (() => Promise<unknown>)[] = [() => directory.remove()];
  try {
    const { hostname, port } = options.apiListen;
    const served = await listening(options.apiListen, "api-listen", () =>
      serveEmbeddedApi({
        hostname,
        port,
        clock,
        random,
        log,
        secretPath: crypto.randomUUID(),
      }));
    ends.push(() => served.close());
    const cloudToken = crypto.randomUUID();
    const cloud = await openDemoCloud(options, {
      ...{ clock, random, log, signal, directory, say },
      callTimeoutMs: CALL_TIMEOUT_MS,
    });
    ends.push(() => cloud.close());
    const handler = createApiHandler(cloud.answering, {
      tokens: () => [cloudToken],
      beside: consoleOf(cloud, cloudToken),
    });
    const cloudServer = serveHandler(handler, {
      onError: (error) => log.log("error", "The cloud failed", { error: String(error) }),
    });
    ends.push(() => cloudServer.close());
    const kubeconfig = await directory.write("kubeconfig", served.kubeconfig());
    const tokenFile = await directory.write("cloud-token", `${cloudToken}\n`);
    await directory.write("cloud-url", `${cloudServer.url}\n`);
    await post(served.api, CRDS_PATH, customResourceDefinition());
    const stop = new AbortController();
    const running = AbortSignal.any([signal, stop.signal]);
    const tell = async (address: OperatorServer["address"], operator: Operator) => {
      const page = `http://${hostOf(address)}/`;
      const api = new URL(served.url).origin;
      const { kind, instead } = cloud;
      await say(introduction({ api, kubeconfig, page, cloud: cloudServer.url, tokenFile, kind, instead }));
      for (const sample of sampleDatabases(options.samples, kind)) {
        await post(served.api, SAMPLES_PATH, sample);
      }
      await say(await readyTable(operator, options.samples, clock, running));
      if (kind === "local" && options.samples > 0) await say(login("orders"));
    };
    let telling: Promise<void> = Promise.resolve();
    let failure: unknown;
    const onListen = (address: OperatorServer["address"], operator: Operator) => {
      telling = tell(address, operator).catch((error: unknown) => {
        failure = error;
        stop.abort(error);
      });
    };
    // The file is all that the operator knows of the cluster: it reads it as anyone would.
    const config = await loadClusterConfig({ clock, kubeconfig, env: () => undefined });
    await hostOperator({
      config,
      provider: cloud.provider,
      identity: `demo_${crypto.randomUUID()}`,
      listen: options.listen,
      namespaces: [],
      pollIntervalMs: options.pollIntervalMs,
      cacheTtlMs: options.pollIntervalMs,
      concurrency: 64,
      rate: 0,
      callTimeoutMs: CALL_TIMEOUT_MS,
    }, { ...environment, signal: running, onListen });
    await telling;
    if (failure !== undefined) throw failure;
  } finally {
    for (const end of ends.reverse()) {
      await end().catch((error: unknown) =>
        log.log("error", "Ending a part of the demo failed", { error: String(error) })
      );
    }
  }
  await say("\nStopped; .demo is gone.\n");
}

/** The simulated cloud's console, for whoever holds the token. */
function consoleOf({ console }: DemoCloud, token: string) {
  return (request: Request, url: URL): Promise<Response> | undefined => {
    if (console === undefined || !url.pathname.startsWith("/admin/")) return undefined;
    if (request.headers.get("authorization") === `Bearer ${token}`) return console(request, url);
    return Promise.resolve(new Response(null, { status: 401 }));
  };
}

const CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SAMPLES_PATH = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";

/** Creates an object at the embedded API, as `kubectl create` would. */
async function post(api: EmbeddedApi, path: string, object: unknown): Promise<void> {
  const answer = await api.fetch(
    new Request(`http://embedded${path}?fieldManager=demo&fieldValidation=Strict`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(object),
    }),
  );
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Creating an object at ${path} failed: ${text.slice(0, 512)}`);
}

/** Waits for the samples, then the table of them; also when they take too long. */
async function readyTable(
  operator: Operator,
  count: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  if (count === 0) return "";
  const since = clock.monotonic();
  while (!signal.aborted) {
    const rows = fleetRows(operator, clock);
    const took = clock.monotonic() - since;
    // What kubectl would show counts, not what the actor thinks.
    const ready = rows.filter((row) => row.ready === "True" && row.endpoint !== undefined).length;
    if (ready >= count) return table(rows, `All ${count} are Ready after ${(took / 1_000).toFixed(1)} s:`);
    if (took > READY_LIMIT_MS) {
      return table(rows, `After ${Math.round(took / 1_000)} s ${ready} of ${count} are Ready:`);
    }
    await sleep(clock, LOOK_MS, signal).catch(() => {}); // an abort ends the loop
  }
  return "";
}
