/**
 * Answers of a stranger's cloud, checked: nothing of them reaches the operator unread, unbounded or of the wrong type.
 *
 * @module
 */
import { z } from "zod";
import { accessOf } from "./access.ts";
import { printable } from "./classify.ts";
import { UNKNOWN_ACCOUNT } from "./info.ts";
import type { Database, DatabasePage, ProviderInfo, UnreadableDatabase } from "./port.ts";
import { toState } from "./words.ts";

/** Largest answer that is read, in bytes after decompression. A page of 100 databases has about 100 kB. */
export const MAX_ANSWER_BYTES = 10_000_000;

/** An answer is not what cloud-api.md says. The message says what is wrong with it. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

/** Reads a body as text; throws {@linkcode AnswerError} when it is too large, and what the connection throws. */
export async function readText(response: Response, limit = MAX_ANSWER_BYTES): Promise<string> {
  const { body } = response;
  if (body === null) return "";
  const tooLarge = () => new AnswerError(`the answer is larger than ${limit} bytes`);
  if (Number(response.headers.get("content-length") ?? 0) > limit) {
    await body.cancel();
    throw tooLarge();
  }
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body) { // leaving the loop by a throw cancels the stream
    size += chunk.byteLength;
    if (size > limit) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `text` as JSON, whatever its content type says; throws {@linkcode AnswerError}. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AnswerError(`the answer is not JSON: "${printable(text, 80)}"`); // the parser's words quote at length
  }
}

const errorBody = z.object({
  error: z.object({
    code: z.string().min(1).max(128).optional().catch(undefined),
    message: z.string().optional().catch(undefined),
  }),
});

/** Code and message of an error body; nothing when it is not the contract's. */
export function parseError(text: string): { code?: string; message?: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return {}; // an HTML page or plain text: the status alone has to do
  }
  const result = errorBody.safeParse(json);
  if (!result.success) return {};
  const { code, message } = result.data.error;
  return { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
}

/** Absent, `null` and empty mean the same. */
const optionalText = (max: number) =>
  z.string().max(max).nullish().transform((v) => v === "" || v === null ? undefined : v);

/** Stands for a time that the cloud does not say. It only orders several databases of one CR (S1): none is unreadable for it. */
const UNKNOWN_TIME = "1970-01-01T00:00:00Z";

/** A leap second is a time in RFC 3339 and none to a `Date`: the one before is taken. */
function toTime(text: string): string {
  const time = text.replace(/(:\d\d):60(\.\d+)?(?=Z|[+-])/i, "$1:59");
  return Number.isNaN(Date.parse(time)) ? UNKNOWN_TIME : time;
}

// Bounds are those of `status` in the schema of the resource: a longer value could not be recorded.
const databaseBody = z.object({
  id: z.string().min(1).max(253).refine(
    (id) => printable(id, 253) === id && id.isWellFormed(),
    "has control characters",
  ),
  name: z.string(),
  engine: z.string().min(1).max(253),
  version: z.string().min(1).max(253),
  sizeGb: z.int32().min(0),
  usedGb: z.int32().min(0).nullish().catch(undefined),
  state: z.string().min(1).max(253),
  endpoint: optionalText(1024),
  tags: z.record(z.string(), z.string()).nullish().transform((v) => v ?? {}),
  createdAt: z.string().transform(toTime).catch(UNKNOWN_TIME),
  // Field by field: what is not pending may be null (R4).
  pending: z.object({
    version: optionalText(253).catch(undefined),
    sizeGb: z.int32().nullish().transform((v) => v ?? undefined).catch(undefined),
  }).nullish().catch(undefined),
  access: z.object({
    type: z.string().regex(/^[a-z][a-z0-9+.-]{0,62}$/),
    database: z.string().min(1).max(253),
    username: z.string().min(1).max(253),
  }).nullish().catch(undefined),
});

/** One database. Throws {@linkcode AnswerError} that names the field; `expectedId` must be its id where it is given. */
export function parseDatabase(value: unknown, expectedId?: string): Database {
  const result = databaseBody.safeParse(value);
  if (!result.success) throw new AnswerError(`the answer is not a database: ${firstIssue(result.error)}`);
  if (expectedId !== undefined && result.data.id !== expectedId) {
    throw new AnswerError(`the answer is about another database, "${result.data.id}"`);
  }
  return toDatabase(result.data);
}

