/** How many are in each state: a band in proportion, and a button each that narrows the list. @module */
import type { JSX } from "preact";
import type { FleetRow } from "../../server/api/types.ts";
import { TOP_STATES } from "../../statechart/vocabulary.ts";
import { familyClass } from "../families.ts";
import { refine } from "../live/browser.ts";
import { shown } from "../text/safe.ts";
import { count } from "../text/time.ts";
import { type FleetFilter, tally } from "./query.ts";

/** Width of the band in its own units; the least that shows. */
const BAND = 1_000;
const LEAST = 6;

/** What {@linkcode States} takes. */
export interface StatesProps {
  readonly rows: readonly FleetRow[];
  readonly filter: FleetFilter;
}

/** The band and the buttons. */
export function States({ rows, filter }: StatesProps): JSX.Element {
  const counts = new Map(tally(rows, (row) => row.state));
  const names = [
    ...TOP_STATES,
    ...[...counts.keys()].filter((name) => !TOP_STATES.some((each) => each === name)),
  ];
  return (
    <div class="states">
      <Band names={names} counts={counts} total={rows.length} />
      <ul class="tiles" aria-label="By state">
        {names.map((name) => {
          const pressed = filter.state === name;
          const number = counts.get(name) ?? 0;
          return (
            <li key={name}>
              <button
                type="button"
                class={`tile ${familyClass(name)} ${number === 0 ? "none" : ""}`}
                aria-pressed={pressed}
                onClick={() => refine({ ...filter, detail: undefined, state: pressed ? undefined : name })}
              >
                <span class="name">
                  <i class="dot" aria-hidden="true" />
                  {shown(name)}
                </span>
                <b>{count(number)}</b>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Band({ names, counts, total }: {
  readonly names: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly total: number;
}): JSX.Element {
  const present = names.filter((name) => (counts.get(name) ?? 0) > 0);
  const sized = present.map((name) => Math.max(LEAST, (counts.get(name) ?? 0) / Math.max(1, total) * BAND));
  const sum = sized.reduce((a, b) => a + b, 0);
  /** Between two, and not after the last. */
  const gap = 3;
  let x = 0;
  return (
    <svg class="band" viewBox={`0 0 ${BAND} 10`} preserveAspectRatio="none" aria-hidden="true">
      {present.map((name, index) => {
        const width = (sized[index] ?? 0) / sum * (BAND + gap);
        const rect = (
          <rect
            key={name}
            class={familyClass(name)}
            x={x}
            y="0"
            width={Math.max(1, width - gap)}
            height="10"
          />
        );
        x += width;
        return rect;
      })}
    </svg>
  );
}
