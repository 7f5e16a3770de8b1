import { assert, assertEquals } from "@std/assert";
// @ts-types="@types/pg"
import pg from "pg";
import { ProviderError } from "../../src/providers/port.ts";
import type { PostgresMajor } from "../support/postgres.ts";
import { eventually } from "../../tests/support/eventually.ts";
import {
  CALL,
  leftovers,
  listAll,
  newServer,
  OPERATOR,
  providerOn,
  requestFor,
  serverOf,
  sql,
} from "./support.ts";

async function failure(promise: Promise<unknown>): Promise<ProviderError> {
  const error = await promise.then(() => undefined, (error: unknown) => error);
  assert(error instanceof ProviderError, `not a ProviderError: ${error}`);
  assert(!error.message.includes(OPERATOR.password) && !String(error.cause).includes(OPERATOR.password));
  return error;
}

/** A session that stays open until the server ends it. */
async function openSession(url: string): Promise<{ ended: Promise<void>; close: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  const ended = new Promise<void>((resolve) => client.on("error", () => resolve()));
  await client.connect();
  return { ended, close: () => client.end().catch(() => {}) };
}

for (const major of [14, 15, 16, 17, 18] as const satisfies readonly PostgresMajor[]) {
  Deno.test(`PostgreSQL ${major}: CREATEDB and CREATEROLE suffice for a life; tenants are kept apart, and their sessions ended at delete`, async () => {
    const server = await serverOf(major);
    const provider = providerOn(server.urlOf(OPERATOR));
    try {
      const made = await provider.create(requestFor(server), CALL);
      const other = await provider.create(requestFor(server), CALL);
      assertEquals(made.version, server.version);
      const name = made.id.split("/")[1]!;
      const neighbour = other.id.split("/")[1]!;
      // Whoever hands out the password does what the Secret will do.
      await sql(server, `ALTER ROLE "${name}" PASSWORD 'tenant'`, OPERATOR);
      const tenant = { user: name, password: "tenant", database: name };
      await sql(server, "CREATE TABLE t AS SELECT 1 AS x", tenant);
      assertEquals(await sql(server, "SELECT x FROM t", tenant), [{ x: 1 }]);
      const barred = await sql(server, "SELECT 1", { ...tenant, database: neighbour }).catch((e) => e.code);
      assertEquals(barred, "42501");
      // A tenant cannot write the record of its database, nor of its neighbour's.
      for (const role of [name, neighbour]) {
        assertEquals(
          await sql(server, `COMMENT ON ROLE "${role}" IS ''`, tenant).catch((e) => e.code),
          "42501",
        );
      }
      await sql(server, `COMMENT ON DATABASE "${name}" IS 'externaldatabase/1 {"tags":{}}'`, tenant);
      assertEquals((await provider.get(made.id, CALL)).tags, made.tags);

      const session = await openSession(server.urlOf(tenant));
      await provider.modify(made.id, { sizeGb: 30, tags: { a: "1" } }, CALL);
      await provider.delete(made.id, CALL);
      await session.ended;
      await session.close();
      await provider.delete(other.id, CALL);
      assertEquals(await leftovers(server), []);
    } finally {
      await provider.close();
    }
  });
}

for (const major of [14, 18] as const) {
  Deno.test(`PostgreSQL ${major}: a vacuum of the server's own in a database does not keep it from being deleted`, async () => {
    const server = await newServer(major);
    const provider = providerOn(server.urlOf(OPERATOR));
    try {
      const { id } = await provider.create(requestFor(server, { password: "tenant-password" }), CALL);
      const name = id.split("/")[1]!;
      const tenant = { user: name, password: "tenant-password", database: name };
      // As slow as it gets, and begun at once.
      for (const setting of ["naptime = '1s'", "vacuum_cost_delay = 100", "vacuum_cost_limit = 1"]) {
        await sql(server, `ALTER SYSTEM SET autovacuum_${setting}`);
      }
      await sql(server, "SELECT pg_reload_conf()");
      await sql(
        server,
        "CREATE TABLE t AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 20000)",
        tenant,
      );
      await sql(server, "DELETE FROM t", tenant);
      const session = await openSession(server.urlOf(tenant));
      await eventually("the vacuum", async () =>
        (await sql(
          server,
          `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND backend_type = 'autovacuum worker'`,
        )).length > 0, 60_000);
      await provider.delete(id, CALL);
      await session.ended;
      await session.close();
      assertEquals(await leftovers(server), []);
    } finally {
      await provider.close();
      await server.stop();
    }
  });
}

