/**
 * Runs the operator in this process on a real API server with a simulated cloud: what most tests here begin with.
 *
 * @module
 */
import { systemClock } from "../../src/core/clock.ts";
import type { LogFields, Logger, LogLevel } from "../../src/core/log.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createCluster } from "../../src/kube/client.ts";
import { createSecrets } from "../../src/kube/secrets.ts";
import { loadClusterConfig } from "../../src/kube/config.ts";
import { createEventRecorder, createEventsPort } from "../../src/kube/events.ts";
import { Transport } from "../../src/kube/transport.ts";
import { createOperator, type Operator, type OperatorDeps } from "../../src/operator/operator.ts";
import { SimulatedCloud, type SimulatedCloudOptions } from "../../src/providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { stringify } from "yaml";
import type { Kube } from "./kube.ts";

/** A logged line. */
export interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A running operator with its cloud and what it logged. */
export interface Rig {
  readonly operator: Operator;
  readonly cloud: SimulatedCloud;
  readonly lines: readonly Line[];
  /** Stops it as SIGTERM does. */
  stop(): Promise<void>;
  /** Stops it as a crash does: nothing in flight is awaited. */
  crash(): void;
}

/** What a test may set. */
export interface RigOptions extends Partial<Omit<OperatorDeps, "cluster" | "provider">> {
  readonly cloud?: SimulatedCloud | Partial<SimulatedCloudOptions>;
  readonly kubeconfig?: string;
}

/** A fast cloud for tests. */
export function fastCloud(options: Partial<SimulatedCloudOptions> = {}): SimulatedCloud {
  return new SimulatedCloud({
    clock: systemClock,
    random: seededRandom(7),
    latencyMs: 5,
    provisionMs: 300,
    modifyMs: 300,
    deleteMs: 300,
    readLagMs: 0,
    effectBoundMs: 500,
    ...options,
  });
}

/** Starts the operator on `kube`. */
export async function startRig(kube: Kube, options: RigOptions = {}): Promise<Rig> {
  const { cloud: given, kubeconfig = kube.kubeconfig, ...rest } = options;
  const cloud = given instanceof SimulatedCloud ? given : fastCloud(given);
  const lines: Line[] = [];
  const log: Logger = {
    log: (level, message, fields = {}) => {
      lines.push({ level, message, fields });
      if (lines.length > 50_000) lines.shift();
    },
  };
  const config = await loadClusterConfig({ kubeconfig, clock: systemClock });
  const clock = systemClock;
  const transport = new Transport({ config, clock });
  const recorder = createEventRecorder({
    events: createEventsPort(transport),
    clock,
    random: seededRandom(3),
    log,
    reportingInstance: "test",
    rate: 200,
  });
  const operator = createOperator({
    cluster: createCluster(transport),
    secrets: createSecrets(transport),
    provider: createSimulatedProvider(cloud, { clock }),
    recorder,
    clock,
    random: seededRandom(1),
    log,
    metrics: noMetrics,
    pollIntervalMs: 2_000,
    ...rest,
  });
  const abort = new AbortController();
  const running = operator.run(abort.signal);
  return {
    operator,
    cloud,
    lines,
    stop: async () => {
      abort.abort(new Error("The test stops the operator"));
      await operator.drain(5_000);
      await running;
      await recorder.flush(1_000);
      transport.close();
    },
    crash: () => {
      abort.abort(new Error("The test crashes the operator"));
      void operator.drain(0);
    },
  };
}

/** Applies an object by server-side apply as the admin; throws what the API server says when it refuses. */
export async function apply(kube: Kube, object: unknown): Promise<ExternalDatabase> {
  const o = object as { metadata: { namespace: string; name: string } };
  const path =
    `/apis/crd.my.domain/v1/namespaces/${o.metadata.namespace}/externaldatabases/${o.metadata.name}`;
  const answer = await kube.fetch(`${path}?fieldManager=test&force=true`, {
    method: "PATCH",
    headers: { "content-type": "application/apply-patch+yaml" },
    body: stringify(object),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status} ${body.message}`);
  return body as ExternalDatabase;
}

/** A manifest. */
export function manifest(namespace: string, name: string, spec: Record<string, unknown> = {}) {
  return {
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabase",
    metadata: { namespace, name },
    spec: { engine: "postgres", version: "14.2", sizeGb: 20, ...spec },
  };
}

/** Reads a CR; `undefined` when it is gone. */
export async function read(
  kube: Kube,
  namespace: string,
  name: string,
): Promise<ExternalDatabase | undefined> {
  const answer = await kube.fetch(`/apis/crd.my.domain/v1/namespaces/${namespace}/externaldatabases/${name}`);
  const body = await answer.json();
  if (answer.status === 404) return undefined;
  if (!answer.ok) throw new Error(`${answer.status} ${body.message}`);
  return body as ExternalDatabase;
}

/** The condition of that type, as `status/reason`. */
export function conditionOf(object: ExternalDatabase | undefined, type: string): string {
  const c = object?.status?.conditions?.find((c) => c.type === type);
  return c === undefined ? "none" : `${c.status}/${c.reason}`;
}

/** What the condition of that type says. */
export function messageOf(object: ExternalDatabase | undefined, type: string): string {
  return object?.status?.conditions?.find((c) => c.type === type)?.message ?? "";
}

/** All CRs of a namespace. */
export async function list(kube: Kube, namespace: string): Promise<ExternalDatabase[]> {
  const answer = await kube.fetch(`/apis/crd.my.domain/v1/namespaces/${namespace}/externaldatabases`);
  const body = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status} ${body.message}`);
  return body.items as ExternalDatabase[];
}
