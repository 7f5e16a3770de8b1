/**
 * Runs the operator in this process: election, work, the HTTP server, and an orderly end. `start` and `demo` share it.
 *
 * Promised at the end, in this order: no new work; calls in flight get their answers, within a bound; the lease is
 * released, but only with no mutation in flight (rule 21), else left to expire; Events are flushed; the server closes.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import type { Tracing } from "../core/tracing.ts";
import { messageOf } from "../core/text.ts";
import type { ClusterConfig } from "../kube/config.ts";
import { createClasses } from "../kube/classes.ts";
import { createCluster } from "../kube/client.ts";
import { createSecrets } from "../kube/secrets.ts";
import { createEventRecorder, createEventsPort } from "../kube/events.ts";
import { createLeasePort } from "../kube/lease_port.ts";
import { Transport } from "../kube/transport.ts";
import type { ClassesDeps } from "../operator/classes.ts";
import { toldOnce } from "../operator/history/failure.ts";
import { History } from "../operator/history/history.ts";
import { createOperator, type Operator } from "../operator/operator.ts";
import { Tenure } from "../operator/tenure.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import { type OperatorServer, serveOperator } from "../server/http.ts";
import { startLoopMonitor } from "../server/loop.ts";
import { createMetrics } from "../server/metrics.ts";
import { readOperator } from "./readings.ts";
import { databaseChart } from "../server/api/database_chart.ts";
import { fleetView } from "./fleet_view.ts";
import type { HttpOptions } from "./http_options.ts";
import { hostOf, listening } from "./listening.ts";
import { secureHttp } from "./secure_http.ts";
import { healthOf, readyOf } from "./reports.ts";
import type { ListenAddress } from "./values.ts";

/** What a hosted operator is made of and tuned by. Times are in milliseconds. */
export interface HostOptions {
  readonly config: ClusterConfig;
  readonly provider: DatabaseProvider;
  /** How classes are served. @default not at all */
  readonly classes?: Omit<ClassesDeps, "port"> | undefined;
  /** Unique to this process: holder of the lease, reporter of Events. */
  readonly identity: string;
  readonly listen: ListenAddress;
  /** Who may see metrics and the page. @default none: everybody */
  readonly httpAuth?: HttpOptions["httpAuth"];
  /** Files of the HTTP server's certificate and key. @default plain HTTP */
  readonly tls?: HttpOptions["tls"];
  readonly namespaces: readonly string[];
  readonly pollIntervalMs: number;
  readonly cacheTtlMs: number;
  readonly concurrency: number;
  readonly rate: number;
  readonly callTimeoutMs: number;
  readonly clusterId?: string | undefined;
  /** Absent: no election. */
  readonly lease?: { readonly namespace: string; readonly name: string } | undefined;
}

/** What comes from outside. */
export interface HostEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger & { readonly lost?: () => number };
  /** Told of passes, effects and calls. @default nobody is */
  readonly tracing?: Tracing | undefined;
  /** Asks for the end. */
  readonly signal: AbortSignal;
  /** Told once the server listens. */
  readonly onListen?: (address: OperatorServer["address"], operator: Operator) => void;
}

/** Where `deno task page` puts the page. */
const PAGE_FOLDER = fromFileUrl("../../dist/page");
/** How long Events may take at the end, in milliseconds. */
const FLUSH_MS = 2_000;
/** Deadline of a lease's renewal, in milliseconds: less than half of what the lease is held for. */
const LEASE_DEADLINE_MS = 5_000;

function fromFileUrl(path: string): string {
  return decodeURIComponent(new URL(path, import.meta.url).pathname);
}

/** Runs until the signal aborts, then ends in order. Rejects when the address is taken or the lease was lost. */
export async function hostOperator(options: HostOptions, environment: HostEnvironment): Promise<void> {
  const { clock, random, log, signal, onListen, tracing } = environment;
  const { config, provider, identity, lease } = options;
  const loop = startLoopMonitor(clock);
  const metrics = createMetrics({ loop, lostLogLines: log.lost, version: project.version });
  const transport = new Transport({ config, clock, metrics, tracing });
  const leaseTransport = transport.separate({ deadlineMs: LEASE_DEADLINE_MS, concurrency: 2 });
  const recorder = createEventRecorder({
    events: createEventsPort(transport),
    clock,
    random,
    log,
    reportingInstance: identity,
  });
  const history = new History(clock, { onFailure: toldOnce({ log, metrics }) });
  const tenure = new Tenure({
    operator: (fence) =>
      createOperator({
        cluster: createCluster(transport),
        secrets: createSecrets(transport),
        provider,
        classes: options.classes && { ...options.classes, port: createClasses(transport) },
        recorder,
        clock,
        random,
        log,
        metrics,
        tracing,
        namespaces: options.namespaces,
        pollIntervalMs: options.pollIntervalMs,
        cacheTtlMs: options.cacheTtlMs,
        concurrency: options.concurrency,
        ratePerSecond: options.rate,
        callTimeoutMs: options.callTimeoutMs,
        clusterId: options.clusterId,
        fence,
        history,
      }),
    clock,
    random,
    log,
    identity,
    lease: lease && createLeasePort(leaseTransport, lease),
    callTimeoutMs: options.callTimeoutMs,
  });
  const { operator, elector } = tenure;
  const subject = {
    operator,
    clock,
    loop,
    holder: () => elector?.holder,
    leaseError: () => elector?.problem,
  };
  try {
    const secure = await secureHttp(options, { transport, clock, log, metrics });
    const server = await listening(options.listen, "listen", () =>
      serveOperator({
        listen: options.listen,
        clock,
        health: () => healthOf(subject, tenure.phase),
        ready: () => readyOf(subject, tenure.phase),
        metrics,
        view: fleetView({ operator, history, clock, phase: () => tenure.phase }),
        chart: databaseChart,
        pageFolder: PAGE_FOLDER,
        gate: secure.gate,
        pair: secure.pair,
        onError: (error) => log.log("error", "Answering an HTTP request failed", { error: messageOf(error) }),
      }));
    try {
      log.log("info", "The operator has started", {
        cluster: config.source,
        provider: provider.name,
        url: `${secure.pair === undefined ? "http" : "https"}://${hostOf(server.address)}`,
      });
      metrics.attach(() => ({
        ...readOperator(operator, tenure.phase, clock),
        httpConnections: server.connections,
        streamClients: server.streams,
      }));
      onListen?.(server.address, operator);
      secure.follow((pair) => server.replace(pair));
      await tenure.run(signal);
    } finally {
      await secure.end();
      await recorder.flush(FLUSH_MS);
      await server.close();
    }
  } finally {
    leaseTransport.close();
    transport.close();
    await provider.close?.().catch((error: unknown) => {
      log.log("warn", "Failed to close the provider", { error: String(error) });
    });
    loop.stop();
  }
  log.log("info", "The operator has stopped");
}
