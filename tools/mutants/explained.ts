/**
 * Why survivors survive: the same in effect, speed only, text only, or what nothing tests.
 *
 * @module
 */
import type { OperatorFate } from "./known.ts";

/** What names an operator mutant from run to run. */
export function keyOf(fate: Pick<OperatorFate, "file" | "operator" | "was" | "is" | "nth">): string {
  const { file, operator, was, is, nth } = fate;
  return `${file} ${operator}: ${was} => ${is}${nth === 0 ? "" : ` (${nth + 1})`}`;
}

/** By a rule mutant's id, or an operator mutant's key. */
export const EXPLAINED: ReadonlyMap<string, string> = new Map([
  [
    "kube/reflector_parts.ts ConditionalExpression: !(error instanceof KubeError) => false",
    "the same in effect: an error of another class has no `kind`, and falls through to the same text",
  ],
  [
    "operator/effects/announce.ts OptionalChaining: after.status?.state => after.status.state",
    "the same in effect: a status that is not there has no condition, and was left four lines above",
  ],
  [
    "operator/scheduler.ts ConditionalExpression: this.#head > 1_024 && this.#head * 2 > this.#jobs.length => false",
    "memory only: what a long queue has handed out is let go when the queue runs empty, not in between",
  ],
  [
    "statechart/decide_creation.ts ConditionalExpression: named !== undefined => true (2)",
    "the same in effect: no database has an undefined id, so that none of them is the one that is not named",
  ],
]);
