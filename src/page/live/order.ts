/**
 * Rows in a lasting order: names never change, so only a row that comes or goes costs a sort.
 *
 * @module
 */
import type { FleetRow } from "../../server/api/types.ts";
import { byName } from "../fleet/query.ts";

/** Keeps the order from one call to the next. */
export class NameOrder {
  #uids: readonly string[] = [];

  /** The rows by namespace and name. */
  of(rows: ReadonlyMap<string, FleetRow>): FleetRow[] {
    const kept: FleetRow[] = [];
    for (const uid of this.#uids) {
      const row = rows.get(uid);
      if (row !== undefined) kept.push(row);
    }
    if (kept.length === rows.size) return kept;
    const sorted = byName([...rows.values()]);
    this.#uids = sorted.map((row) => row.uid);
    return sorted;
  }
}
