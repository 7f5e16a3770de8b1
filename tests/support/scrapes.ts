/**
 * Scrapes of the metrics of an operator that runs in a {@linkcode World}, in virtual time.
 *
 * @module
 */
import { readOperator } from "../../src/cli/readings.ts";
import type { OperatorDeps } from "../../src/operator/operator.ts";
import type { Phase } from "../../src/operator/tenure.ts";
import { createMetrics, type PrometheusMetrics } from "../../src/server/metrics.ts";
import type { Process, World } from "./world.ts";

/** A process whose metrics are read as `start`'s are. */
export interface Metered {
  readonly process: Process;
  readonly metrics: PrometheusMetrics;
  /** What it is doing; tests may set it. */
  phase: Phase;
  /** One sample's value; 0 where there is no such series. */
  sample(series: string): Promise<number>;
}

/** Starts a process of the operator with its metrics. */
export function startMetered(world: World, deps: Partial<OperatorDeps> = {}): Metered {
  const loop = { lagMs: () => 0, onTick: () => {}, stop: () => {} };
  const metrics = createMetrics({ loop, lostLogLines: () => 0 });
  const process = world.start({ metrics, ...deps });
  const metered: Metered = {
    process,
    metrics,
    phase: "working",
    async sample(series) {
      const line = (await metrics.render()).split("\n").find((l) => l.startsWith(`${series} `));
      return line === undefined ? 0 : Number(line.slice(series.length + 1));
    },
  };
  metrics.attach(() => readOperator(process.operator, metered.phase, world.clock));
  return metered;
}
