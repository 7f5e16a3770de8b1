/**
 * The provider for databases on PostgreSQL servers that are there already (14 and later).
 *
 * A database is an owner role and a database of one name. What the provider promises, and why:
 *
 * - `clientTokens`: the role's name is derived from the token, names of roles are unique on a server, and the server is
 *   chosen by the token: a repeated create meets the first. A token whose database was deleted is forgotten with it;
 *   nothing sends it again, for each new database has an incarnation of its own (rule 7).
 * - `readLagSeconds` 0: the catalogues of a primary show what was committed; a standby is refused.
 * - `effectBoundSeconds`: a statement leaves in the first half of the call's time, and the server ends it after as long as
 *   the second half. A process that was frozen with a statement in hand may send it later, but not later than the server's
 *   limit on silent sessions: that is added.
 *
 * Not seen by it: another operator on the same servers that connects to another maintenance database (advisory locks
 * are a database's own).
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { withDeadline } from "../../core/wait.ts";
import { ACTIONS, type CallVerb, printable } from "../classify.ts";
import type { CallOptions, Database, DatabasePage, DatabaseProvider, ListOptions } from "../port.ts";
import { ProviderError } from "../port.ts";
import { Call } from "./call.ts";
import { create, finish } from "./create.ts";
import { absent, asProviderError } from "./errors.ts";
import { modify } from "./modify.ts";
import { type DatabaseId, formatId, parseId } from "./names.ts";
import { tagFragment } from "./record.ts";
import { remove } from "./remove.ts";
import { type CatalogRow, CREATE_INTERRUPTED, toFound } from "./rows.ts";
import { type Server, ServerSet } from "./servers.ts";
import { IDLE_SECONDS, statementMs } from "./session.ts";

/** Databases that one query shows, where nobody asks for fewer; their sizes are to be measured within its time too. */
const PAGE = 250;

/** What {@linkcode createPostgresProvider} takes. */
export interface PostgresProviderOptions {
  readonly clock: Clock;
  /** Path of a file with one connection URL a line; read again every minute and when credentials are refused. */
  readonly urlFile: string;
  /** Longest time of a call, and twice that of one statement on the server, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** @default Deno.readTextFile */
  readonly readFile?: ((path: string) => Promise<string>) | undefined;
  /** How long the file's content is used before it is read again, in milliseconds. @default 60_000 */
  readonly freshMs?: number | undefined;
  /** Told of each statement in the tick that hands it to the driver. */
  readonly onStatement?: ((text: string) => void) | undefined;
}

/** The provider, which holds connections until it is closed. */
export interface PostgresProvider extends DatabaseProvider {
  /** Closes all connections; a later call opens new ones. */
  close(): Promise<void>;
}

/** Makes the provider. Nothing is read or connected before the first call. */
export function createPostgresProvider(options: PostgresProviderOptions): PostgresProvider {
  const { clock, timeoutMs = 30_000 } = options;
  const servers = new ServerSet({ ...options, timeoutMs });

  /** Runs one call under its deadline; every error comes out in a class. */
  async function perform<T>(
    verb: CallVerb,
    { signal, beforeSend }: CallOptions,
    work: (call: Call) => Promise<T>,
  ): Promise<T> {
    const latest = clock.monotonic() + timeoutMs - statementMs(timeoutMs);
    const isLate = () => clock.monotonic() > latest;
    let call = new Call(verb, signal, beforeSend, isLate);
    try {
      return await withDeadline({ clock, ms: timeoutMs, action: ACTIONS[verb], signal }, (inner) => {
        call = new Call(verb, inner, beforeSend, isLate);
        return work(call);
      });
    } catch (cause) {
      const error = asProviderError(call, cause);
      if (error instanceof ProviderError && error.errorClass === "unauthorised") servers.refused();
      throw error;
    }
  }

  async function serverOf(call: Call, id: DatabaseId): Promise<Server> {
    return await servers.byIdentity(call, id.server);
  }

  return {
    name: "postgres",
    async info(options) {
      return await perform("info", options, async (call) => {
        // The first line stands for the account: lines added below it leave it as it is (A2).
        const [first] = await servers.current(call);
        const { identity } = await first!.probe(call);
        return {
          account: `postgres/${identity}`,
          clientTokens: true,
          readLagSeconds: 0,
          effectBoundSeconds: Math.ceil(timeoutMs / 1_000) + IDLE_SECONDS,
          passwords: "always",
        };
      });
    },
    async get(id, options) {
      const parsed = idOf("get", id);
      return await perform("get", options, async (call): Promise<Database> => {
        const server = await serverOf(call, parsed);
        return await server.run(call, async (session) => {
          const found = await server.read(call, session, parsed.name, parsed.server);
          if (found === undefined) throw absent(parsed, ACTIONS.get);
          const { database } = found;
          if (database.providerState !== CREATE_INTERRUPTED) return database;
          return await finish(server, found, call, session);
        });
      });
    },
    async list(options) {
      return await perform("list", options, async (call) => {
        return await listPage(await servers.current(call), options, call);
      });
    },
    async create(request, options) {
      return await perform("create", options, (call) => create(servers, request, call));
    },
    async modify(id, request, options) {
      const parsed = idOf("modify", id);
      return await perform("modify", options, async (call) => {
        return await modify(await serverOf(call, parsed), parsed, request, call);
      });
    },
    async delete(id, options) {
      if (options.finalSnapshot !== undefined) {
        throw new ProviderError(
          "rejected",
          `${ACTIONS.delete}: PostgreSQL servers take no snapshot of one database; use pg_dump and another deletionPolicy`,
          { code: "SnapshotUnsupported" },
        );
      }
      const parsed = idOf("delete", id);
      await perform("delete", options, async (call) => {
        await remove(await serverOf(call, parsed), parsed, call);
      });
    },
    async close() {
      await servers.close();
    },
  };
}

