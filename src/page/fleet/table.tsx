/**
 * The list: a table of which only the rows in sight exist, so that ten thousand cost no more than thirty.
 *
 * The window's own scroll moves it. A screen reader is told how many rows there are and which each one is; the arrow
 * keys, Page Up and Down, Home and End go from row to row, Enter opens one.
 *
 * @module
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { FleetRow } from "../../server/api/types.ts";
import { familyClass } from "../families.ts";
import { follow } from "../link.tsx";
import { databasePath } from "../route.ts";
import { shown } from "../text/safe.ts";
import { Age, Next } from "../when.tsx";
import { tellingReason } from "./query.ts";
import { type RowWindow, rowWindow, Slots } from "./window.ts";

/** Heights of a row in pixels, as the style sheet has them: on a narrow screen it has two lines. */
const ROW = 48;
const TALL_ROW = 76;
const NARROW = "(max-width: 760px)";
const PAGE_ROWS = 12;

/** What {@linkcode Table} takes. */
export interface TableProps {
  readonly rows: readonly FleetRow[];
}

/** The table of `rows`. */
export function Table({ rows }: TableProps): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const [tall, setTall] = useState(() => globalThis.matchMedia?.(NARROW).matches ?? false);
  const height = tall ? TALL_ROW : ROW;
  const [sight, setSight] = useState<RowWindow>({ first: 0, end: 40 });
  const [focused, setFocused] = useState(0);
  const wanted = useRef<number | undefined>(undefined);
  const count = rows.length;
  const slots = useMemo(() => new Slots(), []);
  useLayoutEffect(() => {
    const element = body.current;
    if (!element) return;
    element.style.height = `${Math.max(1, count) * height}px`;
    let framed = 0;
    const look = () => {
      framed = 0;
      const next = inSight(element, count, height);
      setSight((old) => old.first === next.first && old.end === next.end ? old : next);
    };
    const schedule = () => framed ||= requestAnimationFrame(look);
    const query = matchMedia(NARROW);
    const turn = () => setTall(query.matches);
    look();
    addEventListener("scroll", schedule, { passive: true });
    addEventListener("resize", schedule);
    query.addEventListener("change", turn);
    return () => {
      cancelAnimationFrame(framed);
      removeEventListener("scroll", schedule);
      removeEventListener("resize", schedule);
      query.removeEventListener("change", turn);
    };
  }, [count, height]);
  useEffect(() => {
    if (wanted.current === undefined) return;
    const link = body.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"] a`);
    if (!link) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  });
  const moveTo = (index: number) => {
    const element = body.current;
    if (!element || count === 0) return;
    const next = Math.max(0, Math.min(count - 1, index));
    const y = element.getBoundingClientRect().top + next * height;
    // The head of the page and of the table stay above it.
    if (y < 130) scrollBy(0, y - 130);
    else if (y + height > innerHeight - 8) scrollBy(0, y + height - innerHeight + 8);
    wanted.current = next;
    setFocused(next);
    setSight(inSight(element, count, height));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: focused + 1,
      ArrowUp: focused - 1,
      PageDown: focused + PAGE_ROWS,
      PageUp: focused - PAGE_ROWS,
      Home: 0,
      End: count - 1,
    };
    const to = steps[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moveTo(to);
  };
  const first = Math.min(sight.first, count);
  const end = Math.min(sight.end, count);
  const drawn = rows.slice(first, end);
  slots.keep(drawn.map(({ uid }) => uid));
  const tabStop = focused >= first && focused < end ? focused : first;
  if (count === 0) return <p class="table soft nothing">No database matches.</p>;
  return (
    <div class="table" role="table" aria-label="Databases" aria-rowcount={count + 1}>
      <div role="rowgroup" class="thead">
        <div role="row" aria-rowindex={1} class="tr">
          {["Name", "State", "Condition", "Wants", "Next try", "Age"].map((text) => (
            <span key={text} role="columnheader">{text}</span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="tbody" ref={body} onKeyDown={onKeyDown}>
        {drawn.map((row, index) => (
          <Row
            key={slots.of(row.uid)}
            row={row}
            index={first + index}
            height={height}
            stop={first + index === tabStop}
            onFocus={() => setFocused(first + index)}
          />
        ))}
      </div>
    </div>
  );
}

/** The rows to draw in `body`, as far as it is scrolled now. */
function inSight(body: HTMLElement, count: number, height: number): RowWindow {
  const { top } = body.getBoundingClientRect();
  return rowWindow(count, height, top, innerHeight - Math.max(0, top));
}

/** One row. */
function Row({ row, index, height, stop, onFocus }: {
  readonly row: FleetRow;
  readonly index: number;
  readonly height: number;
  readonly stop: boolean;
  readonly onFocus: () => void;
}): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (element.current) element.current.style.transform = `translateY(${index * height}px)`;
  }, [index, height]);
  useLayoutEffect(() => () => {
    // The element goes to another row: the focus was on this one.
    const { activeElement } = document;
    if (activeElement instanceof HTMLElement && element.current?.contains(activeElement)) {
      activeElement.blur();
    }
  }, [row.uid]);
  const path = databasePath(row.namespace, row.name);
  const inner = row.detail?.startsWith(`${row.state}.`) ? row.detail.slice(row.state.length + 1) : row.detail;
  const telling = tellingReason(row);
  const health = row.attention
    ? "bad"
    : row.ready === "True"
    ? "good"
    : row.ready === "False"
    ? "wait"
    : "unsure";
  return (
    <div
      ref={element}
      role="row"
      aria-rowindex={index + 2}
      data-row={index}
      class={`tr ${row.attention ? "person" : ""}`}
      onClick={(event) => {
        if (!(event.target instanceof Element && event.target.closest("a"))) follow(event, path);
      }}
    >
      <span role="rowheader" class="c-name">
        <a href={path} tabIndex={stop ? 0 : -1} onFocus={onFocus} onClick={(event) => follow(event, path)}>
          <span class="soft">{shown(row.namespace)}/</span>
          {shown(row.name)}
        </a>
      </span>
      <span role="cell" class={`c-state ${familyClass(row.state)}`}>
        <span class="badge">
          <i class="dot" aria-hidden="true" />
          {shown(row.state)}
        </span>
        {inner && inner !== row.state && <code>{shown(inner)}</code>}
      </span>
      <span role="cell" class="c-why">
        <b class={health}>
          {row.ready === "True" ? "Ready" : row.ready === "False" ? "Not ready" : "Unknown"}
          {telling !== "Available" && ` · ${shown(telling)}`}
        </b>
        <span class="soft clip">{shown(row.message)}</span>
      </span>
      <span role="cell" class="c-wants">
        {`${shown(row.engine)} ${shown(row.version)}`} <span class="soft">{`${row.sizeGb} GiB`}</span>
      </span>
      <span role="cell" class="c-next">
        <Next at={row.nextTryAt} />
      </span>
      <span role="cell" class="c-age soft">
        <Age at={row.createdAt} />
      </span>
    </div>
  );
}
