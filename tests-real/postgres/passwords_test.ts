import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Database, ProviderError } from "../../src/providers/port.ts";
import { CALL, newServer, OPERATOR, providerOn, requestFor, sql } from "./support.ts";

const [FIRST, SECOND] = ["first-Password/0123456789", "second-Password/0123456789"];

async function login(server: Parameters<typeof sql>[0], role: string, password: string): Promise<boolean> {
  return await sql(server, "SELECT 1", { user: role, password, database: role }).then(
    () => true,
    () => false,
  );
}

for (const major of [14, 18] as const) {
  Deno.test(`K1: on PostgreSQL ${major} no password is in the server's log, whatever it logs, nor in its catalogues`, async () => {
    const server = await newServer(major);
    const provider = providerOn(server.urlOf(OPERATOR));
    try {
      await sql(server, "ALTER SYSTEM SET log_statement = 'all'");
      await sql(server, "ALTER SYSTEM SET log_min_error_statement = 'debug5'");
      await sql(server, "ALTER SYSTEM SET log_parameter_max_length_on_error = -1");
      await sql(server, "SELECT pg_reload_conf()");
      const { id, access } = await provider.create(requestFor(server, { password: FIRST }), CALL);
      const role = access!.username;
      assertEquals(access, { type: "postgresql", database: role, username: role });
      assertEquals([await login(server, role, FIRST), await login(server, role, SECOND)], [true, false]);
      await provider.modify(id, { password: SECOND }, CALL);
      assertEquals([await login(server, role, FIRST), await login(server, role, SECOND)], [false, true]);
      // A statement that fails is logged with all of it.
      await sql(server, `ALTER ROLE "${role}" SUPERUSER`);
      const refused = await assertRejects(
        () => provider.modify(id, { password: FIRST }, CALL),
        ProviderError,
      );
      assert(!refused.message.includes(FIRST), refused.message);
      await sql(server, `ALTER ROLE "${role}" NOSUPERUSER`);
      const [log] = await sql<{ text: string }>(server, "SELECT pg_read_file('postgres.log') AS text");
      assert(
        log!.text.includes(`ALTER ROLE "${role}" LOGIN PASSWORD 'SCRAM-SHA-256$4096:`),
        "the log has the statement",
      );
      for (const password of [FIRST, SECOND]) assert(!log!.text.includes(password));
      const [comment] = await sql<{ text: string }>(
        server,
        `SELECT shobj_description(oid, 'pg_authid') AS text FROM pg_roles WHERE rolname = '${role}'`,
      );
      assert(!/password|SCRAM/i.test(comment!.text), comment!.text);
    } finally {
      await provider.close();
      await server.stop();
    }
  });
}

Deno.test("an adopted database keeps its owner's password, and says so", async () => {
  const server = await newServer(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  try {
    await sql(server, `CREATE DATABASE legacy OWNER "${OPERATOR.user}"`);
    const [row] = await sql<{ id: string }>(
      server,
      "SELECT system_identifier::text AS id FROM pg_control_system()",
    );
    const id = `${row!.id}/legacy`;
    const adopted = await provider.modify(id, { tags: { a: "1" } }, CALL);
    assertEquals(adopted.access, undefined);
    const error = await assertRejects(() => provider.modify(id, { password: FIRST }, CALL), ProviderError);
    assertEquals([error.errorClass, error.code], ["rejected", "PasswordOfOwner"]);
  } finally {
    await provider.close();
    await server.stop();
  }
});

Deno.test("a create that was interrupted after its role ends with the password of the create that finishes it", async () => {
  const server = await newServer(16);
  let left = 1;
  const stop = new AbortController();
  const dying = providerOn(server.urlOf(OPERATOR), {
    onStatement: (text) => {
      if (/^CREATE DATABASE/.test(text) && left-- > 0) stop.abort();
    },
  });
  const provider = providerOn(server.urlOf(OPERATOR));
  try {
    const request = requestFor(server, { password: FIRST });
    await assertRejects(() => dying.create(request, { signal: stop.signal }), ProviderError);
    await dying.close();
    const role = (await provider.list({ ...CALL, tags: request.tags })).items[0]!.access!.username;
    let finished: Database | undefined;
    for (let tries = 0; finished === undefined && tries < 200; tries++) {
      finished = await provider.create({ ...request, password: SECOND }, CALL).catch(
        (error: ProviderError) => {
          assertEquals(error.errorClass, "busy"); // the server is still at the first one's statement
          return undefined;
        },
      );
    }
    assertEquals(finished?.state, "Available");
    assertEquals([await login(server, role, FIRST), await login(server, role, SECOND)], [false, true]);
  } finally {
    await provider.close();
    await server.stop();
  }
});
