/**
 * An example of a provider in under 200 lines: a "cloud" that is a folder, with one file for each database.
 *
 * It keeps to the contract (`tests/contract/provider/suite.ts`), so that the operator may be killed over it at any moment.
 * docs/providers.md walks through it.
 *
 * - `clientTokens`: the id is made of the token, and a file is made by a hard link, which fails where there is one: of two
 *   creates of a token one makes it and the other meets it. What is deleted leaves its file, so that a token is used once.
 * - `readLagSeconds` 0: a folder shows what was written.
 * - `effectBoundSeconds`: what changes something is one system call, handed over within the call's deadline.
 *
 * Not seen by it: two operators that change one file at once; give each a folder of its own.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Clock } from "../src/core/clock.ts";
import { withDeadline } from "../src/core/wait.ts";
import { ACTIONS, type CallVerb, lostClass, printable } from "../src/providers/classify.ts";
import type {
  CallOptions,
  CreateRequest,
  Database,
  DatabaseProvider,
  UnreadableDatabase,
} from "../src/providers/port.ts";
import { ProviderError, type ProviderErrorClass } from "../src/providers/port.ts";

/** What {@linkcode createFileProvider} takes. */
export interface FileProviderOptions {
  readonly clock: Clock;
  /** The folder; made where there is none. */
  readonly folder: string;
  /** Longest time of a call, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** Told of each change in the tick that hands it over; for tests. */
  readonly onSend?: (() => void) | undefined;
  /** Awaited before each answer; for tests. */
  readonly beforeAnswer?: (() => Promise<void>) | undefined;
}

interface Stored {
  /** Absent once it was deleted: the file stays, so that nobody makes it again. */
  readonly database?: Database;
  /** Digest of the create's parameters: what a repeated create must have in common with the first. */
  readonly request: string;
}

/** Hands a change over: asks the fence, and calls `change` in the same tick (rule 21). */
type Hand = <T>(change: () => Promise<T>) => Promise<T>;

function fail(verb: CallVerb, errorClass: ProviderErrorClass, why: string, code: string): never {
  throw new ProviderError(errorClass, `${ACTIONS[verb]}: ${why}`, { code });
}

