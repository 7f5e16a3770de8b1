/**
 * How much goes which way: the fleet's transitions summed up between top-level states, and between their insides.
 *
 * @module
 */
import type { FleetSummary } from "../../server/api/types.ts";
import { topOf } from "../../statechart/path.ts";

/** How often a way was taken. */
export interface Flow {
  readonly total: number;
  readonly lastMinute: number;
}

/** Flow by `from to`. */
export type Flows = ReadonlyMap<string, Flow>;

/** Flow between top-level states; what stays in one is left out. */
export function topFlows(flow: FleetSummary["flow"]): Flows {
  return sum(flow, (from, to) => {
    const [a, b] = [topOf(from), topOf(to)];
    return a === b ? undefined : `${a} ${b}`;
  });
}

/** Into and out of each state, by its path. */
export function arrivals(flow: FleetSummary["flow"]): Flows {
  return sum(flow, (_from, to) => to);
}

function sum(
  flow: FleetSummary["flow"],
  key: (from: string, to: string) => string | undefined,
): Flows {
  const flows = new Map<string, Flow>();
  for (const { from, to, total, lastMinute } of flow) {
    const name = key(from, to);
    if (name === undefined) continue;
    const old = flows.get(name);
    flows.set(name, {
      total: total + (old?.total ?? 0),
      lastMinute: lastMinute + (old?.lastMinute ?? 0),
    });
  }
  return flows;
}

/** How strongly a way is drawn: 0 never taken, 1 once, 2 in the last minute, 3 and 4 often in it. */
export function strength(flow: Flow | undefined): 0 | 1 | 2 | 3 | 4 {
  if (flow === undefined || flow.total === 0) return 0;
  if (flow.lastMinute === 0) return 1;
  return flow.lastMinute < 10 ? 2 : flow.lastMinute < 100 ? 3 : 4;
}
