/** The fleet: what needs a person first, then how all are, then each of them. @module */
import type { JSX } from "preact";
import { filter, orphans, rows, selected, summary } from "../live/model.ts";
import { plural } from "../text/time.ts";
import { Attention } from "./attention.tsx";
import { Budget } from "./budget.tsx";
import { Filters } from "./filters.tsx";
import { isNarrow } from "./query.ts";
import { States } from "./states.tsx";
import { Table } from "./table.tsx";

/** The view at `/`. */
export function FleetView(): JSX.Element {
  const all = rows.value;
  const known = summary.value;
  if (all === undefined || known === undefined) {
    return (
      <section class="empty" aria-busy="true">
        <h1 tabIndex={-1}>Fleet</h1>
        <p class="soft">Waiting for the operator …</p>
      </section>
    );
  }
  const shown = selected.value;
  return (
    <>
      <div class="lead">
        <h1 tabIndex={-1}>{plural(all.length, "database")}</h1>
        <States rows={all} filter={filter.value} />
      </div>
      <div class="panels">
        <Attention rows={all} orphans={orphans.value} known={known} />
        <Budget accounts={known.accounts} />
      </div>
      <section class="list" aria-labelledby="list-heading">
        <h2 id="list-heading" class="unseen">All databases</h2>
        <Filters filter={filter.value} />
        <p class="counted soft" role="status">
          {isNarrow(filter.value) ? `${plural(shown.length, "database")} of ${all.length} match` : ""}
        </p>
        <Table rows={shown} />
      </section>
    </>
  );
}
