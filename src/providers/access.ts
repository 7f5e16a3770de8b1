/**
 * How a client logs in at a database of a cloud that keeps to cloud-api.md.
 *
 * @module
 */
import type { Database } from "./port.ts";

/** The login that a create asks for (`masterUsername`): no engine reserves the word, as some do `admin` or `postgres`. */
export const MASTER_USERNAME = "dbadmin";

/** URI schemes of the engines whose name is none. */
const SCHEMES: Readonly<Record<string, string>> = {
  postgres: "postgresql",
  mariadb: "mysql",
};

/** The access of a database that the cloud says nothing of: the one that our creates ask for. */
export function accessOf(engine: string, database: string): NonNullable<Database["access"]> {
  const type = engine.toLowerCase();
  return { type: SCHEMES[type] ?? type, database, username: MASTER_USERNAME };
}
