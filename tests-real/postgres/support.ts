/**
 * What the tests of the postgres provider share: one server a major for the whole run, an operator's role with no more
 * than the documented grants, and looks at the catalogues that do not go through the provider.
 *
 * @module
 */
// @ts-types="@types/pg"
import pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import type { CreateRequest, DatabaseProvider } from "../../src/providers/port.ts";
import type { Build } from "../../src/providers/local/binaries.ts";
import { createPostgresProvider, type PostgresProvider } from "../../src/providers/postgres/provider.ts";
import { type PostgresMajor, type PostgresServer, startPostgres } from "../support/postgres.ts";

/** Calls without an end of their own. */
export const CALL = { signal: new AbortController().signal };

/** The operator's role on every server; its password needs escaping in a URL. */
export const OPERATOR = { user: "edb operator", password: "s3cret/?#@%" };

const servers = new Map<PostgresMajor, Promise<PostgresServer>>();

/** The server of a major, started when it is first asked for; ended with the test process by its guard. */
export function serverOf(major: PostgresMajor): Promise<PostgresServer> {
  let server = servers.get(major);
  if (server === undefined) servers.set(major, server = newServer(major));
  return server;
}

/** A server of its own, with the operator's role; by another build of that major than the newest, if there is one given. */
export async function newServer(major: PostgresMajor, build?: Build): Promise<PostgresServer> {
  const server = await startPostgres(major, build);
  await sql(
    server,
    `CREATE ROLE "${OPERATOR.user}" LOGIN CREATEDB CREATEROLE PASSWORD '${OPERATOR.password}'`,
  );
  return server;
}

/** Runs one statement as the superuser; resolves with its rows. */
export async function sql<Row extends object = Record<string, unknown>>(
  server: PostgresServer,
  text: string,
  part: Parameters<PostgresServer["urlOf"]>[0] = {},
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.urlOf(part), connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const result = await client.query<Row>(text);
    return result.rows ?? [];
  } finally {
    await client.end();
  }
}

/** Roles and databases that are neither PostgreSQL's nor the test's own. */
export async function leftovers(server: PostgresServer): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    server,
    `SELECT 'role ' || rolname AS name FROM pg_roles WHERE rolname NOT LIKE 'pg\\_%'
       AND rolname NOT IN ('admin', '${OPERATOR.user}')
     UNION ALL SELECT 'database ' || datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1')
     ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** A provider as the operator's role on these URLs, or on one server. */
export function providerOn(
  urls: string | readonly string[],
  options: { timeoutMs?: number; onStatement?: (text: string) => void } = {},
): PostgresProvider {
  const text = typeof urls === "string" ? urls : urls.join("\n");
  return createPostgresProvider({
    clock: systemClock,
    urlFile: "servers",
    readFile: () => Promise.resolve(text),
    ...options,
  });
}

let count = 0;

/** A create request with tags and a token of its own. */
export function requestFor(server: PostgresServer, change: Partial<CreateRequest> = {}): CreateRequest {
  const uid = `uid-${++count}`;
  return {
    name: "orders",
    engine: "postgres",
    version: String(server.major),
    sizeGb: 20,
    tags: { "db.my.domain/uid": uid, "db.my.domain/namespace": "shop" },
    clientToken: `${uid}-1`,
    ...change,
  };
}

/** All that a provider lists, page by page. */
export async function listAll(provider: DatabaseProvider, tags: Record<string, string> = {}, limit?: number) {
  const items = [];
  const unreadable = [];
  let pageToken: string | undefined;
  do {
    const page = await provider.list({ ...CALL, tags, pageToken, ...(limit === undefined ? {} : { limit }) });
    items.push(...page.items);
    unreadable.push(...page.unreadable ?? []);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return { items, unreadable };
}
