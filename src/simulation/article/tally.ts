/**
 * Runs seeds with the article's reconciler, and counts which of its promises it broke.
 *
 * @module
 */
import { drawPlan } from "../draw.ts";
import { type RunOptions, runPlan, type RunResult } from "../run.ts";
import { ARTICLE_PROMISES, articlePlan, createArticle, judgeArticle } from "./subject.ts";

/** One promise, as the seeds broke it. */
export interface Broken {
  readonly oracle: string;
  /** Seeds that broke it, in order. */
  readonly seeds: readonly number[];
  /** What was seen in the first of them. */
  readonly what: string;
}

/** Runs one seed with the article's reconciler. */
export function runArticle(seed: number, options: RunOptions = {}): Promise<RunResult> {
  return runPlan(articlePlan(drawPlan(seed)), {
    ...options,
    subject: createArticle,
    judge: judgeArticle,
    promises: ARTICLE_PROMISES,
  });
}

/** Runs `count` seeds from `from`; the promises in the order of their names. */
export async function tallyArticle(from: number, count: number): Promise<Broken[]> {
  const broken = new Map<string, { oracle: string; seeds: number[]; what: string }>();
  for (let seed = from; seed < from + count; seed++) {
    for (const { oracle, what } of (await runArticle(seed)).violations) {
      const known = broken.get(oracle);
      if (known === undefined) broken.set(oracle, { oracle, seeds: [seed], what });
      else known.seeds.push(seed);
    }
  }
  return [...broken.values()].sort((a, b) => a.oracle < b.oracle ? -1 : 1);
}