/** The parts of an id; what is not spelled as ours cannot be here. */
function idOf(verb: CallVerb, id: string): DatabaseId {
  const parsed = parseId(id);
  if (parsed !== undefined) return parsed;
  throw new ProviderError(
    "absent",
    `${ACTIONS[verb]}: "${printable(id, 253)}" is not the id of a database on a server (server/database)`,
    { code: "NotFound" },
  );
}

/**
 * One page: of one server, in the order of the file. A server that does not answer hides none of the others; of its own
 * databases nothing is known, and none may be taken as absent (S6).
 */
async function listPage(
  servers: readonly Server[],
  options: ListOptions,
  call: Call,
): Promise<DatabasePage> {
  const limit = options.limit === undefined ? PAGE : Math.min(100, Math.max(1, Math.trunc(options.limit)));
  const wanted = Object.entries(options.tags);
  const at = readToken(options.pageToken, servers);
  const server = servers[at.index]!;
  const next = (index: number, after: string) =>
    index < servers.length ? { nextPageToken: writeToken({ index, after }, servers) } : {};
  let page: { readonly rows: readonly CatalogRow[]; readonly identity: string };
  try {
    page = await server.page(call, at.after, limit, wanted.map(([key, value]) => tagFragment(key, value)));
  } catch (cause) {
    if (servers.length === 1 || call.signal.aborted) throw cause;
    const error = asProviderError(call, cause);
    const why = error instanceof Error ? error.message : "it does not answer";
    const message = `the server ${server.label} cannot be read: ${why}`;
    return { items: [], unreadable: [{ message }], ...next(at.index + 1, "") };
  }
  const items: Database[] = [];
  const unreadable: { id: string; message: string }[] = [];
  for (const row of page.rows) {
    try {
      const database = toFound(row, { ...server.address, identity: page.identity })?.database;
      if (database === undefined) continue;
      if (wanted.every(([key, value]) => database.tags[key] === value)) items.push(database);
    } catch (error) {
      const id = formatId({ server: page.identity, name: row.name ?? "" });
      const why = error instanceof Error ? error.message : "it cannot be read";
      unreadable.push({ id, message: `what is recorded of "${id}" is not valid (${printable(why)})` });
    }
  }
  const last = page.rows.length === limit ? page.rows.at(-1)?.name : undefined;
  return {
    items,
    ...(unreadable.length === 0 ? {} : { unreadable }),
    ...(last === undefined || last === null ? next(at.index + 1, "") : next(at.index, last)),
  };
}

interface PagePlace {
  readonly index: number;
  /** The last name of the page before. */
  readonly after: string;
}

function generation(servers: readonly Server[]): string {
  return createHash("sha256").update(servers.map(({ label }) => label).join("\n")).digest("hex").slice(0, 8);
}

function writeToken({ index, after }: PagePlace, servers: readonly Server[]): string {
  return `${generation(servers)}.${index}.${encodeURIComponent(after)}`;
}

/** Where a page begins. Class `retryable` when the servers are others than when the list began: it would have holes. */
function readToken(token: string | undefined, servers: readonly Server[]): PagePlace {
  if (token === undefined) return { index: 0, after: "" };
  const match = /^([0-9a-f]{8})\.(\d{1,4})\.(.*)$/.exec(token);
  if (match?.[1] === generation(servers) && servers[Number(match[2])] !== undefined) {
    return { index: Number(match[2]), after: decodeURIComponent(match[3]!) };
  }
  throw new ProviderError("retryable", `${ACTIONS.list}: the servers changed while it was read`, {
    code: "InvalidPageToken",
  });
}
