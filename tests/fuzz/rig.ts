/**
 * The whole operator on a Kubernetes API, embedded or real, with a fast simulated cloud; and all that it shows to
 * people, collected.
 *
 * @module
 */
import { GROUP, PLURAL, VERSION } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { fleetRows } from "../../src/cli/fleet_rows.ts";
import { systemClock } from "../../src/core/clock.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createEmbeddedApi } from "../../src/embedded/api.ts";
import { createCluster } from "../../src/kube/client.ts";
import { createSecrets } from "../../src/kube/secrets.ts";
import { createEventRecorder, createEventsPort } from "../../src/kube/events.ts";
import { Transport } from "../../src/kube/transport.ts";
import { createOperator, type Operator } from "../../src/operator/operator.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { createLogger } from "../../src/server/logger.ts";
import { viewOf } from "../support/fleet_view.ts";
import { serveView } from "../support/served.ts";
import { loopbackConfig } from "../kube/support.ts";

/** Everything that runs. */
export interface FuzzRig {
  readonly operator: Operator;
  readonly cloud: SimulatedCloud;
  /** Lines of the log, each with its line feed, as JSON and as text. */
  readonly lines: readonly string[];
  /** Path of the resources. */
  readonly path: string;
  /** The resources that the API holds. */
  readonly resources: () => Promise<ExternalDatabase[]>;
  /** Sends a request to the API; the body is a JSON value. */
  readonly ask: (method: string, path: string, body?: unknown, type?: string) => Promise<Answer>;
  /** The page, its JSON, and the Events' notes. */
  readonly shown: () => Promise<Shown>;
  readonly close: () => Promise<void>;
}

/** An answer of the API. */
export interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** What people see. */
export interface Shown {
  readonly page: string;
  readonly json: string;
  readonly notes: readonly string[];
}

/** The engines and versions that a cloud offers; `null`: whatever is asked for. */
export type Engines = Record<string, string[]> | null;

/** An API that a rig runs on. */
export interface FuzzApi {
  readonly namespace: string;
  /** A request as an admin. */
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** The operator's own way to it. */
  readonly transport: Transport;
  readonly close: () => void;
}

/** An embedded API under a CustomResourceDefinition. */
export async function embeddedApi(crd: unknown): Promise<FuzzApi> {
  const clock = systemClock;
  const api = createEmbeddedApi({ clock, random: seededRandom(1) });
  const fetch: FuzzApi["fetch"] = (path, init) => api.fetch(new Request(`http://embedded${path}`, init));
  const made = await fetch("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(crd),
  });
  if (made.status !== 201) throw new Error(`Creating the CRD failed: ${await made.text()}`);
  await made.body?.cancel();
  const transport = new Transport({
    config: loopbackConfig("http://embedded"),
    clock,
    fetch: (url, { client: _, ...init }) => api.fetch(new Request(url, init)),
    createClient: () => ({ close: () => {} }),
  });
  return { namespace: "default", fetch, transport, close: () => api.close() };
}

/** Starts the operator on an API, with a cloud. */
export async function startFuzzRig(api: FuzzApi, engines: Engines): Promise<FuzzRig> {
  const clock = systemClock;
  const cloud = new SimulatedCloud({
    clock,
    random: seededRandom(2),
    engines,
    latencyMs: 1,
    provisionMs: 30,
    modifyMs: 30,
    deleteMs: 30,
    readLagMs: 0,
    effectBoundMs: 100,
  });
  const ask: FuzzRig["ask"] = async (method, path, body, type = "application/json") => {
    const init = body === undefined
      ? { method }
      : { method, headers: { "content-type": type }, body: JSON.stringify(body) };
    const answer = await api.fetch(path, init);
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
  const path = `/apis/${GROUP}/${VERSION}/namespaces/${api.namespace}/${PLURAL}`;
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const json = createLogger({ format: "json", level: "debug", clock, write });
  const text = createLogger({ format: "text", level: "debug", clock, write });
  const log: typeof json = {
    lost: () => json.lost() + text.lost(),
    log: (level, message, fields) => {
      json.log(level, message, fields);
      text.log(level, message, fields);
    },
  };
  const recorder = createEventRecorder({
    events: createEventsPort(api.transport),
    clock,
    random: seededRandom(3),
    log,
    reportingInstance: "fuzz",
    rate: 10_000,
  });
  const operator = createOperator({
    cluster: createCluster(api.transport),
    secrets: createSecrets(api.transport),
    provider: createSimulatedProvider(cloud, { clock }),
    recorder,
    clock,
    random: seededRandom(4),
    log,
    metrics: noMetrics,
    pollIntervalMs: 10_000,
    namespaces: [api.namespace],
  });
  const server = await serveView({ clock, view: viewOf(() => fleetRows(operator, clock)) });
  const abort = new AbortController();
  const running = operator.run(abort.signal);
  return {
    operator,
    cloud,
    lines,
    ask,
    path,
    resources: async () => (await ask("GET", path)).body.items,
    shown: async () => {
      await recorder.flush(2_000);
      const get = async (path: string) => await (await fetch(server.url + path)).text();
      const events = await ask("GET", `/apis/events.k8s.io/v1/namespaces/${api.namespace}/events`);
      return {
        page: await get("/?limit=1000"),
        json: await get("/api/databases?limit=1000"),
        notes: events.body.items.map((event: { note?: string }) => event.note ?? ""),
      };
    },
    close: async () => {
      abort.abort(new Error("The test is over"));
      await operator.drain(2_000);
      await running;
      await recorder.flush(1_000);
      await server.close();
      api.transport.close();
      api.close();
    },
  };
}
