/**
 * What is told of the size of a database while sizes cannot be measured: a server that a test plays, row by row.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { Call } from "../../src/providers/postgres/call.ts";
import { formatRecord } from "../../src/providers/postgres/record.ts";
import { toFound } from "../../src/providers/postgres/rows.ts";
import { Server } from "../../src/providers/postgres/servers.ts";
import { ManualClock } from "../support/manual_clock.ts";

const MINUTE = 60_000;
const CANCELED = { severity: "ERROR", code: "57014" };

/** A server with some databases, of which sizes may take long. */
class Played {
  readonly clock = new ManualClock();
  sizes: Record<string, number> = { db_a: 3, db_b: 5 };
  /** How long a query with sizes takes, in milliseconds; and from which name on it is too late for them. */
  slow: { ms: number; from: string } | undefined;
  canceled = false;
  recorded = true;
  asked = 0;

  readonly server = new Server(
    { host: "pg", port: 5432, user: "operator", database: "postgres", line: 1, tls: false } as never,
    {
      run: (call, work) => work(new Proxy({}, { get: () => this.#query }) as never).finally(() => void call),
      close: () => Promise.resolve(),
    },
    this.clock,
  );

  readonly #query = async (text: string, [name]: readonly unknown[] = []) => {
    const measured = text.includes("pg_database_size(");
    if (measured) {
      this.asked++;
      if (this.canceled) throw Object.assign(new Error("canceling statement"), CANCELED);
      await this.clock.advance(this.slow?.ms ?? 0);
    }
    const names = text.includes("LIMIT $2") ? Object.keys(this.sizes) : [String(name)];
    return names.map((name) => ({
      identity: "42",
      version: 160_004,
      standby: false,
      now: new Date(0),
      name,
      role: false,
      database: true,
      template: false,
      connectable: true,
      limit: -1,
      role_comment: null,
      database_comment: this.recorded ? RECORD : null,
      locked: false,
      size: !measured || (this.slow !== undefined && name >= this.slow.from) ? null : this.sizes[name],
    }));
  };

  async listed(): Promise<(number | undefined)[]> {
    const { rows, identity } = await this.server.page(call(), "", 100, []);
    return rows.map((row) => toFound(row, { identity, host: "pg", port: 5432 })?.database.usedGb);
  }

  async read(name: string) {
    const found = await this.server.run(call(), (session) => this.server.read(call(), session, name, "42"));
    return found?.database;
  }
}

const call = () => new Call("get", new AbortController().signal);
const RECORD = formatRecord({
  name: "orders",
  sizeGb: 20,
  tags: {},
  createdAt: "2025-01-01T00:00:00.000Z",
  ready: true,
} as never);

Deno.test("S5: a size that is not measured this time, for want of time, is told as it was last: nothing comes and goes", async () => {
  const played = new Played();
  assertEquals(await played.listed(), [3, 5]);
  played.sizes = { db_a: 4, db_b: 9 };
  played.slow = { ms: 2_500, from: "db_b" };
  assertEquals(await played.listed(), [4, 5], "too late for the second");
  played.canceled = true;
  assertEquals(await played.listed(), [4, 5]);
  assertEquals((await played.read("db_b"))?.usedGb, 5);
  await played.clock.advance(11 * MINUTE);
  played.canceled = false;
  played.slow = undefined;
  assertEquals(await played.listed(), [4, 9]);
  played.slow = { ms: 10, from: "db_b" };
  assertEquals(await played.listed(), [4, undefined], "one that may not be measured any more is not told of");
});

Deno.test("S6: a database without a record is never of no size because those of others take too long", async () => {
  const played = new Played();
  played.recorded = false;
  played.canceled = true;
  await played.listed();
  await assertRejects(() => played.read("db_a"), Error, "canceling statement");
  played.canceled = false;
  const asked = played.asked;
  assertEquals((await played.read("db_a"))?.sizeGb, 3);
  assertEquals(played.asked, asked + 1);
});
