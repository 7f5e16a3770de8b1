/**
 * What is done on a server of ours as its superuser. Every step may be done again.
 *
 * @module
 */
// @ts-types="@types/pg"
import type { Client } from "pg";
import { identifier, literal, setPassword } from "../postgres/statements.ts";

/** Longest wait for a connection and for an answer, in milliseconds. */
const CONNECT_MS = 10_000;
const QUERY_MS = 60_000;

/** A server, as its superuser reaches it. */
export interface Superuser {
  readonly port: number;
  readonly password: string;
}

/** Name of the superuser. */
export const SUPERUSER = "postgres";

async function connected(superuser: Superuser, work: (client: Client) => Promise<void>): Promise<void> {
  // @ts-types="@types/pg"
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    ...superuser,
    host: "127.0.0.1",
    user: SUPERUSER,
    database: "postgres",
    ssl: false,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    application_name: "externaldatabase-operator",
  });
  client.on("error", () => {}); // a server that ends meanwhile fails the statement; unheard it would end this process
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Makes the owner and its database, or what of them is missing. */
export async function setUp(
  superuser: Superuser,
  { database, username, verifier }: {
    readonly database: string;
    readonly username: string;
    readonly verifier?: string | undefined;
  },
): Promise<void> {
  await connected(superuser, async (client) => {
    const has = async (query: string, name: string) => (await client.query(query, [name])).rows.length > 0;
    if (!await has("SELECT 1 FROM pg_roles WHERE rolname = $1", username)) {
      const login = verifier === undefined ? "LOGIN" : `LOGIN PASSWORD ${literal(verifier)}`;
      await client.query(`CREATE ROLE ${identifier(username)} ${login}`);
    }
    if (!await has("SELECT 1 FROM pg_database WHERE datname = $1", database)) {
      await client.query(
        `CREATE DATABASE ${identifier(database)} OWNER ${identifier(username)} TEMPLATE template0`,
      );
    }
    for (const name of [database, "postgres", "template1"]) {
      await client.query(`REVOKE ALL ON DATABASE ${identifier(name)} FROM PUBLIC`);
    }
  });
}

/** Gives the owner another password; its open sessions go on. */
export async function changePassword(
  superuser: Superuser,
  username: string,
  verifier: string,
): Promise<void> {
  await connected(superuser, async (client) => {
    await client.query(setPassword(username, verifier));
  });
}
