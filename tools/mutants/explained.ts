/**
 * Why survivors survive: the same in effect, speed only, text only, or what nothing tests.
 *
 * @module
 */
import type { OperatorFate } from "./known.ts";

/** What names an operator mutant from run to run. */
export function keyOf(fate: Pick<OperatorFate, "file" | "operator" | "was" | "is">): string {
  return `${fate.file} ${fate.operator}: ${fate.was} => ${fate.is}`;
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
]);
