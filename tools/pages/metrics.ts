/**
 * The table of metrics in docs/observability.md, from the registry that serves them.
 *
 * @module
 */
import { createMetrics, type MetricDescription } from "../../src/server/metrics.ts";
import { alertsTable } from "./alerts.ts";
import { code, codes, table } from "./markdown.ts";
import { withSection } from "./sections.ts";

/** All metrics that an operator serves, by name. */
function allMetrics(): readonly MetricDescription[] {
  const loop = { lagMs: () => 0, onTick: () => {}, stop: () => {} };
  return createMetrics({ loop, lostLogLines: () => 0 }).describe();
}

/** One row a metric, in Markdown. */
function metricsTable(): string {
  return table(
    ["name", "kind, labels", "meaning"],
    allMetrics().map(({ name, type, labels, help }) => [
      code(name),
      labels.length === 0 ? type : `${type}: ${codes(labels)}`,
      help,
    ]),
  );
}

/** docs/observability.md with its table as it ought to be. */
export async function observabilityPage(): Promise<string> {
  const document = await Deno.readTextFile(new URL("../../docs/observability.md", import.meta.url));
  return withSection(withSection(document, "metrics", metricsTable()), "alerts", await alertsTable());
}
