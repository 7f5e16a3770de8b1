/**
 * The pages of the documentation that are made from the code.
 *
 * @module
 */
import { prometheusRule } from "./alerts.ts";
import { crdsPage } from "./crds.ts";
import { dashboard } from "./dashboard.ts";
import { flagsPage } from "./flags.ts";
import { observabilityPage } from "./metrics.ts";
import { reasonsPage } from "./reasons.ts";
import { statechartPage, statechartSvg } from "./statechart.ts";

/** One page. */
export interface GeneratedPage {
  /** From the repository's root. */
  readonly path: string;
  readonly make: () => string | Promise<string>;
}

/** All of them. */
export const PAGES: readonly GeneratedPage[] = [
  { path: "docs/statechart.md", make: statechartPage },
  { path: "docs/statechart.svg", make: statechartSvg },
  { path: "docs/reasons.md", make: reasonsPage },
  { path: "docs/observability.md", make: observabilityPage },
  { path: "docs/reference/crds.md", make: crdsPage },
  { path: "deploy/monitoring/prometheus-rule.yaml", make: prometheusRule },
  { path: "deploy/monitoring/dashboard.json", make: dashboard },
  { path: "docs/reference/flags.md", make: flagsPage },
];
