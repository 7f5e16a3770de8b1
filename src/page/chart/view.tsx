/** The statechart with the whole fleet in it. @module */
import { useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { ChartAnswer, ChartArrow, ChartGuard, ChartMove, ChartTop } from "../../server/api/types.ts";
import { topOf } from "../../statechart/path.ts";
import { familyClass } from "../families.ts";
import { formatFilter } from "../fleet/query.ts";
import { Link } from "../link.tsx";
import { chart, summary } from "../live/model.ts";
import { ScrollTable } from "../scroll_table.tsx";
import { count, plural } from "../text/time.ts";
import { type Flows, topFlows, wayKey } from "./flow.ts";
import { Inside } from "./inside.tsx";
import { Statechart } from "./statechart.tsx";

/** The view at `/chart`. */
export function ChartView(): JSX.Element {
  const { value } = chart;
  if (value.state === "here") return <Drawn chart={value.value} />;
  return (
    <section class="empty" aria-busy={value.state === "loading"}>
      <h1 tabIndex={-1}>Statechart</h1>
      <p class="soft">
        {value.state === "loading" ? "The chart is being drawn …" : `No chart: ${value.why}`}
      </p>
    </section>
  );
}

/** Fleet filter of a state's path. */
function fleetPath(path: string): string {
  return `/${formatFilter(path.includes(".") ? { state: topOf(path), detail: path } : { state: path })}`;
}

function Drawn({ chart }: { readonly chart: ChartAnswer }): JSX.Element {
  const known = summary.value;
  const [near, setNear] = useState<string | undefined>(undefined);
  const [open, setOpen] = useState<string | undefined>(undefined);
  const flows = useMemo(() => topFlows(known?.flow ?? []), [known?.flow]);
  const counts = (path: string) =>
    (path.includes(".") ? known?.configurations[path] : known?.states[path]) ?? 0;
  const opened = chart.states.find((state) => state.path === open);
  return (
    <>
      <div class="lead">
        <h1 tabIndex={-1}>Statechart</h1>
        <p class="soft">
          Every database runs this machine. {known ? plural(known.total, "database") : ""}{" "}
          stand where the numbers say; numbers on the ways count the last minute.
        </p>
      </div>
      <Statechart
        chart={chart}
        counts={known && counts}
        flows={flows}
        hrefOf={fleetPath}
        near={near}
        onNear={setNear}
      />
      <Near chart={chart} near={near} counts={counts} flows={flows} />
      <section class="insides" aria-labelledby="inside-heading">
        <h2 id="inside-heading">Look inside</h2>
        <div class="tabs" role="group" aria-label="Top-level states">
          {chart.states.filter((state) => state.inside).map((state) => (
            <button
              key={state.path}
              type="button"
              class={`tab ${familyClass(state.path)}`}
              aria-pressed={open === state.path}
              onClick={() => setOpen(open === state.path ? undefined : state.path)}
            >
              <i class="dot" aria-hidden="true" />
              {state.path}
            </button>
          ))}
        </div>
        {opened && <Opened key={opened.path} state={opened} counts={counts} />}
      </section>
      <Ways chart={chart} flows={flows} onNear={setNear} />
    </>
  );
}

/** What the pointer or the focus is on, in words. It keeps its room while there is nothing. */
function Near({ chart, near, counts, flows }: {
  readonly chart: ChartAnswer;
  readonly near: string | undefined;
  readonly counts: (path: string) => number;
  readonly flows: Flows;
}): JSX.Element {
  const state = chart.states.find((each) => each.path === near);
  const move = chart.moves.find((each) => wayKey(each) === near);
  return (
    <aside class="near-words" aria-live="off">
      {state
        ? (
          <p>
            <b class={familyClass(state.path)}>{state.path}</b> {state.description}{" "}
            <span class="soft">{plural(counts(state.path), "database")}</span>
          </p>
        )
        : move
        ? <MoveWords move={move} flows={flows} />
        : <p class="soft">Point at a state or a way to read what it means; a click shows those databases.</p>}
    </aside>
  );
}

function MoveWords({ move, flows }: { readonly move: ChartMove; readonly flows: Flows }): JSX.Element {
  const flow = flows.get(wayKey(move));
  return (
    <p>
      <b class={familyClass(move.from)}>{move.from}</b> → <b class={familyClass(move.to)}>{move.to}</b>{" "}
      {move.guards.map(guardText).join("; ")}{" "}
      <span class="soft">
        {count(flow?.lastMinute ?? 0)} in the last minute, {count(flow?.total ?? 0)} since the start
      </span>
    </p>
  );
}

function guardText(guard: ChartGuard): string {
  const cause = guard.event === "always" ? "" : `${guard.event} `;
  const brackets = guard.guard === "" ? "" : `[${guard.guard}] `;
  const actions = guard.actions.length === 0 ? "" : `/ ${guard.actions.join(", ")} `;
  return `${cause}${brackets}${actions}${guard.meaning}`.trim();
}

function Opened({ state, counts }: {
  readonly state: ChartTop;
  readonly counts: (path: string) => number;
}): JSX.Element {
  const [arrow, setArrow] = useState<ChartArrow | undefined>(undefined);
  return (
    <div class={`opened ${familyClass(state.path)}`}>
      <p>{state.description}</p>
      {state.inside && (
        <Inside path={state.path} drawing={state.inside} counts={counts} near={arrow} onNear={setArrow} />
      )}
      <ul class="steps">
        {state.steps.map((step) => (
          <li key={step.path}>
            <Link href={fleetPath(step.path)}>{step.title}</Link>
            {counts(step.path) > 0 && <span class="number">{count(counts(step.path))}</span>}
            {step.mutating && <span class="flag">changes the cloud</span>}
            <p class="soft">{step.description}</p>
          </li>
        ))}
      </ul>
      <details>
        <summary>Transitions inside, with guards</summary>
        <ScrollTable label={`Transitions inside ${state.path}`} heads={["From", "To", "When"]}>
          {(state.inside?.arrows ?? []).filter((each) => each.guards.length > 0).map((each, index) => (
            <tr key={index} class={arrow === each ? "near" : ""}>
              <td>{names(each.from)}</td>
              <td>{names(each.to)}</td>
              <td>
                {each.guards.map((guard, at) => <p key={at}>{guardText(guard)}</p>)}
              </td>
            </tr>
          ))}
        </ScrollTable>
      </details>
    </div>
  );
}

function names(paths: string): string {
  return paths.split(" ").map((path) => path.split(".").at(-1)).join(", ");
}

/** The ways as a table: the same for who does not point. */
function Ways({ chart, flows, onNear }: {
  readonly chart: ChartAnswer;
  readonly flows: Flows;
  readonly onNear: (what: string | undefined) => void;
}): JSX.Element {
  return (
    <details class="ways-table">
      <summary>All ways between the states</summary>
      <ScrollTable
        label="Ways between the states"
        heads={["From", "To", "When", "Last minute", "Since the start"]}
      >
        {chart.moves.map((move) => {
          const key = wayKey(move);
          const flow = flows.get(key);
          return (
            <tr
              key={key}
              onPointerEnter={() => onNear(key)}
              onPointerLeave={() => onNear(undefined)}
            >
              <td>{move.from}</td>
              <td>{move.to}</td>
              <td>{move.guards.map(guardText).join("; ")}</td>
              <td class="figure">{count(flow?.lastMinute ?? 0)}</td>
              <td class="figure">{count(flow?.total ?? 0)}</td>
            </tr>
          );
        })}
      </ScrollTable>
    </details>
  );
}
