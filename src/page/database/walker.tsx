/** Stepping back and forth through the history: buttons, a slider, and the way back to the present. @module */
import type { JSX } from "preact";
import type { HistoryEntry } from "../../server/api/types.ts";
import { Icon } from "../icons.tsx";
import { shown } from "../text/safe.ts";
import { duration, timeOfDay } from "../text/time.ts";
import { indexAt } from "./steps.ts";

/** What {@linkcode Walker} takes. */
export interface WalkerProps {
  readonly entries: readonly HistoryEntry[];
  /** `n` of the step that is shown; absent: the present. */
  readonly at: number | undefined;
  readonly onMove: (by: number) => void;
  readonly onGo: (at: number | undefined) => void;
}

/** The controls, and the step in words. */
export function Walker({ entries, at, onMove, onGo }: WalkerProps): JSX.Element {
  const index = at === undefined ? entries.length : indexAt(entries, at);
  const entry = entries[index];
  const said = entry ? `Step ${entry.n}, ${timeOfDay(entry.at)}, ${entry.event}` : "Now";
  return (
    <div class="walker">
      <div class="controls" role="group" aria-label="Walk through the history">
        <button type="button" onClick={() => onMove(-1)} disabled={entries.length === 0 || index === 0}>
          <Icon name="back" />
          <span class="unseen">Step back</span>
        </button>
        <input
          type="range"
          min="0"
          max={entries.length}
          value={index}
          disabled={entries.length === 0}
          aria-label="Step of the history"
          aria-valuetext={said}
          onInput={(event) => onGo(entries[event.currentTarget.valueAsNumber]?.n)}
        />
        <button type="button" onClick={() => onMove(1)} disabled={entry === undefined}>
          <Icon name="forth" />
          <span class="unseen">Step forth</span>
        </button>
        <button type="button" class="now" onClick={() => onGo(undefined)} aria-pressed={entry === undefined}>
          Now
        </button>
      </div>
      {entry
        ? (
          <p class="told">
            <b>{timeOfDay(entry.at)}</b> <code>{shown(entry.event)}</code> {shown(entry.cause)}
            <span class="soft">
              {entry.from === entry.to
                ? ` · stayed in ${entry.from}`
                : ` · ${entry.from} → ${entry.to} after ${duration(entry.durationMs)}`}
            </span>
          </p>
        )
        : (
          <p class="told soft">
            The present. Step back with the buttons, the slider or the arrow keys to see how it came to this.
          </p>
        )}
    </div>
  );
}
