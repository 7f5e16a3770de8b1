/**
 * Databases of a folder as the port shows them.
 *
 * @module
 */
import type { Database, DatabasePage, ListOptions } from "../port.ts";
import type { LocalRecord } from "./record.ts";

/** A record, and what is known of its server, as a database. */
export function databaseOf(
  record: LocalRecord,
  state: Pick<Database, "state" | "providerState" | "unknownState">,
): Database {
  const { id, name, engine, version, sizeGb, tags, createdAt, port, phase, database, username } = record;
  const served = phase === "ready" || phase === "deleting";
  return {
    ...{ id, name, engine, version, sizeGb, tags, createdAt },
    ...state,
    ...(served && port !== undefined ? { endpoint: `127.0.0.1:${port}` } : {}),
    access: { type: "postgresql", database, username },
    deletionProtection: record.protected,
  };
}

/** One page of them, by id. */
export function pageOf(
  databases: Iterable<Database>,
  { tags, pageToken = "", limit = 100 }: ListOptions,
): DatabasePage {
  const wanted = Object.entries(tags);
  const found = [...databases]
    .filter((d) => d.id > pageToken && wanted.every(([key, value]) => d.tags[key] === value))
    .toSorted((a, b) => a.id < b.id ? -1 : 1);
  const items = found.slice(0, Math.min(100, Math.max(1, Math.trunc(limit))));
  const last = items.at(-1);
  return { items, ...(items.length < found.length && last ? { nextPageToken: last.id } : {}) };
}
