/**
 * The servers of one account: read from their file, each with a pool, known by their system identifiers.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/text.ts";
import { withDeadline } from "../../core/wait.ts";
import { ACTIONS, printable } from "../classify.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import { sqlState } from "./errors.ts";
import { type CatalogRow, FACTS_SQL, type FactsRow, type Found, oneSql, pageSql, toFound } from "./rows.ts";
import { parseServers, type ServerAddress } from "./servers_file.ts";
import { ServerPool, type Session } from "./session.ts";
import { Sizes } from "./sizes.ts";
import { formatVersion, satisfies, type ServerVersion, versionOf } from "./versions.ts";

/** How long the file's content is used before it is read again, in milliseconds. */
const FRESH_MS = 60_000;
/** Longest wait for the file, in milliseconds: it may be on a network drive. */
const FILE_MS = 5_000;

/** What is known of a server once it has answered. */
export interface ServerFacts {
  /** What stands in ids. */
  readonly identity: string;
  readonly version: ServerVersion;
}

/** One server. */
export class Server {
  readonly #sizes: Sizes;
  #facts: ServerFacts | undefined;

  constructor(
    readonly address: ServerAddress,
    readonly pool: Pick<ServerPool, "run" | "close">,
    clock: Pick<Clock, "monotonic">,
  ) {
    this.#sizes = new Sizes(clock);
  }

  /** As of its last answer; `undefined` before the first. */
  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  /** `host:port`, for messages. */
  get label(): string {
    return `${this.address.host}:${this.address.port}`;
  }

  /** Runs `work` with a session on it. */
  run<T>(call: Call, work: (session: Session) => Promise<T>): Promise<T> {
    return this.pool.run(call, work);
  }

  /** What the server is, asked now. */
  async probe(call: Call): Promise<ServerFacts> {
    return await this.run(call, async (session) => {
      const [row] = await session.query<FactsRow>(FACTS_SQL);
      return this.#note(call, row);
    });
  }

  /** The database or owner role of one name. `identity` must be the server's, else something else answers there now. */
  async read(call: Call, session: Session, name: string, identity: string): Promise<Found | undefined> {
    const ask = (sizes: boolean) => session.query<CatalogRow>(oneSql(sizes), [name]);
    const [row] = await this.#sizes.rows(ask);
    const facts = this.#note(call, row);
    if (facts.identity !== identity) {
      throw new ProviderError(
        "retryable",
        `${ACTIONS[call.verb]}: ${this.label} is another server now, "${facts.identity}"`,
        { code: "ServerChanged" },
      );
    }
    const found = this.#found(call, row, identity);
    const unsized = found !== undefined && found.record === undefined && found.row.size === null;
    if (!unsized || !this.#sizes.paused) return found;
    // Without a record the size on disk is its size: an unknown one must fail rather than be 0.
    return this.#found(call, (await ask(true))[0], identity);
  }

  #found(call: Call, row: CatalogRow | undefined, identity: string): Found | undefined {
    try {
      return toFound(row!, { ...this.address, identity });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : "it cannot be read";
      const name = printable(row?.name ?? "");
      throw new ProviderError("retryable", `${ACTIONS[call.verb]}: ${name}: ${printable(why)}`, {
        code: "InvalidAnswer",
        cause,
      });
    }
  }

  /** Rows of one page, with the identity that stands in their ids. */
  async page(
    call: Call,
    after: string,
    limit: number,
    fragments: readonly string[],
  ): Promise<{ readonly rows: readonly CatalogRow[]; readonly identity: string }> {
    return await this.run(call, async (session) => {
      const rows = await this.#sizes.rows((sizes) =>
        session.query<CatalogRow>(pageSql(sizes), [after, limit, fragments])
      );
      const { identity } = this.#note(call, rows[0]);
      return { rows: rows.filter((row) => row.name !== null), identity };
    });
  }

  #note(call: Call, row: FactsRow | undefined): ServerFacts {
    if (row === undefined) throw new Error("the server answered without a row");
    if (row.standby) {
      // What a standby shows is old: absence there says nothing (S6).
      throw new ProviderError("retryable", `${ACTIONS[call.verb]}: ${this.label} is a standby`, {
        code: "Standby",
      });
    }
    this.#facts = {
      identity: this.address.identity ?? row.identity,
      version: versionOf(row.version),
    };
    return this.#facts;
  }
}

/** What {@linkcode ServerSet} takes. */
export interface ServerSetOptions {
  readonly clock: Clock;
  /** Path of the servers' file. */
  readonly urlFile: string;
  readonly timeoutMs: number;
  /** @default Deno.readTextFile */
  readonly readFile?: ((path: string) => Promise<string>) | undefined;
  readonly onStatement?: ((text: string) => void) | undefined;
  /** How long the file's content is used before it is read again, in milliseconds. @default 60_000 */
  readonly freshMs?: number | undefined;
}

