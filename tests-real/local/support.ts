/**
 * What the tests of the local provider share: a folder each, and logins that do not go through the provider.
 *
 * @module
 */
// @ts-types="@types/pg"
import pg from "pg";
import { assert } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import {
  type LocalProvider,
  type LocalProviderOptions,
  openLocalProvider,
} from "../../src/providers/local/provider.ts";
import type { CreateRequest, Database, DatabaseProvider } from "../../src/providers/port.ts";

/** Calls without an end of their own. */
export const CALL = { signal: new AbortController().signal };

const PATIENCE_MS = 60_000;

/** A folder that the servers' user can reach. */
export async function newFolder(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "local-" });
  await Deno.chmod(folder, 0o711);
  return folder;
}

/** A provider on a folder. */
export async function providerIn(
  folder: string,
  options: Partial<LocalProviderOptions> = {},
): Promise<LocalProvider> {
  return await openLocalProvider({ clock: systemClock, random: systemRandom, folder, ...options });
}

let count = 0;

/** A create request with tags and a token of its own. */
export function requestFor(change: Partial<CreateRequest> = {}): CreateRequest {
  const uid = `uid-${++count}`;
  return {
    name: "orders",
    engine: "postgres",
    version: "16",
    sizeGb: 20,
    tags: { "db.my.domain/uid": uid },
    clientToken: `${uid}-1`,
    password: "Secret-0123456789abcdef",
    ...change,
  };
}

/** Awaits until `look` gives something. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`Waiting for ${what}: not within ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The database once it is in a state, by the provider's word for it. */
export function inState(provider: DatabaseProvider, id: string, word: string): Promise<Database> {
  return eventually(`${id} to be ${word}`, async () => {
    const database = await provider.get(id, CALL);
    return database.providerState === word ? database : undefined;
  });
}

/** Runs one statement as the database's own user; resolves with its rows. */
export async function sql<Row extends object = Record<string, unknown>>(
  { endpoint, access }: Database,
  password: string,
  text: string,
): Promise<Row[]> {
  assert(endpoint !== undefined && access !== undefined);
  const [host, port] = endpoint.split(":");
  const { username: user, database } = access;
  const client = new pg.Client({
    host: host!,
    port: Number(port),
    user,
    password,
    database,
    connectionTimeoutMillis: 10_000,
  });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows ?? [];
  } finally {
    await client.end();
  }
}

/** Whether the database's user gets in with a password. */
export async function logsIn(database: Database, password: string): Promise<boolean> {
  try {
    await sql(database, password, "CREATE TABLE IF NOT EXISTS proof (n int)");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "28P01") return false;
    throw error;
  }
}

/** How many servers run whose data are under a path; by the command line of every process, not by the provider. */
export async function serversUnder(path: string): Promise<number> {
  const script = Deno.build.os === "linux"
    ? 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " 2> /dev/null < "$f"; echo; done 2> /dev/null'
    : "ps -ww -axo args=";
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script], stderr: "null" }).output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  return lines.filter((line) => /^\S+\/bin\/postgres -D /.test(line) && line.includes(` -D ${path}/`)).length;
}
