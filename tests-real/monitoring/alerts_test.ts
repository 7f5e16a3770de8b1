/**
 * Every alert of deploy/monitoring fires in its breach and is quiet otherwise, as Prometheus' own rule engine has it: the
 * series are scrapes of the whole operator in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { metricNames, readAlerts, RULES_PATH } from "../../tests/support/monitoring/rules.ts";
import { played, SCENARIOS } from "../../tests/support/monitoring/scenarios.ts";
import { promtool } from "../support/promtool.ts";

const rules = await readAlerts();
const wanted = new Set(rules.flatMap((rule) => metricNames(rule.expr)));

/** Where promtool's output says which alerts fired in a test that expects none. */
function fired(output: string): string[] {
  return [...output.matchAll(/Labels: ?\{ ?alertname="(\w+)" ?\}|\{alertname="(\w+)"\}/g)].map((m) =>
    m[1] ?? m[2] ?? ""
  );
}

Deno.test("promtool takes the rules", async () => {
  const { code, stdout, stderr } = await promtool(["check", "rules", RULES_PATH]);
  assertEquals(code, 0, stdout + stderr);
});

Deno.test("every alert has a scenario that raises it", () => {
  const raised = new Set(SCENARIOS.flatMap((s) => s.fires));
  assertEquals(rules.map((rule) => rule.alert).filter((alert) => !raised.has(alert)), []);
});

for (const scenario of SCENARIOS) {
  const { name, fires } = scenario;
  Deno.test(`where ${name}: ${fires.length ? fires.join(", ") : "no alert"}`, async () => {
    const { series, minutes } = await played(scenario, wanted);
    const file = await Deno.makeTempFile({ suffix: ".json" });
    try {
      const test = {
        interval: "1m",
        input_series: series,
        promql_expr_test: [{
          expr: `group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1d]))`,
          eval_time: `${minutes - 1}m`,
          exp_samples: fires.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        }],
      };
      // JSON is YAML.
      await Deno.writeTextFile(
        file,
        JSON.stringify({ rule_files: [RULES_PATH], evaluation_interval: "1m", tests: [test] }),
      );
      const { code, stdout, stderr } = await promtool(["test", "rules", file]);
      assert(
        code === 0,
        `expected ${fires.join(", ") || "none"}, fired ${fired(stdout + stderr)}:\n${stdout}${stderr}`,
      );
    } finally {
      await Deno.remove(file);
    }
  });
}
