/**
 * What a server's catalogues say of databases: two queries, and their rows as the port wants them.
 *
 * @module
 */
import { printable } from "../classify.ts";
import type { Database } from "../port.ts";
import { formatId } from "./names.ts";
import { type DatabaseRecord, MARKER, parseRecord } from "./record.ts";
import { LOCK_CLASS } from "./session.ts";
import { formatVersion, versionOf } from "./versions.ts";

/** What every answer says of the server it comes from. */
export interface FactsRow {
  readonly identity: string;
  readonly version: number;
  readonly standby: boolean;
  readonly now: Date;
}

/** One name on a server: our owner role, a database, or both; all null where there is neither. */
export interface CatalogRow extends FactsRow {
  readonly name: string | null;
  /** Our owner role is there. */
  readonly role: boolean | null;
  /** A database of that name is there, and its owner is that role (where there is one). */
  readonly database: boolean | null;
  readonly template: boolean | null;
  readonly connectable: boolean | null;
  /** −2: a DROP DATABASE was interrupted; nothing but another can be done with it. */
  readonly limit: number | null;
  readonly role_comment: string | null;
  readonly database_comment: string | null;
  /** Some session works on it. */
  readonly locked: boolean | null;
  /** Size on disk in GiB, rounded up; only where it was asked for and may be read. */
  readonly size: number | null;
}

const FACTS = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS identity,
    current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS standby, now() AS now`;

const OURS = `LIKE '${MARKER}%'`;

const DETAILS = `d.oid IS NOT NULL AS database, d.datistemplate AS template, d.datallowconn AS connectable,
    d.datconnlimit AS limit`;

const LOCKED = (name: string) =>
  `EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
      AND l.classid = ${LOCK_CLASS} AND l.pid <> pg_backend_pid()
      AND l.objid = (hashtext(${name}::text)::bigint & 4294967295)::oid) AS locked`;

/** Sizes are measured until a statement has taken this long, in seconds: each is a walk over the database's files. */
export const MEASURE_SECONDS = 2;

/** NULL rather than an error for a database whose size may not be read, or that is half gone. */
const SIZE = `CASE WHEN clock_timestamp() < statement_timestamp() + interval '${MEASURE_SECONDS} s'
    AND d.datallowconn AND d.datconnlimit <> -2 AND has_database_privilege(d.oid, 'CONNECT')
    THEN ceil(pg_database_size(d.oid) / 1073741824.0)::int END AS size`;

const sizeOf = (measured: boolean) => measured ? SIZE : "NULL::int AS size";

/** The server alone. */
export const FACTS_SQL = FACTS;

/** One name ($1): always one row. A role of that name that is not ours does not count. */
export const oneSql = (measured: boolean) =>
  `WITH f AS (${FACTS})
SELECT f.*, coalesce(r.rolname, d.datname)::text AS name, r.oid IS NOT NULL AS role, ${DETAILS},
  shobj_description(r.oid, 'pg_authid') AS role_comment, shobj_description(d.oid, 'pg_database') AS database_comment,
  ${LOCKED("$1")}, ${sizeOf(measured)}
FROM f
LEFT JOIN pg_roles r ON r.rolname = $1 AND shobj_description(r.oid, 'pg_authid') ${OURS}
LEFT JOIN pg_database d ON d.datname = $1 AND (r.oid IS NULL OR d.datdba = r.oid)`;

/**
 * All names with a comment of ours after $1, at most $2, whose comment holds each of the texts in $3: one query over
 * roles, comments and databases, whatever their number.
 */
export const pageSql = (measured: boolean) =>
  `WITH f AS (${FACTS}), ours AS (
  SELECT r.rolname::text COLLATE "C" AS name, true AS role, d.oid AS db, s.description AS role_comment,
    NULL::text AS database_comment
  FROM pg_shdescription s JOIN pg_roles r ON r.oid = s.objoid
  LEFT JOIN pg_database d ON d.datname = r.rolname AND d.datdba = r.oid
  WHERE s.classoid = 'pg_authid'::regclass AND s.description ${OURS}
  UNION ALL
  SELECT d.datname::text COLLATE "C", false, d.oid, NULL, s.description
  FROM pg_shdescription s JOIN pg_database d ON d.oid = s.objoid JOIN pg_roles o ON o.oid = d.datdba
  WHERE s.classoid = 'pg_database'::regclass AND s.description ${OURS}
    AND coalesce(shobj_description(o.oid, 'pg_authid') NOT ${OURS}, true)
), page AS (
  SELECT * FROM ours o WHERE o.name > $1::text COLLATE "C"
    AND NOT EXISTS (SELECT 1 FROM unnest($3::text[]) t WHERE strpos(coalesce(role_comment, database_comment), t) = 0)
  ORDER BY o.name LIMIT $2
)
SELECT f.*, p.name, p.role, ${DETAILS}, p.role_comment, p.database_comment, ${LOCKED("p.name")},
  ${sizeOf(measured)}
