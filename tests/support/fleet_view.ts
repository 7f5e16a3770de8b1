/** A view of rows alone, for what needs no operator. @module */
import type { FleetView, FleetWhole } from "../../src/server/api/view.ts";
import type { FleetRow, OrphanRow } from "../../src/server/fleet.ts";

/** The whole of a fleet of which nothing but the rows is known. */
const NOTHING_MORE: FleetWhole = {
  phase: "leading",
  orphans: 0,
  accounts: [],
  configurations: {},
  flow: [],
};

/** A view of the rows that `rows` gives when it is asked; nothing is ever told of changes. */
export function viewOf(
  rows: () => readonly FleetRow[],
  orphans: () => readonly OrphanRow[] = () => [],
): FleetView {
  return {
    rows,
    row: (uid) => rows().find((row) => row.uid === uid),
    find: (namespace, name) => rows().find((row) => row.namespace === namespace && row.name === name)?.uid,
    detail: () => undefined,
    history: () => undefined,
    lastGone: () => undefined,
    whole: () => NOTHING_MORE,
    orphans,
    listen: () => () => {},
  };
}
