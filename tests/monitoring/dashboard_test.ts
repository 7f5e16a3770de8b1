/**
 * Rules and dashboard speak PromQL, and of metrics that the program itself gives: those of a demo that runs.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Child } from "../cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { metricNames, readAlerts } from "../support/monitoring/rules.ts";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const dashboard = JSON.parse(
  await Deno.readTextFile(new URL("../../deploy/monitoring/dashboard.json", import.meta.url)),
) as {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
};

/** An expression with what Grafana fills in. */
const filledIn = (expression: string) => expression.replaceAll("$__rate_interval", "5m");
const expressions = dashboard.panels.flatMap((panel) => panel.targets ?? []).map(({ expr }) =>
  filledIn(expr)
);

Deno.test("every metric of the alerts and the dashboard is in a scrape of the running program", async () => {
  const directory = await Deno.makeTempDir();
  const permissions = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write=.demo"];
  const child = new Child(["demo", "--cloud", "simulated", "--listen", "127.0.0.1:0", "--samples", "1"], [
    ...permissions,
  ], { cwd: directory });
  try {
    const line = await child.line((l) => /http:\/\/127\.0\.0\.1:\d+\//.test(l) && /page/i.test(l));
    const base = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    let text = "";
    await eventually("the sample is Ready", async () => {
      text = await (await fetch(`${base}/metrics`)).text();
      return /^externaldatabase_time_to_ready_seconds_count\{[^}]*\} 1$/m.test(text);
    });
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((m) => [m[1], m[2]]));
    const exists = (name: string) =>
      types.has(name) && types.get(name) !== "histogram" ||
      types.get(name.replace(/_(bucket|sum|count)$/, "")) === "histogram";
    const variables = dashboard.templating.list.flatMap(({ definition }) =>
      /^label_values\((\w+)/.exec(definition ?? "")?.[1] ?? []
    );
    const named = [
      ...(await readAlerts()).flatMap((rule) => metricNames(rule.expr)),
      ...expressions.flatMap(metricNames),
      ...variables,
    ];
    assert(named.length > 50, `${named.length} names`);
    assertEquals([...new Set(named)].filter((name) => !exists(name)), []);
    // What the dashboard shows is nearly all that there is.
    const shown = new Set(named.map((name) => name.replace(/_(bucket|sum|count)$/, "")));
    const unseen = [...types.keys()].filter((name) => !shown.has(name!));
    assert(unseen.length <= 12, `neither alerted on nor shown: ${unseen.join(", ")}`);
  } finally {
    await child.end();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a name in an expression that does not parse, or of no metric, is seen", () => {
  assertEquals(metricNames('sum by (le) (rate(a_total{b="c"}[5m])) / on (x) d'), ["a_total", "d"]);
  let error: unknown;
  try {
    metricNames("sum(a_total");
  } catch (thrown) {
    error = thrown;
  }
  assertMatch(String(error), /No PromQL/);
});

Deno.test("the dashboard's panels have titles, numbers of their own and places that do not overlap", () => {
  const { panels } = dashboard;
  assertEquals(new Set(panels.map((p) => p.id)).size, panels.length);
  assertEquals(new Set(panels.map((p) => p.title)).size, panels.length);
  const taken = new Set<string>();
  for (const { title, type, targets, gridPos: { x, y, w, h } } of panels) {
    assert(x + w <= 24, title);
    assertEquals(type === "row", targets === undefined, title);
    for (let i = x; i < x + w; i++) {
      for (let j = y; j < y + h; j++) {
        assert(!taken.has(`${i},${j}`), `"${title}" lies on another panel`);
        taken.add(`${i},${j}`);
      }
    }
  }
});

Deno.test("every alert says how bad it is, what happened and what to do", async () => {
  for (const { alert, labels, annotations } of await readAlerts()) {
    assertMatch(alert, /^ExternalDatabase[A-Z]/);
    assertMatch(labels.severity, /^(critical|warning)$/, alert);
    assert(annotations.summary.length > 10 && annotations.description.length > 60, alert);
  }
});
