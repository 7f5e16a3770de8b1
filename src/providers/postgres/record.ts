/**
 * What the provider keeps on the server of each database: one comment, written in one transaction with what it is
 * about.
 *
 * For a database that we made it stands on its owner role (roles and their comments are made atomically, databases
 * are not); for an adopted one on the database. A tenant can write the second, as the owner of the database, and never
 * the first.
 *
 * @module
 */
import { z } from "zod";

/** How a comment of ours begins. The rest is JSON as `JSON.stringify` writes it. */
export const MARKER = "externaldatabase/1 ";

const shape = z.object({
  /** The name that was asked for. */
  name: z.string(),
  /** The soft quota, in GiB. */
  sizeGb: z.int32().min(0),
  tags: z.record(z.string(), z.string()),
  /** RFC 3339, by the server's clock. */
  createdAt: z.string().refine((text) => !Number.isNaN(Date.parse(text)), "is not a time"),
  /** Digest of the first create's parameters; absent for an adopted database. */
  request: z.string().optional(),
  /** The create has ended: from here on the database may hold data. */
  ready: z.boolean(),
  /** A delete has begun. */
  deleting: z.boolean().optional(),
  /** The comment that an adopted database had before. */
  previous: z.string().optional(),
});

/** The content of a comment of ours. */
export type DatabaseRecord = Readonly<z.output<typeof shape>>;

/** The comment for a record. */
export function formatRecord(record: DatabaseRecord): string {
  return MARKER + JSON.stringify(record);
}

/** The record in a comment; `undefined` where the comment is not ours. Throws an Error that names the field at fault. */
export function parseRecord(comment: string | null): DatabaseRecord | undefined {
  if (comment === null || !comment.startsWith(MARKER)) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(comment.slice(MARKER.length));
  } catch {
    throw new Error("its comment is not JSON");
  }
  const result = shape.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Error(`${issue?.path.join(".") || "its comment"}: ${issue?.message ?? "is not valid"}`);
}

/** Text that stands in every comment whose record has this tag: JSON escapes the quotes within strings. */
export function tagFragment(key: string, value: string): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`;
}
