/** The history as a list: what came, why, where it led, how long it took, and what was called. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { CallRecord, HistoryAnswer, HistoryEntry } from "../../server/api/types.ts";
import { stepOf, topOf } from "../../statechart/path.ts";
import { familyClass } from "../families.ts";
import { shown } from "../text/safe.ts";
import { count, duration, plural, timeOfDay } from "../text/time.ts";
import { At } from "../when.tsx";
import { CopyButton } from "../copy.tsx";
import { chapters, historyText, isMove, wayOf } from "./steps.ts";

/** What {@linkcode History} takes. */
export interface HistoryProps {
  readonly history: HistoryAnswer;
  readonly at: number | undefined;
  readonly onGo: (at: number | undefined) => void;
}

/** The list, the newest first, by generation of the resource. */
export function History({ history, at, onGo }: HistoryProps): JSX.Element {
  const { entries, dropped } = history;
  const [quiet, setQuiet] = useState(false);
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const step = at === undefined
      ? undefined
      : list.current?.querySelector<HTMLElement>(`[data-step="${at}"]`);
    const frame = step?.closest<HTMLElement>(".chapters");
    if (!step || !frame) return;
    // Only the list itself moves: the chart stays where it is looked at.
    const top = step.offsetTop - frame.offsetTop;
    const bottom = top + step.offsetHeight;
    if (top < frame.scrollTop) frame.scrollTop = top - 40;
    else if (bottom > frame.scrollTop + frame.clientHeight) frame.scrollTop = bottom - frame.clientHeight + 8;
  }, [at]);
  const moves = entries.filter(isMove);
  const hidden = entries.length - moves.length;
  return (
    <section class="panel history" aria-labelledby="history-heading" ref={list}>
      <div class="heading">
        <h2 id="history-heading">History</h2>
        <span class="soft">
          {plural(entries.length, "step")}
          {dropped > 0 && `, ${count(dropped)} older ones dropped`}
        </span>
        {hidden > 0 && (
          <label class="only">
            <input
              type="checkbox"
              checked={quiet}
              onChange={(event) => setQuiet(event.currentTarget.checked)}
            />
            {`${hidden} that changed nothing`}
          </label>
        )}
        <CopyButton text={() => historyText(history)} what="Copy history" />
      </div>
      {entries.length === 0 && <p class="soft">Nothing happened since this operator started.</p>}
      <div class="chapters" tabIndex={0} role="region" aria-label="Steps, the newest first">
        {chapters(quiet ? entries : moves).map((chapter) => (
          <section
            key={chapter.generation}
            id={`generation-${chapter.generation}`}
          >
            <h3>
              Generation {chapter.generation}
              <span class="soft">{plural(chapter.entries.length, "step")}</span>
            </h3>
            <ol reversed>
              {chapter.entries.map((entry) => (
                <Step key={entry.n} entry={entry} shownNow={entry.n === at} onGo={onGo} />
              ))}
            </ol>
          </section>
        ))}
      </div>
    </section>
  );
}

function Step({ entry, shownNow, onGo }: {
  readonly entry: HistoryEntry;
  readonly shownNow: boolean;
  readonly onGo: (at: number | undefined) => void;
}): JSX.Element {
  const { n, at, event, cause, from, to, durationMs, calls, repeated = 0, lastAt } = entry;
  const way = wayOf(entry);
  const moved = topOf(from) !== topOf(to);
  return (
    <li data-step={n} class={shownNow ? "step here" : "step"}>
      <button
        type="button"
        class="pick"
        aria-pressed={shownNow}
        onClick={() => onGo(shownNow ? undefined : n)}
      >
        <span class="unseen">Show step {n} in the chart:</span>
        <At at={at} />
        <code>{shown(event)}</code>
        {repeated > 0 && (
          <span class="flag">×{count(repeated + 1)}{lastAt && `, last ${timeOfDay(lastAt)}`}</span>
        )}
      </button>
      <p class="cause">{shown(cause)}</p>
      <p class={moved ? "trail moved" : "trail"}>
        {way.length === 1 ? <Place path={to} /> : way.map((path, index) => (
          <span key={index}>
            {index > 0 && <span class="soft" aria-label="to">→</span>}
            <Place path={path} short={index > 0 && topOf(way[index - 1] ?? "") === topOf(path)} />
          </span>
        ))}
        <span class="soft">after {duration(durationMs)}</span>
      </p>
      {calls.length > 0 && (
        <ul class="calls" aria-label="Calls">
          {calls.map((call, index) => <Call key={index} call={call} />)}
        </ul>
      )}
    </li>
  );
}

function Place({ path, short = false }: { readonly path: string; readonly short?: boolean }): JSX.Element {
  if (path === "") return <span class="place f5">start</span>;
  const step = shown(stepOf(path));
  return (
    <span class={`place ${familyClass(path)}`}>
      {short && step !== "" ? step : (
        <>
          <b>{shown(topOf(path))}</b>
          {step !== "" && `.${step}`}
        </>
      )}
    </span>
  );
}

function Call({ call }: { readonly call: CallRecord }): JSX.Element {
  const { to, verb, outcome, detail, durationMs } = call;
  const good = outcome === "ok";
  return (
    <li class={good ? "good" : "bad"}>
      <span class="to">{shown(to)}</span>
      <code>{shown(verb)}</code>
      <b>{shown(outcome)}</b>
      <span class="soft">{duration(durationMs)}</span>
      {detail && <span class="detail">{shown(detail)}</span>}
    </li>
  );
}
