/**
 * The steps of one resource: few, the oldest let go first, and what repeats itself counted instead of kept.
 *
 * @module
 */
import type { Call } from "./calls.ts";
import { type Cause, sameCause } from "./cause.ts";
import type { Route } from "./route.ts";

/** Steps that are kept for one resource. */
export const MAX_STEPS = 64;
/** Steps that are kept at least, however many resources there are. */
export const MIN_STEPS = 8;
/** Steps that are kept for all resources together, as long as none is left with fewer than {@linkcode MIN_STEPS}. */
export const MAX_TOTAL = 320_000;
/** One step as it is kept. Times are wall times in milliseconds. */
export interface Step {
  readonly n: number;
  readonly at: number;
  /** {@linkcode eventKind} of the event. */
  readonly event: string;
  readonly cause: Cause;
  readonly route: Route;
  readonly durationMs: number;
  readonly generation: number;
  readonly ready: string;
  readonly synced: string;
  readonly calls: readonly Call[] | undefined;
  repeated: number;
  lastAt: number;
}

/** The statechart's own name of an event, or what XState's own means; never a text of its own for each. */
export function eventKind(type: string): string {
  if (!type.startsWith("xstate.")) return type;
  if (type.startsWith("xstate.done.")) return "done";
  if (type.startsWith("xstate.error.")) return "failed";
  if (type.startsWith("xstate.after.")) return "timer";
  if (type === "xstate.init") return "start";
  return type === "xstate.stop" ? "sleep" : type;
}

/** Adds a step, or counts it where it repeats the last one, or with the last one the two before; how many were let go. */
export function keepStep(steps: Step[], step: Step, limit: number): number {
  const n = steps.length;
  if (n >= 1 && same(steps[n - 1]!, step)) {
    repeat(steps[n - 1]!, step);
    return 0;
  }
  if (n >= 3 && same(steps[n - 2]!, step) && same(steps[n - 3]!, steps[n - 1]!)) {
    repeat(steps[n - 3]!, steps.pop()!);
    repeat(steps[n - 2]!, step);
    return 0;
  }
  steps.push(step);
  return letGo(steps, limit);
}

/** Lets the oldest steps beyond `limit` go; how many. */
export function letGo(steps: Step[], limit: number): number {
  const over = Math.max(0, steps.length - limit);
  if (over > 0) steps.splice(0, over);
  return over;
}

function repeat(kept: Step, step: Step): void {
  kept.repeated += 1 + step.repeated;
  kept.lastAt = step.lastAt || step.at;
}

/** Whether one step stands for both: the same way, for the same cause, with the same calls. */
function same(a: Step, b: Step): boolean {
  return a.route === b.route && a.event === b.event && a.generation === b.generation && a.ready === b.ready &&
    a.synced === b.synced && sameCause(a.cause, b.cause) && sameCalls(a.calls, b.calls);
}

function sameCalls(a: readonly Call[] | undefined, b: readonly Call[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.length !== b.length) return false;
  return a.every((call, i) => {
    const other = b[i]!;
    return call.to === other.to && call.verb === other.verb && call.outcome === other.outcome;
  });
}
