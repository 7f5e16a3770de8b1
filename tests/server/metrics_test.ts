import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { MAX_LABEL_VALUES } from "../../src/server/instruments.ts";
import { createMetrics } from "../../src/server/metrics.ts";
import type { AccountReading, Readings } from "../../src/server/readings.ts";

const FLAGS = { provider: "http", databaseClass: "" };

const account: AccountReading = {
  databaseClass: "",
  provider: "http",
  queue: { urgent: 2, poll: 5 },
  running: 3,
  throttled: true,
  throttledMs: 90_000,
  listedAt: 1_700_000_000_000,
  periodMs: 300_000,
  massAbsent: 4,
  orphans: 2,
};

const readings: Readings = {
  leading: true,
  synced: true,
  kubernetesAt: 1_700_000_001_000,
  httpConnections: 9,
  streamClients: 6,
  actors: [
    { state: "Available", reason: "Available", asleep: true },
    { state: "Available", reason: "Available", asleep: false },
    { state: "Drifted", reason: "DriftReported", asleep: false },
    { state: "Creating", reason: "Creating", asleep: false, newForSeconds: 77 },
    { state: "Pending", reason: "Throttled", asleep: false, newForSeconds: 12 },
  ],
  accounts: [account, {
    ...account,
    databaseClass: "west",
    provider: "aws-rds",
    throttled: false,
    orphans: 0,
  }],
};

function includes(text: string, lines: readonly string[]): void {
  for (const line of lines) assertStringIncludes(text, `\n${line}\n`);
}

Deno.test("metrics carry the names that dashboards for controllers expect", async () => {
  const metrics = createMetrics({
    loop: { lagMs: () => 250, onTick: (told) => told(400), stop: () => {} },
    lostLogLines: () => 3,
    version: "1.2.3",
  });
  metrics.reconcile("success", 0.2, "observe");
  metrics.reconcile("error", 0.2, "create");
  metrics.cloudCall(FLAGS, "create", "throttled", 0.1);
  metrics.cloudCall({ provider: "aws-rds", databaseClass: "west" }, "create", "ok", 0.1);
  metrics.queued("", "urgent", 2);
  metrics.kubeRequest("PATCH", "409", 0.01);
  metrics.cache(true);
  metrics.cache(false);
  metrics.watchRestart("expired");
  metrics.retry("retryable", "create");
  metrics.released("retain");
  metrics.ready("", 45);
  metrics.drift("found", "Updating");
  metrics.drift("repaired", "Updating");
  metrics.crash();
  const text = await metrics.render();
  includes(text, [
    'controller_runtime_reconcile_total{controller="externaldatabase",result="success"} 1',
    'controller_runtime_reconcile_errors_total{controller="externaldatabase"} 1',
    'controller_runtime_reconcile_panics_total{controller="externaldatabase"} 1',
    'controller_runtime_reconcile_time_seconds_count{controller="externaldatabase"} 2',
    'externaldatabase_effect_duration_seconds_count{effect="observe"} 1',
    'workqueue_depth{name="externaldatabase"} 0',
    'rest_client_requests_total{code="409",method="PATCH"} 1',
    'rest_client_request_duration_seconds_count{method="PATCH"} 1',
    'externaldatabase_cloud_calls_total{provider="http",database_class="(flags)",verb="create",outcome="throttled"} 1',
    'externaldatabase_cloud_calls_total{provider="aws-rds",database_class="west",verb="create",outcome="ok"} 1',
    'externaldatabase_cloud_call_duration_seconds_count{provider="http",database_class="(flags)",verb="create"} 1',
    'externaldatabase_cloud_queue_duration_seconds_sum{database_class="(flags)",lane="urgent"} 2',
    "externaldatabase_cache_hits_total 1",
    "externaldatabase_cache_misses_total 1",
    'externaldatabase_watch_restarts_total{cause="expired"} 1',
    'externaldatabase_retries_total{effect="create",class="retryable"} 1',
    'externaldatabase_released_total{cause="retain"} 1',
    'externaldatabase_time_to_ready_seconds_bucket{le="60",database_class="(flags)"} 1',
    'externaldatabase_time_to_ready_seconds_bucket{le="30",database_class="(flags)"} 0',
    'externaldatabase_drift_found_total{reason="Updating"} 1',
    'externaldatabase_drift_repaired_total{reason="Updating"} 1',
    'externaldatabase_build_info{version="1.2.3"} 1',
    "deno_event_loop_lag_seconds 0.25",
    "deno_event_loop_delay_seconds_sum 0.4",
    "externaldatabase_log_lines_lost_total 3",
  ]);
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  assert(value("process_resident_memory_bytes") > 1_000_000, "memory is measured");
  assert(value("deno_heap_used_bytes") < value("deno_heap_limit_bytes"), "the heap has a limit");
  assert(value("process_cpu_seconds_total") > 0, "processor time is measured");
  assert(value("process_start_time_seconds") > 1_700_000_000, "a time");
});

