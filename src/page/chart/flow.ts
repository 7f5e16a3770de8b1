/**
 * How much goes which way: the fleet's transitions summed up between top-level states.
 *
 * @module
 */
import type { ChartMove, FleetSummary } from "../../server/api/types.ts";
import { topOf } from "../../statechart/path.ts";

/** How often a way was taken. */
export interface Flow {
  readonly total: number;
  readonly lastMinute: number;
}

/** Flow by {@linkcode wayKey}. */
export type Flows = ReadonlyMap<string, Flow>;

/** What a way between top-level states is known by. */
export function wayKey({ from, to }: Pick<ChartMove, "from" | "to">): string {
  return `${from} ${to}`;
}

/** Flow between top-level states; what stays in one is left out. */
export function topFlows(flow: FleetSummary["flow"]): Flows {
  const flows = new Map<string, Flow>();
  for (const { from, to, total, lastMinute } of flow) {
    const way = { from: topOf(from), to: topOf(to) };
    if (way.from === way.to) continue;
    const key = wayKey(way);
    const old = flows.get(key);
    flows.set(key, {
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
