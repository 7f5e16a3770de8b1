/**
 * What a campaign says at its end.
 *
 * @module
 */
import type { Batch } from "../../src/simulation/campaign.ts";
import { coverageLists, coverageProblems, coverageTable } from "../../src/simulation/coverage_table.ts";
import { say } from "../say.ts";

export { coverageProblems };

/** How to say it. */
export interface ReportOptions {
  readonly seconds: number;
  /** What was run: seeds or schedules. */
  readonly what: string;
  /** The whole table, or only the last lines. */
  readonly coverage: boolean;
  /** What is wrong with the coverage, where that was asked for. */
  readonly uncovered: readonly string[];
}

/** Prints it: the table by fault and state, what is not covered, the figures. */
export function report(batch: Batch, { seconds, what, coverage, uncovered }: ReportOptions): void {
  if (coverage) {
    for (const line of [...coverageTable(batch.coverage), ...coverageLists(batch.coverage)]) say(line);
  }
  for (const problem of uncovered) say(`coverage: ${problem}`);
  const { strike, world, compared } = batch.coverage;
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((s, n) => s + n, 0);
  say(
    `${sum(strike)} strikes of ${Object.keys(world).length} kinds of faults on ${
      Object.keys(strike).length
    } pairs of fault and state; ${compared["worlds"] ?? 0} worlds compared to their run without faults`,
  );
  const broken = batch.failures.length;
  say(
    `${batch.count} ${what} in ${seconds.toFixed(1)} s (${(batch.count / seconds).toFixed(1)}/s, ${
      Math.round(batch.virtualMs / 3_600_000)
    } h of virtual time), slowest to settle ${Math.round(batch.settledAfterMs / 1_000)} s: ${
      broken === 0 ? "no violation" : `${broken} violations`
    }`,
  );
}