function toDatabase(
  { endpoint, pending, state, access, usedGb, ...rest }: z.output<typeof databaseBody>,
): Database {
  const { version, sizeGb } = pending ?? {};
  return {
    ...rest,
    ...(usedGb === undefined || usedGb === null ? {} : { usedGb }),
    ...toState(state),
    providerState: printable(state, 253),
    access: access ?? accessOf(rest.engine, rest.name),
    ...(endpoint === undefined ? {} : { endpoint: printable(endpoint, 1024) }),
    ...(version === undefined && sizeGb === undefined ? {} : {
      pending: { ...(version === undefined ? {} : { version }), ...(sizeGb === undefined ? {} : { sizeGb }) },
    }),
  };
}

// A server written in Go says `null` for a slice that holds nothing. Items that are missing are no empty page (S6).
const pageItems = z.array(z.unknown()).nullable().transform((v) => v ?? []);
// Some clouds count their pages: a number is as good a token.
const pageToken = z.preprocess((v) => typeof v === "number" ? String(v) : v, optionalText(4096));
const pageBody = z.object({ items: pageItems, nextPageToken: pageToken });
const tagsOf = z.object({ tags: z.record(z.string(), z.string()).nullish() });

/**
 * One page, of which only the databases with all of `tags` are kept (a cloud may not know the filter, S3). A
 * database without them need not be valid: it is a stranger's. One that has them and is not valid hides no other: it is
 * told as unreadable, for whoever leaves it out says "nothing there" (S6). What is not even an object fails the page.
 */
export function parsePage(
  value: unknown,
  options: { readonly tags: Readonly<Record<string, string>>; readonly pageToken: string | undefined },
): DatabasePage {
  const result = pageBody.safeParse(value);
  if (!result.success) throw new AnswerError(`the answer is not a page: ${firstIssue(result.error)}`);
  const { items, nextPageToken } = result.data;
  if (nextPageToken !== undefined && nextPageToken === options.pageToken) {
    throw new AnswerError("the next page is the same page again");
  }
  const wanted = Object.entries(options.tags);
  const mine = items.filter((item) => {
    const tags = tagsOf.safeParse(item);
    return !tags.success || wanted.every(([key, value]) => tags.data.tags?.[key] === value);
  });
  const read: Database[] = [];
  const unreadable: UnreadableDatabase[] = [];
  for (const item of mine) {
    const database = databaseBody.safeParse(item);
    if (database.success) read.push(toDatabase(database.data));
    else unreadable.push(unreadableItem(item, database.error));
  }
  return {
    items: read,
    ...(unreadable.length === 0 ? {} : { unreadable }),
    ...(nextPageToken === undefined ? {} : { nextPageToken }),
  };
}

function unreadableItem(item: unknown, error: z.ZodError): UnreadableDatabase {
  const issue = firstIssue(error);
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    throw new AnswerError(`the page holds what is not a database: ${issue}`);
  }
  const id = databaseBody.shape.id.safeParse((item as Readonly<Record<string, unknown>>).id);
  return id.success
    ? { id: id.data, message: `what it says of the database "${id.data}" is not valid (${issue})` }
    : { message: `it lists a database without a usable id (${issue})` };
}

const seconds = (fallback: number) => z.number().min(0).catch(fallback);
const infoBody = z.object({
  // Some clouds count their accounts: a number is as good a name.
  account: z.union([z.string().min(1).max(1024), z.number().transform(String)]).optional().catch(undefined),
  clientTokens: z.boolean().catch(UNKNOWN_ACCOUNT.clientTokens),
  readLagSeconds: seconds(UNKNOWN_ACCOUNT.readLagSeconds),
  effectBoundSeconds: seconds(UNKNOWN_ACCOUNT.effectBoundSeconds),
  passwords: z.enum(["always", "asked", "never"]).catch("asked").transform((v) =>
    v === "never" ? undefined : v
  ),
  snapshots: z.boolean().catch(true),
});

/** The account. A field that is missing or makes no sense is taken as if the account said nothing of it: the safe side. */
export function parseInfo(value: unknown): ProviderInfo {
  const result = infoBody.safeParse(value);
  if (!result.success) throw new AnswerError("the answer is not an object");
  return { ...result.data, account: result.data.account };
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.map(String).join(".") || "it"}: ${printable(issue?.message ?? "is not valid", 120)}`;
}
