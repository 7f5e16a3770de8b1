/**
 * Bodies of requests: how much of them is read, and what the cloud takes in a create and a modify.
 *
 * @module
 */
import { z } from "zod";
import { passwordDigest } from "./logins.ts";
import { invalid } from "./store.ts";
import type { CreateBody, ModifyBody } from "./types.ts";

/** Largest request body that is read, in bytes. */
const MAX_BODY = 1_000_000;

const key = z.string().min(1).max(128);
const version = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z._+-]{0,62}$/);
const sizeGb = z.int32().min(1).max(65_536);

/** Body of a create. */
export const createBody = z.object({
  name: z.string().min(1).max(255),
  engine: z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,62}$/),
  version,
  sizeGb,
  tags: z.record(key, z.string().max(1024)).optional(),
  clientToken: z.string().min(1).max(255).optional(),
  masterUsername: z.string().min(1).max(63).optional(),
  masterPassword: z.string().min(1).max(255).optional(),
  deletionProtection: z.boolean().optional(),
});

/** Body of a modify. */
export const modifyBody = z.object({
  sizeGb: sizeGb.optional(),
  version: version.optional(),
  tags: z.record(key, z.string().max(1024).nullable()).optional(),
  masterPassword: z.string().min(1).max(255).optional(),
  deletionProtection: z.boolean().optional(),
});

/** `body` checked; throws 400 `InvalidParameter` that names the field. */
export function checkCreate(body: unknown): CreateBody {
  return check(createBody, body);
}

/** `body` checked; throws 400 `InvalidParameter` that names the field. */
export function checkModify(body: unknown): ModifyBody {
  return check(modifyBody, body);
}

function check<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw invalid(`${issue?.path.join(".") || "The body"}: ${issue?.message ?? "is not valid"}`);
}

/** One text for all that a repeated create must have in common with the first (`IdempotencyMismatch`). */
export function fingerprint(body: CreateBody): string {
  const tags = Object.entries(body.tags ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    body.name,
    body.engine,
    body.version,
    body.sizeGb,
    tags,
    body.masterUsername ?? null,
    body.masterPassword === undefined ? null : passwordDigest(body.masterPassword),
    ...(body.deletionProtection === undefined ? [] : [body.deletionProtection]),
  ]);
}

/** The body as text. Throws 400 when it is too large. */
export async function readBounded(request: Request): Promise<string> {
  if (request.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > MAX_BODY) throw invalid(`The body is larger than ${MAX_BODY} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