Deno.test("C8: without a privilege a create is rejected with the server's words, and nothing is left of it", async () => {
  const server = await serverOf(16);
  const role = { user: "poor", password: "poor" };
  for (const privilege of ["CREATEROLE", "CREATEDB"]) {
    await sql(server, `CREATE ROLE poor LOGIN ${privilege} PASSWORD 'poor'`);
    const provider = providerOn(server.urlOf(role));
    const error = await failure(provider.create(requestFor(server), CALL));
    assertEquals([error.errorClass, error.code], ["rejected", "42501"], error.message);
    assert(/permission denied/.test(error.message) && /grants/.test(error.message), error.message);
    await provider.close();
    await sql(server, "DROP ROLE poor");
    assertEquals(await leftovers(server), []);
  }
});

Deno.test("Credentials that are refused: unauthorised, the file read again at once, no password in the message", async () => {
  const server = await serverOf(16);
  const { createPostgresProvider } = await import("../../src/providers/postgres/provider.ts");
  const { systemClock } = await import("../../src/core/clock.ts");
  let password = "hunter2-old";
  const provider = createPostgresProvider({
    clock: systemClock,
    urlFile: "servers",
    readFile: () => Promise.resolve(`# rotated\n\n${server.urlOf({ ...OPERATOR, password })}\n`),
  });
  const error = await failure(provider.info(CALL));
  assertEquals([error.errorClass, error.code], ["unauthorised", "28P01"]);
  assert(!error.message.includes("hunter2"), error.message);
  password = OPERATOR.password;
  assert((await provider.info(CALL)).account?.startsWith("postgres/"));
  await provider.close();
});

