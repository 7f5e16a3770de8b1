/**
 * The Grafana dashboard of deploy/monitoring: rows of panels over the operator's metrics.
 *
 * @module
 */

/** One query of a panel, with the legend of its lines. */
type Query = readonly [expr: string, legend: string];

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly unit: string;
  readonly queries: readonly Query[];
  /** @default timeseries */
  readonly kind?: "stat" | "timeseries";
  readonly stack?: boolean;
  /** In twenty-fourths of the width. @default 8 */
  readonly width?: number;
}

/** What is scraped of this operator: the dashboard's variables choose it. */
const ALL = 'namespace=~"$namespace",job=~"$job"';
const ACCOUNT = `${ALL},database_class=~"$class"`;
const RATE = "$__rate_interval";

const quantiles = (metric: string, labels: string, by: string, legend: string): readonly Query[] =>
  [0.5, 0.99].map((q): Query => [
    `histogram_quantile(${q}, sum by (le${by && `, ${by}`}) (rate(${metric}_bucket{${labels}}[${RATE}])))`,
    `${legend} ${q === 0.5 ? "median" : "99 %"}`.trim(),
  ]);

/** One number, six of which stand in a row. */
const stat = (title: string, about: string, expr: string, unit = "none"): Panel => {
  return { title, about, unit, kind: "stat", width: 4, queries: [[expr, ""]] };
};

