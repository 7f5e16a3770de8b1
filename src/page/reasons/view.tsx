/** Every reason that a condition, an Event or the page itself gives: what it means, and what to do. @module */
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { REASON_MEANINGS, type Turn } from "../../statechart/reasons.ts";
import { type Reason, REASONS } from "../../statechart/vocabulary.ts";
import { formatFilter } from "../fleet/query.ts";
import { Link } from "../link.tsx";
import { reasons as counted } from "../live/model.ts";
import { reasonPath } from "../route.ts";
import { count, plural } from "../text/time.ts";
import { Meaning, TURN_WORDS } from "./meaning.tsx";

/** The turns in the order in which they are told: what waits for somebody first. */
const TURNS: readonly Turn[] = ["person", "operator", "nobody"];
const ALL = Object.keys(REASONS) as Reason[];

/** The view at `/reasons`, and at `/reasons/{reason}` scrolled to that one. */
export function ReasonsView({ reason }: { readonly reason: string | undefined }): JSX.Element {
  const here = ALL.find((each) => each.toLowerCase() === reason?.toLowerCase());
  useEffect(() => {
    if (here === undefined) return;
    // After the frame in which a new view takes the focus to its own heading.
    const frame = requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const heading = document.getElementById(headingOf(here));
        heading?.closest("article")?.scrollIntoView({ block: "start" });
        heading?.focus({ preventScroll: true });
      })
    );
    return () => cancelAnimationFrame(frame);
  }, [here]);
  const numbers = new Map(counted.value);
  return (
    <>
      <div class="lead">
        <h1 tabIndex={-1}>Reasons</h1>
        <p class="soft">
          What the conditions <code>Ready</code>, <code>Synced</code> and{" "}
          <code>WithinQuota</code>, the Events and this page say, what it means, and what to do. Whatever
          failed is tried again, with growing waits; an edit of the spec has it tried at once.
        </p>
        {reason !== undefined && here === undefined && (
          <p class="bad">The operator knows no reason of the name in the address.</p>
        )}
        <nav class="index" aria-label="All reasons">
          {TURNS.map((turn) => (
            <section key={turn}>
              <h2>{TURN_WORDS[turn]}</h2>
              <ul>
                {of(turn).map((each) => (
                  <li key={each}>
                    <Link href={reasonPath(each)} current={each === here}>{each}</Link>
                    {numbers.has(each) && <span class="number">{count(numbers.get(each) ?? 0)}</span>}
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </nav>
      </div>
      <div class="entries">
        {TURNS.flatMap(of).map((each) => (
          <article
            key={each}
            class={each === here ? "panel entry here" : "panel entry"}
            aria-labelledby={headingOf(each)}
          >
            <div class="heading">
              <h2 id={headingOf(each)} tabIndex={-1}>{each}</h2>
              <span class={REASON_MEANINGS[each].turn === "person" ? "flag bad" : "flag"}>
                {TURN_WORDS[REASON_MEANINGS[each].turn]}
              </span>
              <span class="soft">on {REASONS[each].join(", ")}</span>
              {numbers.has(each) && (
                <Link href={`/${formatFilter({ reason: each })}`}>
                  {plural(numbers.get(each) ?? 0, "database")} now
                </Link>
              )}
            </div>
            <Meaning meaning={REASON_MEANINGS[each]} />
          </article>
        ))}
      </div>
    </>
  );
}

function of(turn: Turn): Reason[] {
  return ALL.filter((each) => REASON_MEANINGS[each].turn === turn);
}

function headingOf(reason: Reason): string {
  return `reason-${reason}`;
}
