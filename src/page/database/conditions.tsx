/** What the status says, or is about to say, what it means, and what to do about it. @module */
import type { JSX } from "preact";
import type { ConditionView } from "../../server/api/types.ts";
import { Meaning, meaningOf, ReasonLink, type Whose } from "../reasons/meaning.tsx";
import { shown } from "../text/safe.ts";
import { When } from "../when.tsx";

/** What {@linkcode Conditions} takes. */
export interface ConditionsProps {
  readonly conditions: readonly ConditionView[];
  /** The resource that they are of. */
  readonly whose: Whose;
}

/** The conditions; what to do stands open where it is a person's turn, once for each reason. */
export function Conditions({ conditions, whose }: ConditionsProps): JSX.Element {
  return (
    <section class="panel conditions" aria-labelledby="conditions-heading">
      <h2 id="conditions-heading">Conditions</h2>
      {conditions.length === 0 && <p class="soft">None was written yet.</p>}
      <ul>
        {conditions.map(({ type, status, reason, message, since, unwritten }, index) => (
          <li key={type} class={status}>
            <p class="what">
              <b>{shown(type)}</b>
              <span class="verdict">{status}</span>
              <ReasonLink reason={reason} />
              {since && (
                <span class="soft">
                  <When at={since} />
                </span>
              )}
              {unwritten && <span class="flag">not written yet</span>}
            </p>
            {message !== "" && <p>{shown(message)}</p>}
            {conditions.findIndex((each) =>
                  each.reason === reason
                ) === index && <WhatToDo key={reason} reason={reason} whose={whose} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function WhatToDo({ reason, whose }: { readonly reason: string; readonly whose: Whose }): JSX.Element | null {
  const meaning = meaningOf(reason);
  if (meaning === undefined || meaning.turn === "nobody") return null;
  return (
    <details open={meaning.turn === "person"}>
      <summary>What it means, what to do</summary>
      <Meaning meaning={meaning} whose={whose} />
    </details>
  );
}
