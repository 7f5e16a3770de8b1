/** What else is known: failures that are tried again, the age of what is cached, and where things are. @module */
import type { JSX } from "preact";
import type { DatabaseDetail } from "../../server/api/types.ts";
import { now } from "../live/model.ts";
import { shown } from "../text/safe.ts";
import { coarse, plural } from "../text/time.ts";
import { Next, When } from "../when.tsx";

/** Effects that failed; nothing while there are none. */
export function Failures({ failures }: Pick<DatabaseDetail, "failures">): JSX.Element | null {
  if (failures.length === 0) return null;
  return (
    <section class="panel failures" aria-labelledby="failures-heading">
      <h2 id="failures-heading">Failed, and tried again</h2>
      <ul>
        {failures.map(({ effect, errorClass, message, attempts, tryAt }) => (
          <li key={effect}>
            <p>
              <code>{shown(effect)}</code> <b>{shown(errorClass)}</b>{" "}
              <span class="soft">
                {plural(attempts, "attempt")}, next <Next at={tryAt} />
              </span>
            </p>
            <p>{shown(message)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How old the last observation is. */
export function Cache({ cache }: Pick<DatabaseDetail, "cache">): JSX.Element {
  const age = cache.readAt === undefined ? cache.ageMs : now.value - Date.parse(cache.readAt);
  const words = {
    present: "the database was there",
    absent: "no database was there",
    none: "nothing is cached",
  };
  return (
    <section class="panel cache" aria-labelledby="cache-heading">
      <h2 id="cache-heading">Last observation</h2>
      <p>
        {age === undefined ? "" : <b>{coarse(age)} old</b>} <span class="soft">{words[cache.kind]}</span>
      </p>
    </section>
  );
}

/** Names and policies. */
export function Facts({ detail }: { readonly detail: DatabaseDetail }): JSX.Element {
  const { row, policies } = detail;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Endpoint", row.endpoint],
    ["Provider id", row.providerId],
    ["Class", row.className],
    ["UID", row.uid],
    ...Object.entries(policies),
  ];
  return (
    <section class="panel facts" aria-labelledby="facts-heading">
      <h2 id="facts-heading">Names and policies</h2>
      <dl>
        {facts.map(([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{shown(name)}</dt>
              <dd>{shown(value)}</dd>
            </div>
          )
        )}
        {row.createdAt && (
          <div>
            <dt>Created</dt>
            <dd>
              <When at={row.createdAt} />
            </dd>
          </div>
        )}
      </dl>
      <p class="soft kubectl">
        <code>{`kubectl -n ${shown(row.namespace)} describe edb ${shown(row.name)}`}</code>
      </p>
    </section>
  );
}
