/**
 * What differs between the engines of RDS.
 *
 * @module
 */

/** One engine as `CreateDBInstance` knows it. */
export interface RdsEngine {
  /** URI scheme of its clients. */
  readonly type: string;
  /** The database to connect to where the instance was made without one of its own; absent: there is none. */
  readonly fallback?: string;
  /** Whether `DBName` makes a database. SQL Server takes none; Oracle's is the SID, Db2's is made by hand. */
  readonly named: boolean;
  /** How many parts of a version make a major one: 16 of 16.3, 8.0 of 8.0.39. */
  readonly majorParts: 1 | 2;
}

const sqlServer: RdsEngine = {
  type: "sqlserver",
  fallback: "master",
  named: false,
  majorParts: 1,
};
const oracle: RdsEngine = { type: "oracle", fallback: "ORCL", named: false, majorParts: 1 };

const ENGINES: Readonly<Record<string, RdsEngine>> = {
  postgres: {
    type: "postgresql",
    fallback: "postgres",
    named: true,
    majorParts: 1,
  },
  mysql: { type: "mysql", named: true, majorParts: 2 },
  mariadb: { type: "mysql", named: true, majorParts: 2 },
  "sqlserver-ee": sqlServer,
  "sqlserver-se": sqlServer,
  "sqlserver-ex": sqlServer,
  "sqlserver-web": sqlServer,
  "oracle-ee": oracle,
  "oracle-ee-cdb": oracle,
  "oracle-se2": oracle,
  "oracle-se2-cdb": oracle,
};

/** The names of the engines that instances can be made of. */
export const ENGINE_NAMES: readonly string[] = Object.keys(ENGINES);

const SAME: Readonly<Record<string, string>> = {
  postgresql: "postgres",
  pg: "postgres",
  maria: "mariadb",
  oracle: "oracle-se2",
  sqlserver: "sqlserver-ex",
  mssql: "sqlserver-ex",
};

/** The engine of that name, whatever its case. */
export function engineOf(name: string): RdsEngine | undefined {
  const key = name.toLowerCase();
  return Object.hasOwn(ENGINES, key) ? ENGINES[key] : undefined;
}

/** Why no instance can be made of an engine that is not in {@linkcode ENGINE_NAMES}, and what to write instead. */
export function whyNoEngine(name: string): string {
  const key = name.toLowerCase();
  const meant = Object.hasOwn(SAME, key) ? SAME[key] : undefined;
  if (meant !== undefined) return `RDS has no engine "${name}"; write "${meant}"`;
  if (/^(aurora|neptune|docdb)/.test(key)) return `"${name}" comes in clusters, which are not made here`;
  return `RDS has no engine "${name}"; there are ${ENGINE_NAMES.join(", ")}`;
}

/** The major part of a version: 16 of postgres 16.3, 8.0 of mysql 8.0.39. */
export function majorOf(engine: string, version: string): string {
  return version.split(".").slice(0, engineOf(engine)?.majorParts ?? 1).join(".");
}