FROM f LEFT JOIN page p ON true LEFT JOIN pg_database d ON d.oid = p.db
ORDER BY p.name`;

/** A database as its row shows it, with what was recorded; `record` is absent for one that nobody manages. */
export interface Found {
  readonly name: string;
  readonly record: DatabaseRecord | undefined;
  readonly row: CatalogRow;
  readonly database: Database;
}

/** Where a row was read. */
export interface RowOrigin {
  /** What stands in ids. */
  readonly identity: string;
  readonly host: string;
  readonly port: number;
}

/** A row as a database; `undefined` where there is none. Throws an Error where its comment cannot be read. */
export function toFound(row: CatalogRow, origin: RowOrigin): Found | undefined {
  const { name } = row;
  if (name === null || (row.role !== true && row.database !== true)) return undefined;
  if (row.role !== true && row.template === true) return undefined; // PostgreSQL's own
  const record = parseRecord(row.role === true ? row.role_comment : row.database_comment);
  const host = origin.host.includes(":") ? `[${origin.host}]` : origin.host;
  const served = record === undefined || record.ready;
  return {
    name,
    record,
    row,
    database: {
      id: formatId({ server: origin.identity, name }),
      name: record?.name ?? printable(name),
      engine: "postgres",
      version: formatVersion(versionOf(row.version)),
      sizeGb: record?.sizeGb ?? row.size ?? 0,
      // Without a record there is no quota.
      ...(record === undefined || row.size === null ? {} : { usedGb: row.size }),
      ...stateOf(row, record),
      // Kept whatever befalls it later: one that may hold data must never look as if it had not been finished (rule 7).
      ...(served ? { endpoint: `${host}:${origin.port}` } : {}),
      // An adopted database keeps its owner, of whom we know neither name nor password.
      ...(row.role === true ? { access: { type: "postgresql", database: name, username: name } } : {}),
      tags: record?.tags ?? {},
      // PostgreSQL does not know when a database was made: an adopted one is older than all of ours (S1).
      createdAt: record?.createdAt ?? "1970-01-01T00:00:00.000Z",
    },
  };
}

/** The word for a create whose process died between two steps: the next one that reads it by id finishes it. */
export const CREATE_INTERRUPTED = "CreateInterrupted";

/**
 * The lock tells work that goes on from work that was interrupted. An interrupted create is finished by a read by id
 * or a repeated create; an interrupted delete only by another delete, for which `Failed` leaves the way open.
 */
function stateOf(
  row: CatalogRow,
  record: DatabaseRecord | undefined,
): Pick<Database, "state" | "providerState"> {
  if (record?.deleting === true) {
    return row.locked === true
      ? { state: "Deleting", providerState: "Deleting" }
      : { state: "Failed", providerState: "DeleteInterrupted" };
  }
  if (record !== undefined && !record.ready) {
    return {
      state: "Provisioning",
      providerState: row.locked === true ? "Provisioning" : CREATE_INTERRUPTED,
    };
  }
  // It was finished once: somebody dropped it, or half dropped it, or closed it.
  if (row.database !== true) return { state: "Failed", providerState: "DatabaseDropped" };
  if (row.limit === -2) return { state: "Failed", providerState: "DropInterrupted" };
  if (row.connectable !== true) return { state: "Failed", providerState: "ConnectionsRefused" };
  return { state: "Available", providerState: "Available" };
}
