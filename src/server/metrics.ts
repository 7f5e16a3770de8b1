/**
 * The {@linkcode Metrics} port over prom-client, in a registry of its own.
 *
 * Names are controller-runtime's and client-go's where the meaning is theirs, else `externaldatabase_…`. Every label
 * value comes from a closed set or is capped ({@linkcode MAX_LABEL_VALUES}): no CR's data can make series without end.
 *
 * @module
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics } from "../core/metrics.ts";
import type { LoopMonitor } from "./loop.ts";

/** Different values of one label that are told apart; later ones count as `other`. */
export const MAX_LABEL_VALUES = 64;

/** The controller's name in controller-runtime's metrics. */
const CONTROLLER = "externaldatabase";

/** Bounds in seconds; calls to a cloud take from milliseconds to its deadline. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What {@linkcode createMetrics} takes. */
export interface MetricsOptions {
  /** Shown as gauges when given. */
  readonly loop?: LoopMonitor | undefined;
  /** Lines that the logger lost, shown when given. */
  readonly lostLogLines?: (() => number) | undefined;
}

/** {@linkcode Metrics} that can be read. */
export interface PrometheusMetrics extends Metrics {
  /** All metrics in Prometheus' text format. */
  render(): Promise<string>;
  /** The content type of {@linkcode render}. */
  readonly contentType: string;
}

/** Metrics in a registry of their own. */
export function createMetrics(options: MetricsOptions = {}): PrometheusMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter<L>({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge<L>({ name, help, labelNames, registers });
  const seconds = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Histogram<L>({ name, help, labelNames, registers, buckets: SECONDS });

  const reconciles = counter(
    "controller_runtime_reconcile_total",
    "Effects of actors that ended, by result.",
    "controller",
    "result",
  );
  const reconcileTime = seconds(
    "controller_runtime_reconcile_time_seconds",
    "How long an actor's effect took.",
    "controller",
  );
  const depth = gauge("workqueue_depth", "Calls waiting in the provider's scheduler.", "name");
  const requests = counter(
    "rest_client_requests_total",
    "Requests to the Kubernetes API, by status code or error kind.",
    "code",
    "method",
  );
  const requestTime = seconds(
    "rest_client_request_duration_seconds",
    "How long a request to the Kubernetes API took.",
    "method",
  );
  const cloudCalls = counter(
    "externaldatabase_cloud_calls_total",
    "Calls to the cloud, by outcome (ok or an error class).",
    "verb",
    "outcome",
  );
  const cloudTime = seconds(
    "externaldatabase_cloud_call_seconds",
    "How long a call to the cloud took.",
    "verb",
  );
  const actors = gauge(
    "externaldatabase_actors",
    "Actors by the top-level state of their statechart.",
    "state",
  );
  const transitions = counter(
    "externaldatabase_transitions_total",
    "Transitions between top-level states.",
    "from",
    "to",
  );
  const hits = counter("externaldatabase_cache_hits_total", "Questions that an actor's cache answered.");
  const misses = counter(
    "externaldatabase_cache_misses_total",
    "Questions that an actor's cache could not answer.",
  );
  const restarts = counter(
    "externaldatabase_watch_restarts_total",
    "Watches opened again, by cause.",
    "cause",
  );
  const retries = counter(
    "externaldatabase_retries_total",
    "Failed effects to be tried again, by class.",
    "class",
  );
  const orphans = gauge("externaldatabase_orphans", "External databases without a resource.");
  const released = counter(
    "externaldatabase_released_total",
    "External databases left behind on purpose or by force.",
    "cause",
  );
  addProcessGauges(registry, options);

  reconciles.inc({ controller: CONTROLLER, result: "success" }, 0);
  depth.set({ name: CONTROLLER }, 0);
  orphans.set(0);

  const capped = labelCap();
  const counts = new Map<string, number>();
  const count = (state: string | undefined, by: number) => {
    if (state === undefined) return;
    const label = capped("state", state);
    const next = Math.max(0, (counts.get(label) ?? 0) + by);
    counts.set(label, next);
    actors.set({ state: label }, next);
  };

  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    reconcile(result, took) {
      reconciles.inc({ controller: CONTROLLER, result });
      reconcileTime.observe({ controller: CONTROLLER }, finite(took));
    },
    transition(from, to) {
      count(from, -1);
      count(to, 1);
      if (from !== undefined && to !== undefined && from !== to) {
        transitions.inc({ from: capped("state", from), to: capped("state", to) });
      }
    },
    cloudCall(verb, outcome, took) {
      const label = capped("verb", verb);
      cloudCalls.inc({ verb: label, outcome: capped("outcome", outcome) });
      cloudTime.observe({ verb: label }, finite(took));
    },
    kubeRequest(verb, code, took) {
      const method = capped("method", verb);
      requests.inc({ code: capped("code", code), method });
      requestTime.observe({ method }, finite(took));
    },
    cache(hit) {
      (hit ? hits : misses).inc();
    },
    queueDepth(waiting) {
      depth.set({ name: CONTROLLER }, finite(waiting));
    },
    watchRestart(cause) {
      restarts.inc({ cause: capped("cause", cause) });
    },
    retry(errorClass) {
      retries.inc({ class: capped("class", errorClass) });
    },
    orphans(known) {
      orphans.set(finite(known));
    },
    released(cause) {
      released.inc({ cause });
    },
  };
}

/** Gauges of the process, read when the page is. */
function addProcessGauges(registry: Registry, options: MetricsOptions): void {
  const registers = [registry];
  const read = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  read("process_resident_memory_bytes", "Resident memory of the process.", () => Deno.memoryUsage().rss);
  read("deno_heap_used_bytes", "Heap in use.", () => Deno.memoryUsage().heapUsed);
  read(
    "deno_external_memory_bytes",
    "Memory of the engine outside its heap.",
    () => Deno.memoryUsage().external,
  );
  const { loop, lostLogLines } = options;
  if (loop) {
    read(
      "deno_event_loop_lag_seconds",
      "How late the event loop was at its last tick.",
      () => loop.lagMs() / 1_000,
    );
    read(
      "deno_event_loop_lag_max_seconds",
      "The worst lag of the event loop since the last scrape.",
      () => loop.takeMaxLagMs() / 1_000,
    );
  }
  if (lostLogLines) {
    read("externaldatabase_log_lines_lost", "Log lines that could not be written.", lostLogLines);
  }
}

/** prom-client throws on NaN and Infinity; a broken number must not break what it measures. */
function finite(value: number): number {
  return Number.isFinite(value) ? Math.max(0, value) : 0;
}

/** Lets {@linkcode MAX_LABEL_VALUES} values of each label through and calls the rest `other`. */
function labelCap(): (label: string, value: string) => string {
  const seen = new Map<string, Set<string>>();
  return (label, value) => {
    let values = seen.get(label);
    if (!values) seen.set(label, values = new Set());
    if (values.has(value)) return value;
    if (values.size >= MAX_LABEL_VALUES) return "other";
    values.add(value);
    return value;
  };
}
