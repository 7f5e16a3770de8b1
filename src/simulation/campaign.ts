/**
 * Runs many seeds: in this thread, or by several workers.
 *
 * @module
 */
import { Coverage } from "./coverage.ts";
import { drawPlan } from "./draw.ts";
import { type RunOptions, runPlan, type RunResult } from "./run.ts";

/** What a batch of seeds brought. */
export interface Batch {
  readonly from: number;
  readonly count: number;
  readonly failures: readonly {
    readonly seed: number;
    readonly violation: NonNullable<RunResult["violation"]>;
  }[];
  readonly coverage: Coverage["counts"];
  /** The slowest to settle after its faults, in milliseconds. */
  readonly settledAfterMs: number;
  /** Virtual milliseconds simulated. */
  readonly virtualMs: number;
}

/** Runs `count` seeds from `from`. `stop` ends it early, between two seeds. */
export async function runSeeds(
  from: number,
  count: number,
  options: RunOptions & { readonly stop?: () => boolean } = {},
): Promise<Batch> {
  const failures: { seed: number; violation: NonNullable<RunResult["violation"]> }[] = [];
  const coverage = new Coverage();
  let settledAfterMs = 0;
  let virtualMs = 0;
  let done = 0;
  for (; done < count && !options.stop?.(); done++) {
    const seed = from + done;
    const result = await runPlan(drawPlan(seed), options);
    coverage.merge(result.coverage);
    settledAfterMs = Math.max(settledAfterMs, result.settledAfterMs ?? 0);
    virtualMs += result.ms;
    if (result.violation !== undefined) failures.push({ seed, violation: result.violation });
  }
  return { from, count: done, failures, coverage: coverage.counts, settledAfterMs, virtualMs };
}
