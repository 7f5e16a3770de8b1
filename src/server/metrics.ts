/**
 * The {@linkcode Metrics} port over prom-client, in a registry of its own.
 *
 * Names are controller-runtime's and client-go's where the meaning is theirs, else `externaldatabase_…`. Every label
 * value comes from a closed set or is capped ({@linkcode MAX_LABEL_VALUES}): no CR's data can make series without end.
 *
 * @module
 */
import { Registry } from "prom-client";
import type { Metrics } from "../core/metrics.ts";
import { addProcessGauges, createReader } from "./gauges.ts";
import { accountLabel, finite, Instruments, labelCap } from "./instruments.ts";
import type { Access } from "./access.ts";
import type { LoopMonitor } from "./loop.ts";
import type { Readings } from "./readings.ts";

/** The controller's name in controller-runtime's metrics. */
const CONTROLLER = "externaldatabase";

/** Bounds in seconds; calls to a cloud take from milliseconds to its deadline. */
const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** A call may wait as long as its account is throttled. */
const QUEUE_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600];
/** A database takes from seconds to the better part of an hour to make. */
const READY_SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200];

/** What {@linkcode createMetrics} takes. */
export interface MetricsOptions {
  /** Shown when given. */
  readonly loop?: LoopMonitor | undefined;
  /** Lines that the logger lost, shown when given. */
  readonly lostLogLines?: (() => number) | undefined;
  /** Version of this program. @default unknown */
  readonly version?: string | undefined;
}

/** What one metric is. */
export interface MetricDescription {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
}

/** {@linkcode Metrics} that can be read. */
export interface PrometheusMetrics extends Metrics {
  /** All metrics in Prometheus' text format. */
  render(): Promise<string>;
  /** The content type of {@linkcode render}. */
  readonly contentType: string;
  /** From now on `read` is asked at each {@linkcode render} for what has a value at any time. */
  attach(read: () => Readings): void;
  /** One request ended at the gate of the HTTP server so. */
  access(outcome: Access): void;
  /** The HTTP server uses a certificate that expires then, Unix milliseconds; or a changed one could not be used. */
  certificate(expiresAt: number | "failed"): void;
  /** What there is, by name. */
  describe(): readonly MetricDescription[];
}

