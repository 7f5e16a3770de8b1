/** What the status says, or is about to say. @module */
import type { JSX } from "preact";
import type { ConditionView } from "../../server/api/types.ts";
import { shown } from "../text/safe.ts";
import { When } from "../when.tsx";

/** The conditions. */
export function Conditions({ conditions }: { readonly conditions: readonly ConditionView[] }): JSX.Element {
  return (
    <section class="panel conditions" aria-labelledby="conditions-heading">
      <h2 id="conditions-heading">Conditions</h2>
      {conditions.length === 0 && <p class="soft">None was written yet.</p>}
      <ul>
        {conditions.map(({ type, status, reason, message, since, unwritten }) => (
          <li key={type} class={status}>
            <p class="what">
              <b>{shown(type)}</b>
              <span class="verdict">{status}</span>
              <span class="reason">{shown(reason)}</span>
              {since && (
                <span class="soft">
                  <When at={since} />
                </span>
              )}
              {unwritten && <span class="flag">not written yet</span>}
            </p>
            {message !== "" && <p>{shown(message)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
