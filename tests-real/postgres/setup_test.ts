/** The SQL of docs/providers.md, run as it is written there. @module */
import { assert, assertEquals } from "@std/assert";
import { startPostgres } from "../support/postgres.ts";
import { CALL, leftovers, listAll, providerOn, requestFor, sql } from "./support.ts";

const PASSWORD = "operator-0123456789";

/** The blocks of SQL in the chapter on postgres. */
async function documented(): Promise<string[]> {
  const text = await Deno.readTextFile(new URL("../../docs/providers.md", import.meta.url));
  const chapter = text.slice(text.indexOf("\n## postgres\n"), text.indexOf("\n## aws-rds\n"));
  return [...chapter.matchAll(/^ *```sql\n(.*?)^ *```$/gms)].map(([, block]) => block!);
}

for (const major of [14, 16, 18] as const) {
  Deno.test(`PostgreSQL ${major}: what docs/providers.md has an administrator run suffices for a life, and keeps tenants out of postgres`, async () => {
    const blocks = await documented();
    assert(blocks.length >= 3, `${blocks.length} blocks`);
    const server = await startPostgres(major);
    const operator = { user: "edb_operator", password: PASSWORD };
    const provider = providerOn(server.urlOf(operator));
    try {
      await sql(server, "CREATE ROLE legacy_owner");
      for (const block of blocks) await sql(server, block.replaceAll("'…'", `'${PASSWORD}'`));
      const made = await provider.create(requestFor(server, { password: "tenant-0123456789" }), CALL);
      const tenant = { user: made.access!.username, password: "tenant-0123456789" };
      const within = { ...tenant, database: made.access!.database };
      await sql(server, "CREATE TABLE t AS SELECT 1 AS x", within);
      assertEquals(await sql(server, "SELECT x FROM t", within), [{ x: 1 }]);
      assertEquals(await sql(server, "SELECT 1", tenant).catch((error) => error.code), "42501");
      assertEquals((await listAll(provider)).items, [made]);
      await provider.delete(made.id, CALL);
      await sql(server, "DROP ROLE legacy_owner");
      assertEquals(await leftovers(server), ["role edb_operator"]);
    } finally {
      await provider.close();
      await server.stop();
    }
  });
}
