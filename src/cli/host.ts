/**
 * Runs the operator in this process: election, work, the HTTP server, and an orderly end. `start` and `demo` share it.
 *
 * Promised at the end, in this order: no new work; calls in flight get their answers, within a bound; the lease is
 * released, but only with no mutation in flight (rule 21), else left to expire; Events are flushed; the server closes.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import type { ClusterConfig } from "../kube/config.ts";
import { createCluster } from "../kube/client.ts";
import { createEventRecorder, createEventsPort } from "../kube/events.ts";
import { LeaderElector } from "../kube/lease.ts";
import { createLeasePort } from "../kube/lease_port.ts";
import { Transport } from "../kube/transport.ts";
import { createOperator, type Operator } from "../operator/operator.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import { type OperatorServer, serveOperator } from "../server/http.ts";
import { startLoopMonitor } from "../server/loop.ts";
import { createMetrics } from "../server/metrics.ts";
import { fleetRows } from "./fleet_rows.ts";
import { hostOf, listening } from "./listening.ts";
import { healthOf, type Phase, readyOf } from "./reports.ts";
import type { ListenAddress } from "./values.ts";

/** What a hosted operator is made of and tuned by. Times are in milliseconds. */
export interface HostOptions {
  readonly config: ClusterConfig;
  readonly provider: DatabaseProvider;
  /** Unique to this process: holder of the lease, reporter of Events. */
  readonly identity: string;
  readonly listen: ListenAddress;
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
  /** Asks for the end. */
  readonly signal: AbortSignal;
  /** Told once the server listens. */
  readonly onListen?: (address: OperatorServer["address"], operator: Operator) => void;
}

/** Time beyond one call's own limit for recording its answer, in milliseconds. */
const DRAIN_EXTRA_MS = 5_000;
/** The longest drain, in milliseconds: a pod's grace period in `deploy/` is 60 s. */
const DRAIN_CAP_MS = 50_000;
/** How long Events may take at the end, in milliseconds. */
const FLUSH_MS = 2_000;
/** Deadline of a lease's renewal, in milliseconds: less than half of what the lease is held for. */
const LEASE_DEADLINE_MS = 5_000;

/** Runs until the signal aborts, then ends in order. Rejects when the address is taken or the lease was lost. */
export async function hostOperator(options: HostOptions, environment: HostEnvironment): Promise<void> {
  const { clock, random, log, signal, onListen } = environment;
  const { config, provider, identity, lease } = options;
  const loop = startLoopMonitor(clock);
  const metrics = createMetrics({ loop, lostLogLines: log.lost });
  const transport = new Transport({ config, clock, metrics });
  const leaseTransport = transport.separate({ deadlineMs: LEASE_DEADLINE_MS, concurrency: 2 });
  const recorder = createEventRecorder({
    events: createEventsPort(transport),
    clock,
    random,
    log,
    reportingInstance: identity,
  });
  const elector = lease &&
    new LeaderElector({ lease: createLeasePort(leaseTransport, lease), clock, random, log, identity });
  const operator = createOperator({
    cluster: createCluster(transport),
    provider,
    recorder,
    clock,
    random,
    log,
    metrics,
    namespaces: options.namespaces,
    pollIntervalMs: options.pollIntervalMs,
    cacheTtlMs: options.cacheTtlMs,
    concurrency: options.concurrency,
    ratePerSecond: options.rate,
    callTimeoutMs: options.callTimeoutMs,
    clusterId: options.clusterId,
    fence: elector && (() => elector.check()),
  });
  let phase: Phase = elector ? "standby" : "working";
  const subject = {
    operator,
    clock,
    loop,
    holder: () => elector?.holder,
    leaseError: () => elector?.problem,
  };
  try {
    const server = await listening(options.listen, "listen", () =>
      serveOperator({
        listen: options.listen,
        clock,
        health: () => healthOf(subject, phase),
        ready: () => readyOf(subject, phase),
        metrics,
        fleet: () => fleetRows(operator, clock),
        onError: (error) => log.log("error", "Answering an HTTP request failed", { error: messageOf(error) }),
      }));
    try {
      log.log("info", "The operator has started", {
        cluster: config.source,
        provider: provider.name,
        url: `http://${hostOf(server.address)}`,
      });
      onListen?.(server.address, operator);
      if (elector) await elect({ elector, operator, signal, log, onLead: () => phase = "working" });
      else await operator.run(signal);
    } finally {
      phase = "stopping";
      log.log("info", "The operator is stopping");
      await operator.drain(Math.min(options.callTimeoutMs + DRAIN_EXTRA_MS, DRAIN_CAP_MS));
      const open = operator.gateway.mutationsInFlight;
      if (open === 0) await elector?.release(new AbortController().signal);
      else log.log("warn", "Calls to the cloud did not end in time; the lease is left to expire", { open });
      await recorder.flush(FLUSH_MS);
      await server.close();
    }
  } finally {
    leaseTransport.close();
    transport.close();
    loop.stop();
  }
  log.log("info", "The operator has stopped");
}

interface Election {
  readonly elector: LeaderElector;
  readonly operator: Operator;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onLead: () => void;
}

/**
 * Waits for the lease, then works under it until the signal aborts. Rejects when the lease is lost: a process that
 * was frozen past its lease is not to go on, but to begin anew (H1).
 */
async function elect({ elector, operator, signal, log, onLead }: Election): Promise<void> {
  const leading = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // raced below; after the end of the race nobody listens
  // Not under `signal`: the lease is kept while calls in flight end. `release` ends the renewals.
  elector.run(new AbortController().signal, {
    onStartedLeading: () => leading.resolve(),
    onStoppedLeading: (reason) => lost.reject(new Error(`The lease was lost: ${reason}`)),
  }).catch((error: unknown) => lost.reject(error));
  await Promise.race([leading.promise, lost.promise, aborted(signal)]);
  if (signal.aborted) return;
  onLead();
  const work = operator.run(signal);
  work.catch((error: unknown) => log.log("error", "The operator failed", { error: messageOf(error) }));
  await Promise.race([work, lost.promise]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
