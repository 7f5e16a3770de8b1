/**
 * Listing: RDS knows no filter by tag, so all instances of the account in the region are read, and ours picked out.
 *
 * @module
 */
import { type DBInstance, DescribeDBInstancesCommand } from "@aws-sdk/client-rds";
import { printable } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import type { Database, DatabasePage, ListOptions, UnreadableDatabase } from "../port.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import type { AwsClients } from "./clients.ts";
import { databaseOf, tagsOf } from "./record.ts";

/** RDS's own bounds of a page. */
const PAGE = { min: 20, max: 100 } as const;

/** Where a page begins: at RDS's marker, after an instance on its page where a smaller one was asked for. */
interface Place {
  readonly marker?: string | undefined;
  readonly after?: string | undefined;
}

/** One page; it may be empty and yet have a next one. */
export async function listPage(
  clients: AwsClients,
  call: Call,
  options: ListOptions,
  now: () => number,
): Promise<DatabasePage> {
  const limit = Math.min(PAGE.max, Math.max(1, Math.trunc(options.limit ?? PAGE.max)));
  const { marker, after } = readToken(options.pageToken);
  const command = new DescribeDBInstancesCommand({
    MaxRecords: Math.max(PAGE.min, limit),
    ...(marker === undefined ? {} : { Marker: marker }),
  });
  const { DBInstances, Marker } = await clients.rds(call, (client, send) => client.send(command, send));
  if (DBInstances === undefined) throw new AnswerError("the answer has no list of instances");
  if (Marker && Marker === marker) throw new AnswerError("the next page is the same page again");
  let rest = DBInstances;
  if (after !== undefined) {
    const at = rest.findIndex((instance) => instance.DBInstanceIdentifier === after);
    if (at < 0) throw changed();
    rest = rest.slice(at + 1);
  }
  const wanted = Object.entries(options.tags);
  const items: Database[] = [];
  const unreadable: UnreadableDatabase[] = [];
  for (const [index, instance] of rest.entries()) {
    const read = readItem(instance, wanted, now());
    if (read === undefined) continue;
    if ("message" in read) unreadable.push(read);
    else items.push(read);
    const last = index === rest.length - 1;
    if (items.length + unreadable.length === limit && !last) {
      const next = writeToken({ marker, after: instance.DBInstanceIdentifier });
      return { items, ...told(unreadable), nextPageToken: next };
    }
  }
  return { items, ...told(unreadable), ...(Marker ? { nextPageToken: writeToken({ marker: Marker }) } : {}) };
}

function told(unreadable: readonly UnreadableDatabase[]): Pick<DatabasePage, "unreadable"> {
  return unreadable.length === 0 ? {} : { unreadable };
}

/** A database with all the tags, or why it cannot be read; nothing for a stranger's. */
function readItem(
  instance: DBInstance,
  wanted: readonly (readonly [string, string])[],
  now: number,
): Database | UnreadableDatabase | undefined {
  try {
    const tags = tagsOf(instance);
    if (!wanted.every(([key, value]) => tags[key] === value)) return undefined;
    return databaseOf(instance, now);
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    const { DBInstanceIdentifier: identifier = "", DbiResourceId: id } = instance;
    const message = `what it says of the instance "${
      printable(identifier, 63)
    }" is not valid (${error.message})`;
    return id === undefined ? { message } : { id, message };
  }
}

function changed(): ProviderError {
  return new ProviderError("retryable", "Listing databases: the instances changed while they were read", {
    code: "InvalidPageToken",
  });
}

function writeToken(place: Place): string {
  return JSON.stringify([place.marker ?? null, place.after ?? null]);
}

function readToken(token: string | undefined): Place {
  if (token === undefined) return {};
  try {
    const [marker, after] = JSON.parse(token) as [string | null, string | null];
    return { marker: marker ?? undefined, after: after ?? undefined };
  } catch {
    throw changed();
  }
}
