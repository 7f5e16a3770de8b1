/** What waits for a person: resources by reason, and databases that nobody owns any more. @module */
import type { JSX } from "preact";
import type { FleetRow, FleetSummary, OrphanRow } from "../../server/api/types.ts";
import { familyClass } from "../families.ts";
import { Icon } from "../icons.tsx";
import { Link } from "../link.tsx";
import { meaningOf } from "../reasons/meaning.tsx";
import { databasePath, reasonPath } from "../route.ts";
import { shown } from "../text/safe.ts";
import { plural } from "../text/time.ts";
import { formatFilter, tellingReason } from "./query.ts";

/** Resources shown of each reason, and reasons. */
const MOST = 2;
const REASONS = 6;

/** What {@linkcode Attention} takes. */
export interface AttentionProps {
  readonly rows: readonly FleetRow[];
  readonly orphans: readonly OrphanRow[];
  readonly known: FleetSummary;
}

/** The panel: one calm line when nothing waits. */
export function Attention({ rows, orphans, known }: AttentionProps): JSX.Element {
  const waiting = rows.filter((row) => row.attention);
  const reasons = [...Map.groupBy(waiting, tellingReason)].sort(([, a], [, b]) => b.length - a.length);
  const total = waiting.length;
  const lost = Math.max(orphans.length, known.orphans);
  if (total === 0 && lost === 0) {
    return (
      <section class="panel attention calm" aria-labelledby="attention-heading">
        <h2 id="attention-heading">
          <Icon name="calm" />
          Nothing needs a person
        </h2>
        <p class="soft">What is not in step now is being worked on.</p>
      </section>
    );
  }
  return (
    <section class="panel attention" aria-labelledby="attention-heading">
      <h2 id="attention-heading">
        <Icon name="hand" />
        {total > 0
          ? `${plural(total, "database")} ${total === 1 ? "needs" : "need"} a person`
          : "Orphans need a person"}
      </h2>
      <div class="causes">
        {reasons.slice(0, REASONS).map(([reason, of]) => (
          <article key={reason}>
            <h3>
              <Link href={`/${formatFilter({ reason, attention: true })}`}>{shown(reason)}</Link>
              <span class="number">{of.length}</span>
            </h3>
            <ul>
              {of.slice(0, MOST).map((row) => (
                <li key={row.uid}>
                  <Link
                    href={databasePath(row.namespace, row.name)}
                    class={`named ${familyClass(row.state)}`}
                  >
                    <i class="dot" aria-hidden="true" />
                    {shown(row.namespace)}/{shown(row.name)}
                  </Link>
                  <p class="soft clip">{shown(row.message || row.synced?.reason)}</p>
                </li>
              ))}
            </ul>
            <p class="further">
              {meaningOf(reason) && (
                <Link href={reasonPath(reason)} label={`${reason}: what to do`}>What to do</Link>
              )}
              {of.length > MOST && (
                <Link href={`/${formatFilter({ reason, attention: true })}`}>
                  and {of.length - MOST} more
                </Link>
              )}
            </p>
          </article>
        ))}
        {lost > 0 && <Orphans orphans={orphans} total={lost} />}
      </div>
    </section>
  );
}

function Orphans(
  { orphans, total }: { readonly orphans: readonly OrphanRow[]; readonly total: number },
): JSX.Element {
  return (
    <article>
      <h3>
        <span class="titled">
          <Icon name="lone" />
          Orphans
        </span>
        <span class="number">{total}</span>
      </h3>
      <p class="soft">
        Databases whose resource is gone. They are never deleted: delete them at the provider, or adopt them
        by <code>spec.providerId</code>.
      </p>
      <details>
        <summary>Which</summary>
        <ul>
          {orphans.slice(0, 200).map((each) => (
            <li key={each.providerId}>
              <code>{shown(each.providerId)}</code>
              <p class="soft">
                {`${shown(each.engine)} ${shown(each.version)}, ${each.sizeGb} GiB, ${
                  shown(each.state)
                }; made for ${shown(each.namespace)}/${shown(each.name)}`}
              </p>
            </li>
          ))}
        </ul>
      </details>
    </article>
  );
}