/** Makes the provider. */
export function createFileProvider(options: FileProviderOptions): DatabaseProvider {
  const { clock, folder, timeoutMs = 30_000 } = options;
  const path = (id: string) => `${folder}/${id}.json`;

  /** Runs one call under its deadline; whatever goes wrong comes out in a class, what the fence threw unchanged. */
  async function perform<T>(
    verb: CallVerb,
    { signal, beforeSend }: CallOptions,
    job: (hand: Hand) => Promise<T>,
  ): Promise<T> {
    let sent = false;
    let fence: { readonly error: unknown } | undefined;
    const work = async (inner: AbortSignal) => {
      const result = await job((change) => {
        inner.throwIfAborted(); // a call that was given up changes nothing any more
        try {
          beforeSend?.();
        } catch (error) {
          fence = { error };
          throw error;
        }
        sent = true;
        options.onSend?.();
        return change();
      });
      await options.beforeAnswer?.();
      return result;
    };
    try {
      return await withDeadline({ clock, ms: timeoutMs, action: ACTIONS[verb], signal }, work);
    } catch (cause) {
      if (cause instanceof ProviderError || (fence !== undefined && fence.error === cause)) throw cause;
      // Before anything was handed over nothing has happened; after that nobody knows.
      const errorClass = sent ? lostClass(verb) : "retryable";
      const why = signal.aborted ? "given up" : printable(`${cause}`);
      throw new ProviderError(errorClass, `${ACTIONS[verb]}: ${why}`, { cause });
    }
  }

  /** A database's file. Absent is what the disk says is not there, and nothing else (S6). */
  async function read(verb: CallVerb, id: string): Promise<Required<Stored>> {
    // Nothing that is spelled otherwise is ours; nor does an id lead out of the folder.
    const text = /^file-[0-9a-f]{32}$/.test(id)
      ? await Deno.readTextFile(path(id)).catch((error: unknown) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      })
      : undefined;
    const { database, request } = (text === undefined ? {} : JSON.parse(text)) as Partial<Stored>;
    if (database !== undefined && request !== undefined) return { database, request };
    const errorClass = verb === "create" ? "exists" : "absent"; // of a create that met it: its token is used up
    fail(verb, errorClass, `there is no database "${printable(id, 253)}"`, "NotFound");
  }

  /** Writes a file beside, which changes nothing; then `place` puts it in its place. */
  async function written(stored: Stored, place: (from: string) => Promise<void>): Promise<void> {
    await Deno.mkdir(folder, { recursive: true });
    const from = `${folder}/${crypto.randomUUID()}.new`;
    await Deno.writeTextFile(from, JSON.stringify(stored));
    await place(from).finally(() => Deno.remove(from).catch(() => {})); // a rename has taken it away
  }

  async function create(request: CreateRequest, hand: Hand): Promise<Database> {
    const { name, engine, version, sizeGb, tags, clientToken } = request;
    if (!Number.isInteger(sizeGb) || sizeGb < 1) {
      fail("create", "rejected", `sizeGb ${sizeGb} is not a whole number from 1`, "InvalidParameter");
    }
    const id = `file-${digest([clientToken])}`;
    const asked = digest([name, engine, version, sizeGb, Object.entries(tags).toSorted()]);
    const database: Database = {
      ...{ id, name, engine, version, sizeGb, tags },
      ...{ state: "Available", providerState: "Available", endpoint: "localhost:1" },
      createdAt: new Date(clock.now()).toISOString(),
    };
    try {
      await written({ database, request: asked }, (from) => hand(() => Deno.link(from, path(id))));
      return database;
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
    const first = await read("create", id);
    if (first.request === asked) return first.database;
    fail("create", "exists", `${id} was made with other parameters`, "IdempotencyMismatch");
  }

  return {
    name: "file",
    info: (call) =>
      perform("info", call, async () => {
        await Deno.mkdir(folder, { recursive: true });
        const effectBoundSeconds = Math.ceil(timeoutMs / 1_000);
        return { account: `file/${folder}`, clientTokens: true, readLagSeconds: 0, effectBoundSeconds };
      }),
    get: (id, call) => perform("get", call, async () => (await read("get", id)).database),
    list: (call) =>
      perform("list", call, async () => {
        const ids: string[] = [];
        await Deno.mkdir(folder, { recursive: true });
        for await (const { name } of Deno.readDir(folder)) {
          if (name.endsWith(".json")) ids.push(name.slice(0, -".json".length));
        }
        const items: Database[] = [];
        const unreadable: UnreadableDatabase[] = [];
        const { tags, limit = 100, pageToken = "" } = call;
        for (const id of ids.sort()) {
          if (id <= pageToken) continue;
          const found = await read("list", id).catch((error: unknown) => {
            if (error instanceof ProviderError) return undefined; // gone; what is damaged is not (S6)
            unreadable.push({ id, message: `its file cannot be read (${printable(String(error), 100)})` });
          });
          const matches = Object.entries(tags).every(([k, v]) => found?.database.tags[k] === v);
          if (found !== undefined && matches) items.push(found.database);
          if (items.length > limit) break;
        }
        const more = items.length > limit && items.pop() !== undefined;
        return { items, unreadable, ...(more ? { nextPageToken: items.at(-1)!.id } : {}) };
      }),
    create: (request, call) => perform("create", call, (hand) => create(request, hand)),
    modify: (id, { version, sizeGb, tags = {} }, call) =>
      perform("modify", call, async (hand) => {
        const { database: was, request } = await read("modify", id);
        if (sizeGb !== undefined && sizeGb < was.sizeGb) {
          fail("modify", "rejected", `sizeGb ${sizeGb} is less than ${was.sizeGb}`, "InvalidParameter");
        }
        const merged = Object.entries({ ...was.tags, ...tags }).filter(([, value]) => value !== null);
        const database: Database = {
          ...{ ...was, version: version ?? was.version, sizeGb: sizeGb ?? was.sizeGb },
          tags: Object.fromEntries(merged) as Record<string, string>,
        };
        await written({ database, request }, (from) => hand(() => Deno.rename(from, path(id))));
        return database;
      }),
    delete: (id, { finalSnapshot, ...call }) =>
      perform("delete", call, async (hand) => {
        if (finalSnapshot !== undefined) fail("delete", "rejected", "there are no snapshots", "Unsupported");
        const { request } = await read("delete", id);
        await written({ request }, (from) => hand(() => Deno.rename(from, path(id))));
      }),
  };
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