/** The servers of the file as it is now. */
export class ServerSet {
  #servers: readonly Server[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<readonly Server[]> | undefined;
  #closing: Promise<unknown>[] = [];

  constructor(private readonly options: ServerSetOptions) {}

  /** In the order of the file. Class `unauthorised` when the file cannot be used. */
  async current(call: Call): Promise<readonly Server[]> {
    const { clock, freshMs = FRESH_MS } = this.options;
    if (clock.monotonic() - this.#readAt < freshMs) return this.#servers;
    // One reader for all who wait: each would make pools of its own. The callers' own deadlines hold all the same.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    try {
      return await this.#reading;
    } catch (cause) {
      const why = printable(messageOf(cause), 400);
      throw new ProviderError("unauthorised", `${ACTIONS[call.verb]}: no server to ask. ${why}`, { cause });
    }
  }

  async #read(): Promise<readonly Server[]> {
    const { clock, timeoutMs, onStatement } = this.options;
    const at = clock.monotonic();
    const addresses = await readServersFile(this.options);
    const before = new Map(this.#servers.map((server) => [JSON.stringify(server.address), server]));
    this.#servers = addresses.map((address) => {
      const key = JSON.stringify(address);
      const known = before.get(key);
      before.delete(key);
      return known ?? new Server(address, new ServerPool({ address, timeoutMs, onStatement }), clock);
    });
    this.#readAt = at;
    for (const gone of before.values()) this.#closing.push(gone.pool.close().catch(() => {}));
    return this.#servers;
  }

  /** Credentials were refused: the next call reads the file again. */
  refused(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * The server that an id names. One that is not in the file is not absence (S6): class `retryable`; so is a server
   * that has not answered yet, for it may be the one.
   */
  async byIdentity(call: Call, identity: string): Promise<Server> {
    const servers = await this.current(call);
    const known = () => servers.find((server) => server.facts?.identity === identity);
    const found = known();
    if (found !== undefined) return found;
    const failure = await probeAll(call, servers);
    const now = known();
    if (now !== undefined) return now;
    if (failure !== undefined) throw failure.error;
    throw new ProviderError(
      "retryable",
      `${ACTIONS[call.verb]}: the server "${printable(identity)}" is not in the servers' file; ` +
        "add its line, or after pg_upgrade its former identity",
      { code: "UnknownServer" },
    );
  }

  /**
   * The server for a new database: by a hash of the token among those of the version, so that a repeated create comes
   * to the same one. While a server has not answered yet nobody knows whether it is the one: its error is thrown.
   */
  async choose(call: Call, version: string, token: string): Promise<Server> {
    const servers = await this.current(call);
    const failure = await probeAll(call, servers.filter((server) => server.facts === undefined));
    if (failure !== undefined) throw failure.error;
    const rank = ({ facts }: Server) =>
      createHash("sha256").update(`${facts?.identity}\n${token}`).digest("hex");
    const fit = servers.filter(({ facts }) => facts !== undefined && satisfies(facts.version, version));
    const [first] = fit.toSorted((a, b) => rank(a) < rank(b) ? -1 : 1);
    if (first !== undefined) return first;
    const have = [
      ...new Set(servers.flatMap(({ facts }) => facts === undefined ? [] : [formatVersion(facts.version)])),
    ];
    throw new ProviderError(
      "rejected",
      `${ACTIONS[call.verb]}: no server has version "${printable(version, 63)}"; there are ${
        have.toSorted().join(", ")
      }`,
      { code: "InvalidParameter" },
    );
  }

  /** Closes all pools. */
  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    this.#readAt = Number.NEGATIVE_INFINITY;
    await Promise.all([...this.#closing.splice(0), ...servers.map((server) => server.pool.close())]);
  }
}

async function probeAll(
  call: Call,
  servers: readonly Server[],
): Promise<{ readonly error: unknown } | undefined> {
  const results = await Promise.allSettled(servers.map((server) => server.probe(call)));
  const failures = results.filter((result) => result.status === "rejected");
  const first = failures.find(({ reason }) => /^28/.test(sqlState(reason) ?? "")) ?? failures[0];
  return first === undefined ? undefined : { error: first.reason };
}

/**
 * The servers in the file. Rejects, with an Error that names the file and quotes nothing of it, when it cannot be read in
 * time or a line is wrong.
 */
export async function readServersFile(
  { clock, urlFile, readFile = Deno.readTextFile }: Pick<ServerSetOptions, "clock" | "urlFile" | "readFile">,
): Promise<readonly ServerAddress[]> {
  const action = `Reading the servers' file "${urlFile}"`;
  try {
    return parseServers(await withDeadline({ clock, ms: FILE_MS, action }, () => readFile(urlFile)));
  } catch (cause) {
    // Deno's own words end in the path once more.
    const why = cause instanceof Error ? cause.message.replace(/: readfile '.*'$/s, "") : String(cause);
    throw new Error(why.startsWith(action) ? why : `${action}: ${why}`, { cause });
  }
}
