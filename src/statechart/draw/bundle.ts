/**
 * Which states of a chart can share one box: siblings that nothing but their name and actor tells apart.
 *
 * @module
 */
import type { Chart, ChartState, ChartTransition } from "./chart.ts";
import { flatten } from "./chart.ts";

/** Groups of two or more sibling states by the id of their common box. */
export function bundleStates(chart: Chart): Map<string, readonly ChartState[]> {
  const bundles = new Map<string, readonly ChartState[]>();
  for (const parent of flatten(chart.root)) {
    if (parent.kind === "parallel") continue;
    const groups = new Map<string, ChartState[]>();
    for (const state of parent.states) {
      if (state.kind !== "atomic" || state.path === parent.initial || parent.path === "") continue;
      const key = signature(chart, state);
      if (key !== undefined) groups.set(key, [...groups.get(key) ?? [], state]);
    }
    let number = 0;
    for (const group of groups.values()) {
      if (group.length > 1) bundles.set(`\u0001bundle ${parent.path} ${number++}`, group);
    }
  }
  return bundles;
}

/** Equal for states that can share a box; `undefined` for one that nothing enters or leaves. */
function signature(chart: Chart, state: ChartState): string | undefined {
  const out = chart.transitions.filter((each) => each.source === state.path);
  const into = chart.transitions.filter((each) => each.target === state.path);
  if (out.every((each) => each.target === undefined) || into.length === 0) return undefined;
  if ([...out, ...into].some((each) => each.source === each.target)) return undefined;
  return JSON.stringify([
    state.invokes.length,
    state.entry,
    state.exit,
    out.map((each) => leaving(each, state)).sort(),
    [...new Set(into.map((each) => `${each.source} ${each.trigger.kind}`))].sort(),
  ]);
}

function leaving({ target, trigger, guard, actions }: ChartTransition, state: ChartState): string {
  // An actor's own name is the difference that the rows show.
  const name = state.invokes.includes(trigger.name) ? "" : trigger.name;
  return JSON.stringify([target, trigger.kind, name, guard, actions]);
}
