/** One database: where it stands, why, what comes next, and everything it went through. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { ChartAnswer, DatabaseDetail } from "../../server/api/types.ts";
import { stepOf, topOf } from "../../statechart/path.ts";
import { Inside } from "../chart/inside.tsx";
import { Statechart } from "../chart/statechart.tsx";
import { familyClass } from "../families.ts";
import { Link } from "../link.tsx";
import { announcement, chart, database, now } from "../live/model.ts";
import { shown } from "../text/safe.ts";
import { Conditions } from "./conditions.tsx";
import { CopyButton } from "../copy.tsx";
import { Cache, Facts, Failures } from "./facts.tsx";
import { Fields } from "./fields.tsx";
import { History } from "./history.tsx";
import { activeOf, detailText, indexAt, presentFrame, stepFrame, walk } from "./steps.ts";
import { Walker } from "./walker.tsx";
import { Next, When } from "../when.tsx";

/** What {@linkcode DatabaseView} takes. */
export interface DatabaseViewProps {
  readonly namespace: string;
  readonly name: string;
}

/** The view at `/databases/{namespace}/{name}`. */
export function DatabaseView({ namespace, name }: DatabaseViewProps): JSX.Element {
  const [last, setLast] = useState<DatabaseDetail | undefined>(undefined);
  const detail = database.value;
  useEffect(() => {
    if (detail) setLast(detail);
  }, [detail]);
  const known = detail ?? last;
  if (!known) {
    return (
      <section class="empty" aria-busy={detail === undefined}>
        <h1 tabIndex={-1}>{shown(namespace)}/{shown(name)}</h1>
        <p class="soft">
          {detail === undefined
            ? "Waiting for the operator …"
            : "There is no such resource here, or no longer."}
        </p>
        <p>
          <Link href="/">To the fleet</Link>
        </p>
      </section>
    );
  }
  const drawn = chart.value;
  return (
    <Known
      detail={known}
      gone={detail === null}
      chart={drawn.state === "here" ? drawn.value : undefined}
    />
  );
}

/** The view of a database that is known; `gone`: its resource went while one looked. */
export function Known({ detail, gone, chart }: {
  readonly detail: DatabaseDetail;
  readonly gone: boolean;
  readonly chart: ChartAnswer | undefined;
}): JSX.Element {
  const { row, history } = detail;
  const { entries } = history;
  const [at, setAt] = useState<number | undefined>(undefined);
  const [inside, setInside] = useState(false);
  const entry = at === undefined || entries.length === 0 ? undefined : entries[indexAt(entries, at)];
  const frame = entry ? stepFrame(entry) : presentFrame(detail);
  const move = (by: number) => setAt((old) => walk(entries, old, by));
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.target instanceof HTMLElement && keepsArrows(event.target)) return;
      if (event.key === "ArrowLeft") move(-1);
      else if (event.key === "ArrowRight") move(1);
      else if (event.key === "Escape") setAt(undefined);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  // The heading of the wait had the focus and is gone with it: the one that takes its place takes it too.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  // A screen reader hears the step that was walked to, and the state that the present moved to.
  const told = entry
    ? `Step ${entry.n}: ${entry.event}, ${entry.from} to ${entry.to}`
    : `${row.namespace}/${row.name}: ${row.state}`;
  useEffect(() => {
    announcement.value = told;
  }, [told]);
  const inner = stepOf(activeOf(detail));
  const top = chart?.states.find((state) => state.path === frame.top);
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <Link href="/">Fleet</Link>
        <span aria-hidden="true">/</span>
        <Link href={`/?namespace=${encodeURIComponent(row.namespace)}`}>{shown(row.namespace)}</Link>
      </nav>
      <div class="lead one">
        <div>
          <h1 tabIndex={-1} ref={heading}>{shown(row.name)}</h1>
          <p class="standing">
            <span class={`badge big ${familyClass(row.state)}`}>
              <i class="dot" aria-hidden="true" />
              {shown(row.state)}
              {inner !== "" && <code>{shown(inner)}</code>}
            </span>
            {detail.asleep && <span class="flag">asleep</span>}
            {row.attention && <span class="flag bad">needs a person</span>}
            {gone && <span class="flag">gone</span>}
            {detail.deletionRequestedAt && (
              <span class="flag">
                deletion asked for <When at={detail.deletionRequestedAt} />
              </span>
            )}
          </p>
        </div>
        <NextTry detail={detail} />
        <CopyButton text={() => detailText(detail, now.value)} what="Copy as text" />
      </div>
      <div class="two">
        <Conditions conditions={detail.conditions} whose={row} />
        <div class="left">
          <section class="panel moment" aria-labelledby="chart-heading">
            <h2 id="chart-heading">{entry ? `Step ${entry.n}` : "Now"}</h2>
            <Walker entries={entries} at={entry?.n} onMove={move} onGo={setAt} />
            {chart
              ? <Statechart chart={chart} frame={frame} width={820} />
              : <p class="soft">The chart is on its way …</p>}
            {top?.inside && (
              <details open={inside} onToggle={(event) => setInside(event.currentTarget.open)}>
                <summary>Inside {topOf(frame.active)}</summary>
                {inside && <Inside path={top.path} drawing={top.inside} active={frame.active} />}
              </details>
            )}
          </section>
          <History history={history} at={entry?.n} onGo={setAt} />
        </div>
        <div class="right">
          <Fields fields={detail.fields} generation={detail.generation} acted={detail.observedGeneration} />
          <Failures failures={detail.failures} />
          <Cache cache={detail.cache} />
          <Facts detail={detail} />
        </div>
      </div>
    </>
  );
}

/** Whether the arrow keys already mean something where the focus is: a choice, or what scrolls sideways. */
function keepsArrows(focused: HTMLElement): boolean {
  const frame = focused.closest(".frame, .scroll");
  return focused.closest("input, select, textarea") !== null ||
    frame !== null && frame.scrollWidth > frame.clientWidth;
}

function NextTry({ detail }: { readonly detail: DatabaseDetail }): JSX.Element {
  return (
    <p class="next">
      <span class="soft">Acts by itself</span>
      <b>{detail.nextTryAt === undefined ? "when something happens" : <Next at={detail.nextTryAt} />}</b>
    </p>
  );
}