const ROWS: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  ["At a glance", [
    stat(
      "Resources",
      "All resources that the operator knows.",
      `sum(externaldatabase_actors{${ALL}})`,
    ),
    stat(
      "In step",
      "Share of the resources whose database serves and is as the spec asks.",
      `sum(externaldatabase_actors{${ALL},reason="Available"}) / sum(externaldatabase_actors{${ALL}})`,
      "percentunit",
    ),
    stat(
      "Wait for a person",
      "Resources that will hardly go on by themselves; docs/reasons.md says what to do.",
      `sum(externaldatabase_attention{${ALL}}) or vector(0)`,
    ),
    stat(
      "Orphans",
      "Databases whose resource is gone.",
      `sum(externaldatabase_orphans{${ALL}}) or vector(0)`,
    ),
    stat(
      "Held back: mass absence",
      "Resources held back because many databases turned absent together.",
      `sum(externaldatabase_mass_absence{${ALL}}) or vector(0)`,
    ),
    stat(
      "Working processes",
      "One works; others stand by.",
      `sum(leader_election_master_status{${ALL},name="externaldatabase"})`,
    ),
  ]],
  ["Fleet", [
    {
      title: "Resources by state",
      about: "Top-level states of the statechart.",
      unit: "none",
      stack: true,
      queries: [[`sum by (state) (externaldatabase_actors{${ALL}})`, "{{state}}"]],
    },
    {
      title: "Resources by reason, in step apart",
      about: "The reason of the condition that says most.",
      unit: "none",
      stack: true,
      queries: [[`sum by (reason) (externaldatabase_actors{${ALL},reason!="Available"})`, "{{reason}}"]],
    },
    {
      title: "Transitions",
      about: "Between top-level states.",
      unit: "ops",
      queries: [[
        `sum by (from, to) (rate(externaldatabase_transitions_total{${ALL}}[${RATE}]))`,
        "{{from}} to {{to}}",
      ]],
    },
    {
      title: "Time to Ready",
      about: "From the resource's creation to its first Ready.",
      unit: "s",
      queries: [
        ...quantiles("externaldatabase_time_to_ready_seconds", ACCOUNT, "", ""),
        [`max(externaldatabase_oldest_unready_seconds{${ALL}})`, "oldest that waits"],
      ],
    },
    {
      title: "Drift",
      about: "Differences that came without an edit, and their end, in an hour.",
      unit: "none",
      queries: [
        [`sum by (reason) (increase(externaldatabase_drift_found_total{${ALL}}[1h]))`, "found: {{reason}}"],
        [
          `sum by (reason) (increase(externaldatabase_drift_repaired_total{${ALL}}[1h]))`,
          "repaired: {{reason}}",
        ],
      ],
    },
    {
      title: "Left behind",
      about: "Databases let go on purpose or by force, in an hour.",
      unit: "none",
      queries: [[`sum by (cause) (increase(externaldatabase_released_total{${ALL}}[1h]))`, "{{cause}}"]],
    },
  ]],
  ["Cloud", [
    {
      title: "Calls",
      about: "By class, verb and outcome.",
      unit: "ops",
      queries: [[
        `sum by (database_class, verb, outcome) (rate(externaldatabase_cloud_calls_total{${ACCOUNT}}[${RATE}]))`,
        "{{database_class}} {{verb}} {{outcome}}",
      ]],
    },
    {
      title: "Latency",
      about: "From the start of a call to its answer.",
      unit: "s",
      queries: quantiles("externaldatabase_cloud_call_duration_seconds", ACCOUNT, "verb", "{{verb}}"),
    },
    {
      title: "Time in the queue",
      about: "How long a call waits for its start, by lane.",
      unit: "s",
      queries: quantiles("externaldatabase_cloud_queue_duration_seconds", ACCOUNT, "lane", "{{lane}}"),
    },
    {
      title: "Queue and calls under way",
      about: "Calls that wait, by lane, and those under way.",
      unit: "none",
      queries: [
        [`sum by (lane) (externaldatabase_cloud_queue_depth{${ACCOUNT}})`, "waiting: {{lane}}"],
        [`sum(externaldatabase_cloud_calls_in_flight{${ACCOUNT}})`, "under way"],
      ],
    },
    {
      title: "Throttled",
      about: "Share of the time for which the cloud takes no call of the account.",
      unit: "percentunit",
      queries: [[
        `sum by (database_class) (rate(externaldatabase_cloud_throttled_seconds_total{${ACCOUNT}}[${RATE}]))`,
        "{{database_class}}",
      ]],
    },
    {
      title: "Age of the last list",
      about: "Since the last complete list of the account began, beside its period.",
      unit: "s",
      queries: [
        [
          `time() - max by (database_class) (externaldatabase_last_list_timestamp_seconds{${ACCOUNT}})`,
          "{{database_class}}",
        ],
        [
          `max by (database_class) (externaldatabase_list_period_seconds{${ACCOUNT}})`,
          "{{database_class}} period",
        ],
      ],
    },
  ]],
  ["Operator", [
    {
      title: "Effects",
      about: "Work of the actors that ended, by result.",
      unit: "ops",
      queries: [[
        `sum by (result) (rate(controller_runtime_reconcile_total{${ALL},controller="externaldatabase"}[${RATE}]))`,
        "{{result}}",
      ]],
    },
    {
      title: "Failures",
      about: "Effects that are tried again, and actors that crashed.",
      unit: "ops",
      queries: [
        [
          `sum by (effect, class) (rate(externaldatabase_retries_total{${ALL}}[${RATE}]))`,
          "{{effect}}: {{class}}",
        ],
        [
          `sum(rate(controller_runtime_reconcile_panics_total{${ALL},controller="externaldatabase"}[${RATE}]))`,
          "crashes",
        ],
      ],
    },
    {
      title: "Duration of effects",
      about: "99 % take less.",
      unit: "s",
      queries: [[
        `histogram_quantile(0.99, sum by (le, effect) (rate(externaldatabase_effect_duration_seconds_bucket{${ALL}}[${RATE}])))`,
        "{{effect}}",
      ]],
    },
    {
      title: "Kubernetes requests",
      about: "By verb and code.",
      unit: "ops",
      queries: [[
        `sum by (method, code) (rate(rest_client_requests_total{${ALL}}[${RATE}]))`,
        "{{method}} {{code}}",
      ]],
    },
    {
      title: "Kubernetes latency",
      about: "Requests to the API server, watches apart.",
      unit: "s",
      queries: quantiles(
        "rest_client_request_duration_seconds",
        `${ALL},method!="watch"`,
        "method",
        "{{method}}",
      ),
    },
    {
      title: "Cache",
      about: "Changes judged without a read, and reads of single databases.",
      unit: "ops",
      queries: [
        [`sum(rate(externaldatabase_cache_hits_total{${ALL}}[${RATE}]))`, "hits"],
        [`sum(rate(externaldatabase_cache_misses_total{${ALL}}[${RATE}]))`, "misses"],
      ],
    },
  ]],
  ["Process", [
    {
      title: "Memory",
      about: "Resident, and the heap beside its limit.",
      unit: "bytes",
      queries: [
        [`process_resident_memory_bytes{${ALL}}`, "{{pod}} resident"],
        [`deno_heap_used_bytes{${ALL}}`, "{{pod}} heap"],
        [`deno_external_memory_bytes{${ALL}}`, "{{pod}} outside the heap"],
      ],
    },
    {
      title: "Processor",
      about: "Processors in use.",
      unit: "none",
      queries: [[`rate(process_cpu_seconds_total{${ALL}}[${RATE}])`, "{{pod}}"]],
    },
    {
      title: "Event loop",
      about: "How late it is at its ticks: 99 %.",
      unit: "s",
      queries: [[
        `histogram_quantile(0.99, sum by (le, pod) (rate(deno_event_loop_delay_seconds_bucket{${ALL}}[${RATE}])))`,
        "{{pod}}",
      ]],
    },
    {
      title: "Watches opened again",
      about: "By cause.",
      unit: "ops",
      queries: [[
        `sum by (cause) (rate(externaldatabase_watch_restarts_total{${ALL}}[${RATE}]))`,
        "{{cause}}",
      ]],
    },
    {
      title: "Open pages",
      about: "Streams of server-sent events.",
      unit: "none",
      queries: [[`sum(externaldatabase_stream_clients{${ALL}})`, "streams"]],
    },
    {
      title: "Actors that sleep",
      about: "Idle for ten minutes, and kept small until something changes.",
      unit: "none",
      queries: [[`sum(externaldatabase_actors_asleep{${ALL}})`, "asleep"]],
    },
  ]],
];

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const HEIGHT = { stat: 4, timeseries: 8 } as const;