/** Metrics in a registry of their own. */
export function createMetrics(options: MetricsOptions = {}): PrometheusMetrics {
  const registry = new Registry();
  const make = new Instruments(registry);
  const reconciles = make.counter(
    "controller_runtime_reconcile_total",
    "Effects of actors that ended, by result.",
    "controller",
    "result",
  );
  const errors = make.counter(
    "controller_runtime_reconcile_errors_total",
    "Effects of actors that failed.",
    "controller",
  );
  const panics = make.counter(
    "controller_runtime_reconcile_panics_total",
    "Actors that crashed and were started again.",
    "controller",
  );
  const reconcileTime = make.histogram(
    "controller_runtime_reconcile_time_seconds",
    "How long an actor's effect took.",
    CALL_SECONDS,
    "controller",
  );
  const effectTime = make.histogram(
    "externaldatabase_effect_duration_seconds",
    "How long an actor's effect took, by effect.",
    CALL_SECONDS,
    "effect",
  );
  const retries = make.counter(
    "externaldatabase_retries_total",
    "Effects that failed and are tried again, by class of the error.",
    "effect",
    "class",
  );
  const transitions = make.counter(
    "externaldatabase_transitions_total",
    "Transitions between top-level states.",
    "from",
    "to",
  );
  const readyTime = make.histogram(
    "externaldatabase_time_to_ready_seconds",
    "Age of a resource when it was Ready for the first time.",
    READY_SECONDS,
    "database_class",
  );
  const found = make.counter(
    "externaldatabase_drift_found_total",
    "Databases that came to differ though the spec had not changed, by the reason told.",
    "reason",
  );
  const repaired = make.counter(
    "externaldatabase_drift_repaired_total",
    "Such databases that are as the spec asks again, by the reason told when they were found.",
    "reason",
  );
  const released = make.counter(
    "externaldatabase_released_total",
    "External databases left behind on purpose or by force.",
    "cause",
  );
  const cloudCalls = make.counter(
    "externaldatabase_cloud_calls_total",
    "Calls to the cloud, by outcome (ok, an error class, or notSent).",
    "provider",
    "database_class",
    "verb",
    "outcome",
  );
  const cloudTime = make.histogram(
    "externaldatabase_cloud_call_duration_seconds",
    "How long a call to the cloud took, from its start.",
    CALL_SECONDS,
    "provider",
    "database_class",
    "verb",
  );
  const queueTime = make.histogram(
    "externaldatabase_cloud_queue_duration_seconds",
    "How long a call to the cloud waited for its start.",
    QUEUE_SECONDS,
    "database_class",
    "lane",
  );
  const requests = make.counter(
    "rest_client_requests_total",
    "Requests to the Kubernetes API, by status code or error kind.",
    "code",
    "method",
  );
  const requestTime = make.histogram(
    "rest_client_request_duration_seconds",
    "How long a request to the Kubernetes API took.",
    CALL_SECONDS,
    "method",
  );
  const restarts = make.counter(
    "externaldatabase_watch_restarts_total",
    "Watches opened again, by cause.",
    "cause",
  );
  const hits = make.counter(
    "externaldatabase_cache_hits_total",
    "Changes of a resource that were judged by the cached observation, without a read.",
  );
  const misses = make.counter(
    "externaldatabase_cache_misses_total",
    "Single reads of a recorded database.",
  );
  const accesses = make.counter(
    "externaldatabase_http_access_total",
    "Requests to the HTTP server by how they ended at its gate, where it has one.",
    "outcome",
  );
  const expiry = make.gauge(
    "externaldatabase_tls_certificate_expiry_timestamp_seconds",
    "When the certificate of the HTTP server expires, where it has one.",
  );
  const reloads = make.counter(
    "externaldatabase_tls_reload_failures_total",
    "Changed certificates of the HTTP server that could not be used.",
  );
  const unnoted = make.counter(
    "externaldatabase_history_failures_total",
    "Steps and calls of actors that could not be noted in their history.",
  );
  expiry.remove();
  const capped = labelCap();
  const classLabel = (databaseClass: string) => capped("database_class", accountLabel(databaseClass));
  const refresh = createReader(make, CONTROLLER, capped);
  addProcessGauges(make, options);

  const controller = CONTROLLER;
  reconciles.inc({ controller, result: "success" }, 0);
  errors.inc({ controller }, 0);
  panics.inc({ controller }, 0);

  let read: (() => Readings) | undefined;
  /** Classes whose series begin with 0: else the first Ready would be no increase. */
  const zeroed = new Set<string>();
  return {
    contentType: registry.contentType,
    render: () => {
      const readings = read?.();
      for (const { databaseClass } of readings?.accounts ?? []) {
        const label = classLabel(databaseClass);
        if (!zeroed.has(label)) readyTime.zero({ database_class: label });
        zeroed.add(label);
      }
      if (readings) refresh(readings);
      return registry.metrics();
    },
    attach: (source) => void (read = source),
    describe: () => make.described,
    reconcile(result, took, effect) {
      reconciles.inc({ controller, result });
      if (result === "error") errors.inc({ controller });
      reconcileTime.observe({ controller }, finite(took));
      effectTime.observe({ effect: capped("effect", effect) }, finite(took));
    },
    transition(from, to) {
      if (from !== undefined && to !== undefined && from !== to) {
        transitions.inc({ from: capped("state", from), to: capped("state", to) });
      }
    },
    cloudCall(account, verb, outcome, took) {
      const labels = {
        provider: capped("provider", account.provider),
        database_class: classLabel(account.databaseClass),
        verb: capped("verb", verb),
      };
      cloudCalls.inc({ ...labels, outcome: capped("outcome", outcome) });
      cloudTime.observe(labels, finite(took));
    },
    queued(databaseClass, lane, waited) {
      queueTime.observe(
        { database_class: classLabel(databaseClass), lane: capped("lane", lane) },
        finite(waited),
      );
    },
    kubeRequest(verb, code, took) {
      const method = capped("method", verb);
      requests.inc({ code: capped("code", code), method });
      requestTime.observe({ method }, finite(took));
    },
    cache: (hit) => (hit ? hits : misses).inc(),
    watchRestart: (cause) => restarts.inc({ cause: capped("cause", cause) }),
    retry: (errorClass, effect) =>
      retries.inc({ effect: capped("effect", effect), class: capped("class", errorClass) }),
    released: (cause) => released.inc({ cause }),
    ready(databaseClass, age) {
      const label = classLabel(databaseClass);
      zeroed.add(label);
      readyTime.observe({ database_class: label }, finite(age));
    },
    drift: (what, reason) => (what === "found" ? found : repaired).inc({ reason: capped("reason", reason) }),
    crash: () => panics.inc({ controller }),
    noteFailed: () => unnoted.inc(),
    access: (outcome) => accesses.inc({ outcome }),
    certificate(expiresAt) {
      if (expiresAt === "failed") reloads.inc();
      else expiry.set(finite(expiresAt / 1_000));
    },
  };
}
