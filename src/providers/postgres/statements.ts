/**
 * Every statement that changes something. Each is one message: several statements in it are one transaction.
 *
 * Names come in quoted and nothing else is put in: {@linkcode identifier} and {@linkcode literal} are the only ways
 * of text into SQL (utility statements take no parameters).
 *
 * @module
 */
import { type DatabaseRecord, formatRecord } from "./record.ts";

/** A name in double quotes. Throws for what no name can hold. */
export function identifier(name: string): string {
  if (name.includes("\0")) throw new Error("A name with a zero character cannot be written in SQL");
  return `"${name.replaceAll('"', '""')}"`;
}

/** Text in single quotes, whatever `standard_conforming_strings` says. Throws for what no text can hold. */
export function literal(text: string): string {
  if (text.includes("\0")) throw new Error("Text with a zero character cannot be written in SQL");
  const quoted = `'${text.replaceAll("'", "''").replaceAll("\\", "\\\\")}'`;
  return text.includes("\\") ? `E${quoted}` : quoted;
}

/**
 * Owner role and its record, at once: from here on the create shows. `major` is the server's. Without a verifier nobody
 * can log in as it by a password.
 */
export function createRole(
  name: string,
  record: DatabaseRecord,
  major: number,
  verifier: string | undefined,
): string {
  const role = identifier(name);
  // Until 15 CREATEROLE is power over every role; from 16 on the creator is given ADMIN OPTION alone, and takes the rest.
  const options = major >= 16 ? " WITH INHERIT TRUE, SET TRUE" : "";
  const login = verifier === undefined ? "LOGIN" : `LOGIN PASSWORD ${literal(verifier)}`;
  return `CREATE ROLE ${role} ${login}; GRANT ${role} TO CURRENT_USER${options}; ${
    commentOnRole(name, record)
  }`;
}

/** Gives the owner role another password, by its SCRAM verifier; open sessions go on. */
export function setPassword(name: string, verifier: string): string {
  return `ALTER ROLE ${identifier(name)} LOGIN PASSWORD ${literal(verifier)}`;
}

/** The database, closed to all. template0: a session on template1 would be in the way. */
export function createDatabase(name: string): string {
  const both = identifier(name);
  return `CREATE DATABASE ${both} OWNER ${both} TEMPLATE template0 ALLOW_CONNECTIONS false`;
}

/** Opens it to its owner, and to nobody else: by default every role of the server may connect. */
export function openDatabase(name: string, record: DatabaseRecord): string {
  const database = identifier(name);
  return `REVOKE ALL ON DATABASE ${database} FROM PUBLIC; ALTER DATABASE ${database} ALLOW_CONNECTIONS true; ${
    commentOnRole(name, record)
  }`;
}

/** Writes the record of a database that we made. */
export function commentOnRole(name: string, record: DatabaseRecord): string {
  return `COMMENT ON ROLE ${identifier(name)} IS ${literal(formatRecord(record))}`;
}

/** Writes the record of an adopted database. */
export function commentOnDatabase(name: string, record: DatabaseRecord): string {
  return `COMMENT ON DATABASE ${identifier(name)} IS ${literal(formatRecord(record))}`;
}

/** Refuses new sessions. */
export function closeDatabase(name: string): string {
  return `ALTER DATABASE ${identifier(name)} ALLOW_CONNECTIONS false`;
}

/** Ends the sessions that are open, and drops. */
export function dropDatabase(name: string): string {
  return `DROP DATABASE IF EXISTS ${identifier(name)} WITH (FORCE)`;
}

/** Ends the sessions of a database that we may end; PostgreSQL ends them as soon as they can be. */
export function endSessions(name: string): string {
  return `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${literal(name)}
    AND pid <> pg_backend_pid() AND usesysid IS NOT NULL AND pg_has_role(usesysid, 'USAGE')`;
}

/** Drops a database without sessions; waits some seconds for those that are ending. */
export function dropUnusedDatabase(name: string): string {
  return `DROP DATABASE IF EXISTS ${identifier(name)}`;
}

/** The owner role, with the privileges that it was given elsewhere on this server. */
export function dropRole(name: string): string {
  return `DROP OWNED BY ${identifier(name)}; DROP ROLE ${identifier(name)}`;
}
