/**
 * The metrics that are read rather than told: the fleet and the accounts as they are, and the process.
 *
 * prom-client's default metrics are not used: under Deno its event-loop lag missed a block of 200 ms and its memory
 * gauge read 0.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import { getHeapStatistics } from "node:v8";
import { waitsForPerson } from "../statechart/attention.ts";
import { accountLabel, finite, type Instruments } from "./instruments.ts";
import type { LoopMonitor } from "./loop.ts";
import type { AccountReading, ActorReading, Readings } from "./readings.ts";

/** Makes the gauges; the result sets them to what was read, and forgets what is no more. */
export function createReader(
  make: Instruments,
  controller: string,
  capped: (label: string, value: string) => string,
): (readings: Readings) => void {
  const fleet = fleetReader(make, capped);
  const accounts = accountReader(make, controller, capped);
  const leading = make.gauge(
    "leader_election_master_status",
    "1 in the process that works, 0 in one that stands by or stops.",
    "name",
  );
  const synced = make.gauge(
    "externaldatabase_resources_synced",
    "1 while all resources are listed and readable.",
  );
  const contact = make.gauge(
    "externaldatabase_kubernetes_contact_timestamp_seconds",
    "Time of the last sign of life from the Kubernetes API.",
  );
  const connections = make.gauge("externaldatabase_http_connections", "Open connections to the HTTP server.");
  const streams = make.gauge("externaldatabase_stream_clients", "Open streams of server-sent events.");
  leading.set({ name: controller }, 0);
  return (readings) => {
    leading.set({ name: controller }, readings.leading ? 1 : 0);
    synced.set(readings.synced ? 1 : 0);
    // Not `reset`, which would leave a contact in 1970.
    if (readings.kubernetesAt === undefined) contact.remove();
    else contact.set(finite(readings.kubernetesAt / 1_000));
    connections.set(finite(readings.httpConnections ?? 0));
    streams.set(finite(readings.streamClients ?? 0));
    fleet(readings.actors);
    accounts(readings.accounts);
  };
}

function fleetReader(
  make: Instruments,
  capped: (label: string, value: string) => string,
): (actors: Iterable<ActorReading>) => void {
  const actors = make.gauge(
    "externaldatabase_actors",
    "Actors by the top-level state of their statechart and the reason of the condition that says most.",
    "state",
    "reason",
  );
  const asleep = make.gauge("externaldatabase_actors_asleep", "Actors that sleep until something changes.");
  const attention = make.gauge(
    "externaldatabase_attention",
    "Resources that wait for a person, by reason.",
    "reason",
  );
  const oldest = make.gauge(
    "externaldatabase_oldest_unready_seconds",
    "Age of the oldest resource that was never Ready, waits for no person and is not paused.",
  );
  return (all) => {
    const byStateAndReason = new Map<string, Map<string, number>>();
    let sleepers = 0;
    let age = 0;
    for (const actor of all) {
      let reasons = byStateAndReason.get(actor.state);
      if (!reasons) byStateAndReason.set(actor.state, reasons = new Map());
      reasons.set(actor.reason, (reasons.get(actor.reason) ?? 0) + 1);
      if (actor.asleep) sleepers++;
      age = Math.max(age, actor.newForSeconds ?? 0);
    }
    actors.reset();
    attention.reset();
    for (const [state, reasons] of byStateAndReason) {
      for (const [reason, count] of reasons) {
        actors.inc({ state: capped("state", state), reason: capped("reason", reason) }, count);
        if (waitsForPerson(reason)) attention.inc({ reason: capped("reason", reason) }, count);
      }
    }
    asleep.set(sleepers);
    oldest.set(finite(age));
  };
}

