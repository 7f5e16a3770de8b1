/**
 * The alert rules, and which metrics an expression names.
 *
 * @module
 */
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";

/** One alert. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** Path of the rule file. */
export const RULES_PATH = new URL("../../../deploy/monitoring/alerts.yaml", import.meta.url).pathname;

/** The alerts of the rule file. */
export async function readAlerts(): Promise<readonly AlertRule[]> {
  const { groups } = parse(await Deno.readTextFile(RULES_PATH)) as {
    groups: { rules: AlertRule[] }[];
  };
  return groups.flatMap((group) => group.rules);
}

/** The names of the metrics in a PromQL expression. Throws where it does not parse. */
export function metricNames(expression: string): string[] {
  const names: string[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to }) {
      if (type.isError) throw new Error(`No PromQL at ${from}: ${expression}`);
      if (type.name === "Identifier") names.push(expression.slice(from, to));
    },
  });
  return names;
}
