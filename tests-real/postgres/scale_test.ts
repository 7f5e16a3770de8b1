import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ACTIONS } from "../../src/providers/classify.ts";
import { MAX_CONNECTIONS } from "../../src/providers/postgres/session.ts";
import { seed } from "../../tests/fuzz/settings.ts";
import { CALL, leftovers, listAll, OPERATOR, providerOn, requestFor, serverOf, sql } from "./support.ts";

const COUNT = 200;

Deno.test("200 databases on one server: made, seen by one query, deleted; connections bounded", async () => {
  const server = await serverOf(16);
  let statements = 0;
  const provider = providerOn(server.urlOf(OPERATOR), {
    onStatement: () => statements++,
    timeoutMs: 120_000,
  });
  const cluster = { "db.my.domain/cluster": "scale" };
  const used = () =>
    sql<{ count: number }>(
      server,
      "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'externaldatabase-operator'",
    ).then(([row]) => row!.count);
  /** Runs `work` for each item, a few at a time, as the operator's scheduler does. */
  const forEach = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>) => {
    const rest = items.values();
    await Promise.all(Array.from({ length: 16 }, async () => {
      for (const item of rest) {
        await work(item);
        assert(await used() <= MAX_CONNECTIONS);
      }
    }));
  };
  try {
    // The first calls come all at once, before the servers' file was read: still one pool.
    await Promise.all(Array.from({ length: 50 }, () => provider.info(CALL)));
    assert(await used() <= MAX_CONNECTIONS);
    const requests = Array.from({ length: COUNT }, () => {
      const request = requestFor(server);
      return { ...request, tags: { ...request.tags, ...cluster } };
    });
    statements = 0;
    const ids = new Set<string>();
    await forEach(requests, async (request) => ids.add((await provider.create(request, CALL)).id));
    assertEquals(ids.size, COUNT);
    const create = statements / COUNT;

    statements = 0;
    const { items } = await listAll(provider, cluster);
    assertEquals(new Set(items.map(({ id }) => id)), ids);
    assert(items.every(({ state }) => state === "Available"));
    assertEquals(statements, 1); // as the operator's observer asks, once a period

    statements = 0;
    assertEquals((await listAll(provider, cluster, 99)).items, items);
    assertEquals(statements, 3);

    statements = 0;
    const [wanted] = requests;
    const tags: Record<string, string> = wanted!.tags;
    const uid = { "db.my.domain/uid": tags["db.my.domain/uid"]! };
    assertEquals((await listAll(provider, uid)).items.map(({ tags }) => tags), [wanted!.tags]);
    assertEquals(statements, 1); // a look-up reads one row, not all

    statements = 0;
    await forEach([...ids], (id) => provider.delete(id, CALL));
    const remove = statements / COUNT;
    assertEquals([create, remove], [8, 6]); // documented in docs/providers.md
    assertEquals(await leftovers(server), []);
  } finally {
    await provider.close();
  }
});

Deno.test("Names, tags and tokens of any characters neither inject nor collide, on a server", async () => {
  const server = await serverOf(16);
  const provider = providerOn(server.urlOf(OPERATOR));
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 80 }),
    fc.constantFrom(
      `'; DROP ROLE "${OPERATOR.user}"; --`,
      `"; DROP DATABASE postgres; --`,
      "\\'; SELECT 1; --",
      "$$; DROP ROLE x; $$",
      "a\0b",
      "\ud800",
      "x".repeat(253),
      "pg_monitor",
      "ÄÖÜ-データベース-🦀",
      "%s %I %L",
      "/* */ -- \n",
    ),
  ).filter((value) => value !== "__proto__"); // Deno lets nobody assign such a member
  const entry = fc.record({
    namespace: text,
    name: text.filter((name) => name !== ""),
    tags: fc.dictionary(text, text),
  });
  const seen = new Set<string>();
  let count = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 2, maxLength: 3 }), async (entries) => {
        const made = [];
        for (const { namespace, name, tags } of entries) {
          const all = { ...tags, "db.my.domain/namespace": namespace };
          const request = requestFor(server, { name, tags: all, clientToken: `${name}-${++count}` });
          const database = await provider.create(request, CALL);
          made.push(database);
          // The server gives back what it was given: nothing was cut, changed or run.
          assertEquals([database.name, database.tags], [name, all]);
          assert(!seen.has(database.id), database.id);
          seen.add(database.id);
          for (const [key, value] of Object.entries(all)) {
            const found = (await listAll(provider, { [key]: value })).items.map(({ id }) => id);
            assert(found.includes(database.id), `${ACTIONS.list}: ${JSON.stringify([key, value])}`);
          }
          const [key = "k", value = "v"] = Object.entries(tags)[0] ?? [];
          await provider.modify(database.id, { tags: { [value]: key, [key]: null } }, CALL);
        }
        assertEquals((await leftovers(server)).length, 2 * made.length);
        for (const { id } of made) await provider.delete(id, CALL);
        assertEquals(await leftovers(server), []);
      }),
      // What is left after a failure would fail every smaller one: the first is told as it is.
      { numRuns: 12, seed: seed(), endOnFailure: true },
    );
  } finally {
    await provider.close();
  }
});