/** The dashboard, as Grafana imports it. */
export function dashboard(): string {
  const panels: unknown[] = [];
  let y = 0;
  let id = 0;
  for (const [title, row] of ROWS) {
    panels.push({
      type: "row",
      id: ++id,
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: 24, h: 1 },
    });
    y++;
    let x = 0;
    for (const panel of row) {
      const { kind = "timeseries", width = 8 } = panel;
      if (x + width > 24) [x, y] = [0, y + HEIGHT[kind]];
      panels.push(panelOf(panel, ++id, { x, y, w: width, h: HEIGHT[kind] }));
      x += width;
    }
    y += HEIGHT[row.at(-1)?.kind ?? "timeseries"];
  }
  return JSON.stringify(
    {
      title: "ExternalDatabase operator",
      uid: "externaldatabase-operator",
      tags: ["externaldatabase", "kubernetes"],
      schemaVersion: 39,
      version: 1,
      editable: true,
      graphTooltip: 1,
      refresh: "30s",
      time: { from: "now-6h", to: "now" },
      timezone: "browser",
      templating: {
        list: [
          { name: "datasource", type: "datasource", query: "prometheus", label: "Data source", hide: 0 },
          variable("namespace", "Namespace", "label_values(leader_election_master_status, namespace)"),
          variable("job", "Job", 'label_values(leader_election_master_status{name="externaldatabase"}, job)'),
          variable("class", "Class", "label_values(externaldatabase_list_period_seconds, database_class)"),
        ],
      },
      annotations: { list: [] },
      panels,
    },
    null,
    2,
  ) + "\n";
}

function variable(name: string, label: string, query: string): unknown {
  return {
    name,
    label,
    type: "query",
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: ".*",
    current: { selected: true, text: ["All"], value: ["$__all"] },
    sort: 1,
  };
}

function panelOf(panel: Panel, id: number, gridPos: unknown): unknown {
  const { kind = "timeseries", stack = false } = panel;
  return {
    id,
    type: kind,
    title: panel.title,
    description: panel.about,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: {
        unit: panel.unit,
        min: 0,
        ...(kind === "timeseries"
          ? {
            custom: {
              fillOpacity: stack ? 30 : 5,
              stacking: { mode: stack ? "normal" : "none" },
              showPoints: "never",
            },
          }
          : {}),
      },
      overrides: [],
    },
    options: kind === "stat"
      ? { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: "none", graphMode: "area" }
      : { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
    targets: panel.queries.map(([expr, legendFormat], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      ...(kind === "stat" ? { instant: true } : { range: true }),
    })),
  };
}