function accountReader(
  make: Instruments,
  controller: string,
  capped: (label: string, value: string) => string,
): (accounts: readonly AccountReading[]) => void {
  const depth = make.gauge("workqueue_depth", "Calls to the cloud that wait for their start.", "name");
  const by = (name: string, help: string) => make.gauge(name, help, "database_class");
  const queue = make.gauge(
    "externaldatabase_cloud_queue_depth",
    "Calls to the cloud that wait for their start, by lane.",
    "database_class",
    "lane",
  );
  const running = by("externaldatabase_cloud_calls_in_flight", "Calls to the cloud under way.");
  const throttled = by("externaldatabase_cloud_throttled", "1 while the cloud throttles the account.");
  const throttledTime = make.counter(
    "externaldatabase_cloud_throttled_seconds_total",
    "How long the cloud throttled the account.",
    "database_class",
  );
  const listed = by(
    "externaldatabase_last_list_timestamp_seconds",
    "Begin of the last complete list of the account; before the first, when the account began to be observed.",
  );
  const period = by("externaldatabase_list_period_seconds", "How often the account is to be listed.");
  const absent = by(
    "externaldatabase_mass_absence",
    "Resources held back because many databases of the account turned absent together.",
  );
  const orphans = by("externaldatabase_orphans", "External databases whose resource is gone.");
  const all = [queue, running, throttled, throttledTime, listed, period, absent, orphans];
  depth.set({ name: controller }, 0);
  return (accounts) => {
    for (const metric of all) metric.reset();
    let waiting = 0;
    for (const account of accounts) {
      const labels = { database_class: capped("database_class", accountLabel(account.databaseClass)) };
      for (const [lane, length] of Object.entries(account.queue)) {
        queue.inc({ ...labels, lane: capped("lane", lane) }, finite(length));
        waiting += finite(length);
      }
      running.inc(labels, finite(account.running));
      throttled.set(labels, account.throttled ? 1 : 0);
      throttledTime.inc(labels, finite(account.throttledMs / 1_000));
      listed.set(labels, finite(account.listedAt / 1_000));
      period.set(labels, finite(account.periodMs / 1_000));
      absent.inc(labels, finite(account.massAbsent));
      orphans.inc(labels, finite(account.orphans));
    }
    depth.set({ name: controller }, waiting);
  };
}

/** Bounds of the event loop's lag, in seconds. */
const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The process: memory, processor, event loop, lost log lines. */
export function addProcessGauges(
  make: Instruments,
  options: {
    readonly loop?: LoopMonitor | undefined;
    readonly lostLogLines?: (() => number) | undefined;
    readonly version?: string | undefined;
  },
): void {
  make.gauge("externaldatabase_build_info", "1; the label is the version of this program.", "version")
    .set({ version: options.version ?? "unknown" }, 1);
  const startedAt = performance.timeOrigin / 1_000;
  make.read(
    "process_start_time_seconds",
    "When the process started, in seconds since the Unix epoch.",
    () => startedAt,
  );
  make.readCounter("process_cpu_seconds_total", "Processor time of the process.", () => {
    const { user, system } = cpuUsage();
    return (user + system) / 1e6;
  });
  make.read("process_resident_memory_bytes", "Resident memory of the process.", () => Deno.memoryUsage().rss);
  make.read("deno_heap_used_bytes", "Heap in use.", () => Deno.memoryUsage().heapUsed);
  make.read(
    "deno_heap_limit_bytes",
    "Heap at which the process ends for lack of memory.",
    () => getHeapStatistics().heap_size_limit,
  );
  make.read(
    "deno_external_memory_bytes",
    "Memory of the engine outside its heap.",
    () => Deno.memoryUsage().external,
  );
  const { loop, lostLogLines } = options;
  if (loop) {
    make.read(
      "deno_event_loop_lag_seconds",
      "How late the event loop was at its last tick.",
      () => loop.lagMs() / 1_000,
    );
    const lags = make.histogram(
      "deno_event_loop_delay_seconds",
      "How late the event loop was, at each of its ticks.",
      LAG_SECONDS,
    );
    loop.onTick((lagMs) => lags.observe(finite(lagMs / 1_000)));
  }
  if (lostLogLines) {
    make.readCounter(
      "externaldatabase_log_lines_lost_total",
      "Log lines that could not be written.",
      lostLogLines,
    );
  }
}
