/**
 * What is on disk of each database: one file, replaced as a whole.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import { z } from "zod";
import type { CreateRequest } from "../port.ts";

/**
 * How far a database has come:
 *
 * - `new`: its data folder may be there, in any state, and holds nothing
 * - `initialised`: there is a server to be started, without role and database
 * - `ready`: it was available once, and may hold data
 * - `deleting`: a delete was accepted
 */
const PHASES = ["new", "initialised", "ready", "deleting"] as const;

const shape = z.object({
  format: z.literal(1),
  id: z.string().regex(/^local-[a-z2-7]{20}$/),
  name: z.string(),
  /** As it was asked for. */
  engine: z.string(),
  /** Of the binaries, such as 16.14. */
  version: z.string(),
  /** The soft quota, in GiB. */
  sizeGb: z.int32(),
  tags: z.record(z.string(), z.string()),
  createdAt: z.string(),
  /** Digest of the create's parameters, keyed by the superuser's password. */
  request: z.string(),
  protected: z.boolean(),
  phase: z.enum(PHASES),
  port: z.int().min(1).max(65_535).optional(),
  /** Of the superuser, who is known to this provider alone. */
  superuserPassword: z.string(),
  database: z.string(),
  username: z.string(),
  /** SCRAM verifier of the owner's password that was asked for last; the password itself is nowhere. */
  verifier: z.string().optional(),
  /** The server does not have that password yet. */
  stale: z.boolean().optional(),
});

/** The content of a database's file. */
export type LocalRecord = Readonly<z.output<typeof shape>>;

/** The record in a file's text. Throws an Error that quotes nothing of it. */
export function parseRecord(text: string): LocalRecord {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("it is not JSON");
  }
  const result = shape.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Error(`${issue?.path.join(".") || "it"} is not valid`);
}

/** One text for all that a repeated create must have in common with the first; nobody can guess a password from it. */
export function requestDigest(request: CreateRequest, key: string): string {
  const { name, engine, version, sizeGb, tags, password, deletionProtection } = request;
  const parts = [
    ...[name, engine.toLowerCase(), version, sizeGb, Object.entries(tags).toSorted()],
    ...[password ?? null, deletionProtection ?? false],
  ];
  return createHmac("sha256", key).update(JSON.stringify(parts)).digest("base64url");
}

/** Longest identifier of PostgreSQL, in bytes. */
const MAX_NAME_BYTES = 63;
/** Databases that every server has. */
const TAKEN = ["postgres", "template0", "template1"];

/** The name of the database on its own server: that of the resource, where PostgreSQL can bear it. */
export function databaseNameFor(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, MAX_NAME_BYTES);
  return TAKEN.includes(plain) ? `${plain}_db` : plain;
}