Deno.test("D9: databases and roles that somebody dropped: Failed with the way out while the role is there, absent after", async () => {
  const server = await serverOf(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  try {
    const { id, endpoint } = await provider.create(requestFor(server), CALL);
    const name = id.split("/")[1]!;
    await sql(server, `ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`);
    const closed = await provider.get(id, CALL);
    assertEquals([closed.state, closed.providerState, closed.endpoint], [
      "Failed",
      "ConnectionsRefused",
      endpoint,
    ]);
    await sql(server, `DROP DATABASE "${name}"`);
    const dropped = await provider.get(id, CALL);
    // The endpoint stays: what may have held data must not look as if it had never been finished.
    assertEquals([dropped.state, dropped.providerState, dropped.endpoint], [
      "Failed",
      "DatabaseDropped",
      endpoint,
    ]);
    assertEquals((await listAll(provider)).items, [dropped]);
    await sql(server, `DROP ROLE "${name}"`);
    assertEquals((await failure(provider.get(id, CALL))).errorClass, "absent");

    const second = await provider.create(requestFor(server), CALL);
    await sql(server, `DROP DATABASE "${second.id.split("/")[1]}"`);
    await provider.delete(second.id, CALL);
    assertEquals(await leftovers(server), []);
  } finally {
    await provider.close();
  }
});

Deno.test("A role that owns what is elsewhere, and a session that may not be ended, keep a delete waiting and say why", async () => {
  const server = await serverOf(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  try {
    const { id } = await provider.create(requestFor(server), CALL);
    const name = id.split("/")[1]!;
    const session = await openSession(server.urlOf({ database: name })); // the superuser's
    const kept = await failure(provider.delete(id, CALL));
    assertEquals([kept.errorClass, kept.code], ["rejected", "42501"], kept.message);
    assertEquals((await provider.get(id, CALL)).state, "Failed");
    await session.close();
    await sql(server, `CREATE DATABASE elsewhere OWNER "${name}"`);
    const owned = await failure(provider.delete(id, CALL));
    assertEquals([owned.errorClass, owned.code], ["rejected", "2BP01"], owned.message);
    await sql(server, "DROP DATABASE elsewhere");
    await provider.delete(id, CALL);
    assertEquals(await leftovers(server), []);
  } finally {
    await provider.close();
  }
});

Deno.test("A1: a database that is there is adopted by its first tags, where its owner lets us; its delete leaves the owner", async () => {
  for (const major of [14, 16] as const) {
    const server = await serverOf(major);
    const provider = providerOn(server.urlOf(OPERATOR));
    const name = `Old "orders"; DROP DATABASE x -- é'\\`;
    const quoted = `"${name.replaceAll('"', '""')}"`;
    try {
      await sql(server, "CREATE ROLE legacy");
      await sql(server, `CREATE DATABASE ${quoted} OWNER legacy`);
      await sql(server, `COMMENT ON DATABASE ${quoted} IS 'since 1999'`);
      const { account } = await provider.info(CALL);
      const id = `${account!.split("/")[1]}/${encodeURIComponent(name)}`;
      const before = await provider.get(id, CALL);
      assertEquals([before.id, before.state, before.tags, before.sizeGb], [id, "Available", {}, 1]);
      assertEquals((await listAll(provider)).items, []);
      assertEquals((await failure(provider.delete(id, CALL))).errorClass, "rejected");
      const refused = await failure(provider.modify(id, { tags: { a: "1" } }, CALL));
      assertEquals([refused.errorClass, refused.code], ["rejected", "42501"], refused.message);

      await sql(server, `GRANT legacy TO "${OPERATOR.user}"`);
      const adopted = await provider.modify(id, { tags: { a: "1" } }, CALL);
      assertEquals([adopted.id, adopted.tags, adopted.sizeGb], [id, { a: "1" }, 1]);
      assertEquals((await listAll(provider, { a: "1" })).items, [adopted]);
      await provider.delete(id, CALL);
      assertEquals(await leftovers(server), ["role legacy"]);

      for (const own of ["postgres", "template1", "template0"]) {
        const { errorClass } = await failure(
          provider.modify(`${account!.split("/")[1]}/${own}`, { tags: { a: "1" } }, CALL),
        );
        assertEquals(errorClass, own === "postgres" ? "rejected" : "absent");
      }
    } finally {
      await provider.close();
      await sql(server, "DROP ROLE legacy");
    }
  }
});

Deno.test("A create that was interrupted and that the server then refuses is Failed, and can be deleted", async () => {
  const server = await serverOf(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  try {
    const { id } = await provider.create(requestFor(server), CALL);
    const name = id.split("/")[1]!;
    // As a process leaves it that dies after its first step; then the privilege goes.
    const [row] = await sql<{ comment: string }>(
      server,
      `SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = '${name}'`,
    );
    await sql(server, `DROP DATABASE "${name}"`);
    await sql(
      server,
      `COMMENT ON ROLE "${name}" IS '${row!.comment.replace('"ready":true', '"ready":false')}'`,
    );
    await sql(server, `ALTER ROLE "${OPERATOR.user}" NOCREATEDB`);
    const refused = await provider.get(id, CALL);
    assertEquals([refused.state, refused.providerState, refused.endpoint], [
      "Failed",
      "CreateRefused",
      undefined,
    ]);
    await sql(server, `ALTER ROLE "${OPERATOR.user}" CREATEDB`);
    const finished = await provider.get(id, CALL);
    assertEquals([finished.state, finished.id], ["Available", id]);
    await provider.delete(id, CALL);
    assertEquals(await leftovers(server), []);
  } finally {
    await provider.close();
  }
});
