/**
 * What is made from deploy/monitoring/alerts.yaml: the table in the docs, and the resource of the Prometheus operator.
 *
 * @module
 */
import { parse, stringify } from "yaml";
import { code, table } from "./markdown.ts";

const SOURCE = new URL("../../deploy/monitoring/alerts.yaml", import.meta.url);

interface Rules {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly for?: string;
      readonly labels: { readonly severity: string };
      readonly annotations: { readonly summary: string; readonly description: string };
    }[];
  }[];
}

async function rules(): Promise<Rules> {
  return parse(await Deno.readTextFile(SOURCE)) as Rules;
}

/** One row an alert, in Markdown. Values that a firing alert fills in are shown as `…`. */
export async function alertsTable(): Promise<string> {
  const rows = (await rules()).groups.flatMap((group) =>
    group.rules.map(({ alert, labels, annotations: { summary, description } }) => {
      const says = summary.replace(/\{\{[^}]*\}\}/g, "…");
      return [code(alert), labels.severity, says, description.trim()];
    })
  );
  return table(["alert", "severity", "says", "what it means, what to do"], rows);
}

/** The same rules as a PrometheusRule. */
export async function prometheusRule(): Promise<string> {
  const head = "# The rules of alerts.yaml for the Prometheus operator. Made by deno task docs:write.\n";
  return head + stringify({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: {
      name: "externaldatabase-operator",
      labels: { "app.kubernetes.io/name": "externaldatabase-operator" },
    },
    spec: await rules(),
  }, { lineWidth: 130 });
}
