import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createMetrics, MAX_LABEL_VALUES } from "../../src/server/metrics.ts";

Deno.test("metrics carry the names that dashboards for controllers expect", async () => {
  const metrics = createMetrics({
    loop: { lagMs: () => 250, takeMaxLagMs: () => 400, stop: () => {} },
    lostLogLines: () => 3,
  });
  metrics.reconcile("success", 0.2);
  metrics.cloudCall("create", "throttled", 0.1);
  metrics.kubeRequest("PATCH", "409", 0.01);
  metrics.cache(true);
  metrics.cache(false);
  metrics.queueDepth(7);
  metrics.watchRestart("expired");
  metrics.retry("retryable");
  metrics.orphans(2);
  metrics.released("retain");
  const text = await metrics.render();
  for (
    const line of [
      'controller_runtime_reconcile_total{controller="externaldatabase",result="success"} 1',
      'controller_runtime_reconcile_time_seconds_count{controller="externaldatabase"} 1',
      'workqueue_depth{name="externaldatabase"} 7',
      'rest_client_requests_total{code="409",method="PATCH"} 1',
      'rest_client_request_duration_seconds_count{method="PATCH"} 1',
      'externaldatabase_cloud_calls_total{verb="create",outcome="throttled"} 1',
      'externaldatabase_cloud_call_seconds_count{verb="create"} 1',
      "externaldatabase_cache_hits_total 1",
      "externaldatabase_cache_misses_total 1",
      'externaldatabase_watch_restarts_total{cause="expired"} 1',
      'externaldatabase_retries_total{class="retryable"} 1',
      "externaldatabase_orphans 2",
      'externaldatabase_released_total{cause="retain"} 1',
      "deno_event_loop_lag_seconds 0.25",
      "deno_event_loop_lag_max_seconds 0.4",
      "externaldatabase_log_lines_lost 3",
    ]
  ) assertStringIncludes(text, `\n${line}\n`);
  const memory = /^process_resident_memory_bytes (\d+)$/m.exec(text);
  assert(Number(memory?.[1]) > 1_000_000, "memory is measured");
});

Deno.test("the gauge of actors follows them from state to state and out", async () => {
  const metrics = createMetrics();
  metrics.transition(undefined, "Pending");
  metrics.transition(undefined, "Pending");
  metrics.transition("Pending", "Creating");
  metrics.transition("Pending", undefined);
  const text = await metrics.render();
  assertStringIncludes(text, 'externaldatabase_actors{state="Pending"} 0\n');
  assertStringIncludes(text, 'externaldatabase_actors{state="Creating"} 1\n');
  assertStringIncludes(text, 'externaldatabase_transitions_total{from="Pending",to="Creating"} 1\n');
});

Deno.test("no data can make series without end or break the numbers", async () => {
  const metrics = createMetrics();
  for (let i = 0; i < 1_000; i++) metrics.watchRestart(`cause-${i}`);
  metrics.cloudCall("get", "ok", NaN);
  metrics.queueDepth(Infinity);
  const text = await metrics.render();
  assertEquals(text.match(/^externaldatabase_watch_restarts_total\{/gm)?.length, MAX_LABEL_VALUES + 1);
  assertStringIncludes(text, `cause="other"} ${1_000 - MAX_LABEL_VALUES}\n`);
});

Deno.test("two sets of metrics live side by side in one process", async () => {
  const [one, two] = [createMetrics(), createMetrics()];
  one.orphans(5);
  assertStringIncludes(await two.render(), "externaldatabase_orphans 0\n");
});
