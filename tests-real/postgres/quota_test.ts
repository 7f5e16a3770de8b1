import { assert, assertEquals } from "@std/assert";
import { CALL, leftovers, listAll, OPERATOR, providerOn, requestFor, serverOf, sql } from "./support.ts";

for (const major of [14, 18] as const) {
  Deno.test(`PostgreSQL ${major}: what a database holds is measured for the operator's role, by reads and lists, as it grows and shrinks`, async () => {
    const server = await serverOf(major);
    const provider = providerOn(server.urlOf(OPERATOR));
    const password = "tenant-0123456789abcdef";
    const request = requestFor(server, { sizeGb: 1, password });
    try {
      const { id, access, ...made } = await provider.create(request, CALL);
      assertEquals([made.sizeGb, made.usedGb], [1, 1]);
      const tenant = { user: access!.username, database: access!.database, password };
      const used = async () => {
        const { items: [listed] } = await listAll(provider, request.tags);
        const read = await provider.get(id, CALL);
        assertEquals(listed, read);
        assertEquals(read.state, "Available");
        return read.usedGb;
      };
      // A file without content where its tables are: the server counts lengths, and the disk is spared 1.2 GB.
      const [place] = await sql<{ path: string }>(
        server,
        `SELECT current_setting('data_directory') || '/base/' || oid || '/999999' AS path FROM pg_database
         WHERE datname = '${access!.database}'`,
      );
      await Deno.writeFile(place!.path, new Uint8Array());
      await Deno.truncate(place!.path, 1.2 * 2 ** 30);
      assertEquals(await used(), 2, "above the quota");
      await sql(server, "CREATE TABLE t AS SELECT 1 AS x", tenant); // and the tenant may still write
      await Deno.remove(place!.path);
      assertEquals(await used(), 1);
      await provider.delete(id, CALL);
      assertEquals(await leftovers(server), []);
    } finally {
      await provider.close();
    }
  });
}

Deno.test("S6: sizes that take too long hide no database: they are left out, and not asked for again for a while", async () => {
  const server = await serverOf(16);
  await sql(server, "CREATE DATABASE slow_sizes");
  const slow = { ...OPERATOR, database: "slow_sizes" };
  const provider = providerOn(server.urlOf(slow), { timeoutMs: 60_000 });
  const hasty = providerOn(server.urlOf(slow), { timeoutMs: 8_000 });
  const request = requestFor(server);
  try {
    const { id, usedGb } = await provider.create(request, CALL);
    assertEquals(usedGb, 1);
    // As on a server where a tenant has made millions of files.
    await sql(
      server,
      `SET allow_system_table_mods = on;
       ALTER FUNCTION pg_catalog.pg_database_size(oid) RENAME TO quick_size;
       CREATE FUNCTION pg_catalog.pg_database_size(oid) RETURNS bigint LANGUAGE plpgsql STRICT
         AS 'BEGIN PERFORM pg_sleep(60); RETURN 1; END'`,
      { database: "slow_sizes" },
    );
    const { items, unreadable } = await listAll(hasty, request.tags);
    assertEquals([items.map((item) => [item.id, item.state, item.usedGb]), unreadable], [
      [[id, "Available", undefined]],
      [],
    ]);
    const started = performance.now();
    assertEquals((await hasty.get(id, CALL)).usedGb, undefined);
    assert(performance.now() - started < 4_000, "it is not tried again each time");
    await hasty.delete(id, CALL);
  } finally {
    await provider.close();
    await hasty.close();
    await sql(server, "DROP DATABASE slow_sizes WITH (FORCE)");
  }
  assertEquals(await leftovers(server), []);
});
