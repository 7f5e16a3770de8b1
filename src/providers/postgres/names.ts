/**
 * Names and ids of databases on PostgreSQL servers: derived, never chosen, so that a lost create is found again.
 *
 * Role and database of a resource bear one name of at most 63 bytes: `db_<namespace>_<name>_<digest>`, where the digest
 * is 100 bits of SHA-256 of the client token (UID + incarnation). People recognise the front, the digest alone
 * tells databases apart: what is cut or replaced in the front cannot make two names meet. PostgreSQL cuts longer
 * names silently and reserves the prefix `pg_`: neither can happen here.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** Longest identifier of PostgreSQL, in bytes (`NAMEDATALEN` - 1). */
export const MAX_NAME_BYTES = 63;

const DIGEST_CHARS = 20;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** What a name is derived from. */
export interface NameParts {
  readonly namespace: string | undefined;
  readonly name: string;
  /** UID + incarnation (rule 4). */
  readonly clientToken: string;
}

/** The name of role and database: lower-case letters, digits and underscores, at most 63 of them. */
export function databaseName({ namespace, name, clientToken }: NameParts): string {
  const front = [namespace, name].filter((part) => part !== undefined && part !== "").join("_");
  const plain = `db_${front.toLowerCase().replace(/[^a-z0-9]+/g, "_")}`;
  return `${plain.slice(0, MAX_NAME_BYTES - 1 - DIGEST_CHARS)}_${digest(clientToken)}`;
}

/** 100 bits of SHA-256 in 20 characters of base 32. */
function digest(text: string): string {
  const bytes = createHash("sha256").update(text).digest();
  let bits = 0n;
  for (const byte of bytes.subarray(0, 13)) bits = bits << 8n | BigInt(byte);
  let result = "";
  for (let n = 0; n < DIGEST_CHARS; n++, bits >>= 5n) result += ALPHABET[Number(bits & 31n)];
  return result;
}

/** An id taken apart. */
export interface DatabaseId {
  /** Identity of the server: its system identifier, unless the servers' file says otherwise. */
  readonly server: string;
  /** Name of the database. */
  readonly name: string;
}

/** `server/name`, printable: other characters of an adopted database's name are percent-encoded. */
export function formatId({ server, name }: DatabaseId): string {
  return `${server}/${encodeURIComponent(name)}`;
}

/** The parts of an id, or `undefined` where it cannot be one of ours: each database has one spelling only. */
export function parseId(id: string): DatabaseId | undefined {
  const match = /^(\d{15,20})\/([\x21-\x7e]{1,189})$/.exec(id);
  if (match === null) return undefined;
  let name: string;
  try {
    name = decodeURIComponent(match[2]!);
  } catch {
    return undefined; // a stray percent sign: not spelled by us
  }
  if (new TextEncoder().encode(name).length > MAX_NAME_BYTES || name.includes("\0")) return undefined;
  const parsed = { server: match[1]!, name };
  return formatId(parsed) === id ? parsed : undefined;
}