Deno.test("what has a value at any time is read when the metrics are, and goes when it is no more", async () => {
  const metrics = createMetrics();
  let now: Readings = readings;
  metrics.attach(() => now);
  includes(await metrics.render(), [
    'leader_election_master_status{name="externaldatabase"} 1',
    'externaldatabase_actors{state="Available",reason="Available"} 2',
    'externaldatabase_actors{state="Drifted",reason="DriftReported"} 1',
    'externaldatabase_attention{reason="DriftReported"} 1',
    "externaldatabase_actors_asleep 1",
    "externaldatabase_oldest_unready_seconds 77",
    'workqueue_depth{name="externaldatabase"} 14',
    'externaldatabase_cloud_queue_depth{database_class="west",lane="poll"} 5',
    'externaldatabase_cloud_calls_in_flight{database_class="(flags)"} 3',
    'externaldatabase_cloud_throttled{database_class="(flags)"} 1',
    'externaldatabase_cloud_throttled{database_class="west"} 0',
    'externaldatabase_cloud_throttled_seconds_total{database_class="(flags)"} 90',
    'externaldatabase_last_list_timestamp_seconds{database_class="(flags)"} 1700000000',
    'externaldatabase_list_period_seconds{database_class="(flags)"} 300',
    'externaldatabase_mass_absence{database_class="(flags)"} 4',
    'externaldatabase_orphans{database_class="(flags)"} 2',
    "externaldatabase_resources_synced 1",
    "externaldatabase_kubernetes_contact_timestamp_seconds 1700000001",
    "externaldatabase_http_connections 9",
    "externaldatabase_stream_clients 6",
  ]);
  now = { ...readings, leading: false, actors: [], accounts: [], kubernetesAt: undefined };
  const text = await metrics.render();
  includes(text, [
    'leader_election_master_status{name="externaldatabase"} 0',
    "externaldatabase_oldest_unready_seconds 0",
    'workqueue_depth{name="externaldatabase"} 0',
  ]);
  assert(!/^externaldatabase_(actors|attention|orphans|cloud_throttled)\{/m.test(text), text);
  assert(!/^externaldatabase_kubernetes_contact/m.test(text), text);
});

Deno.test("no data can make series without end or break the numbers", async () => {
  const metrics = createMetrics();
  for (let i = 0; i < 1_000; i++) metrics.watchRestart(`cause-${i}`);
  metrics.cloudCall(FLAGS, "get", "ok", NaN);
  metrics.ready("", Infinity);
  const accounts = Array.from({ length: 200 }, (_, i) => ({ ...account, databaseClass: `class-${i}` }));
  metrics.attach(() => ({ ...readings, accounts: [...accounts, { ...account, orphans: NaN }] }));
  const text = await metrics.render();
  assertEquals(text.match(/^externaldatabase_watch_restarts_total\{/gm)?.length, MAX_LABEL_VALUES + 1);
  assertStringIncludes(text, `cause="other"} ${1_000 - MAX_LABEL_VALUES}\n`);
  assertEquals(text.match(/^externaldatabase_orphans\{/gm)?.length, MAX_LABEL_VALUES + 1);
});

Deno.test("two sets of metrics live side by side in one process", async () => {
  const [one, two] = [createMetrics(), createMetrics()];
  one.attach(() => readings);
  assertStringIncludes(await one.render(), 'externaldatabase_orphans{database_class="(flags)"} 2\n');
  assert(!(await two.render()).includes("externaldatabase_orphans{"));
});

Deno.test("names follow Prometheus' conventions: help, base units, _total for counters alone", () => {
  const loop = { lagMs: () => 0, onTick: () => {}, stop: () => {} };
  for (const { name, type, help, labels } of createMetrics({ loop, lostLogLines: () => 0 }).describe()) {
    assertMatch(name, /^[a-z][a-z0-9_]*$/);
    assertMatch(help, /^[A-Z0-9].*\.$/, name);
    assertEquals(name.endsWith("_total"), type === "counter", name);
    assert(
      !/_(ms|milliseconds|minutes|kb|mb|count|sum|bucket|gauge|histogram|counter)(_|$)/.test(name),
      name,
    );
    if (type === "histogram") assert(name.endsWith("_seconds"), name);
    for (const label of labels) assertMatch(label, /^[a-z][a-z0-9_]*$/, name);
  }
});
