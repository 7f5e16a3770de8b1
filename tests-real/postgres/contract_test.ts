import { assertEquals } from "@std/assert";
import { type ContractStage, providerContract } from "../../tests/contract/provider/suite.ts";
import type { PostgresMajor } from "../support/postgres.ts";
import { serveProxy } from "./proxy.ts";
import { CALL, leftovers, listAll, OPERATOR, providerOn, serverOf, sql } from "./support.ts";

const MUTATES = /^(CREATE|COMMENT|ALTER|REVOKE|DROP)/;
const LOCKS = /^SELECT pg_(try_)?advisory/;

const isTurn = (text: string) => LOCKS.test(text) || MUTATES.test(text);

async function stage(major: PostgresMajor): Promise<ContractStage> {
  const server = await serverOf(major);
  const proxy = serveProxy(server.port);
  let tell = () => {};
  let first = true;
  const provider = providerOn(server.urlOf({ ...OPERATOR, port: proxy.port }), {
    onStatement: (text) => {
      if (LOCKS.test(text)) first = true;
      // Only the first of a verb's statements is fenced: the others follow on its session.
      if (MUTATES.test(text) && first) {
        first = false;
        tell();
      }
    },
  });
  return {
    provider,
    instant: true,
    versions: { first: server.version },
    logsIn: ({ access }, password) => {
      const { username: user, database } = access!;
      return sql(server, "CREATE TABLE IF NOT EXISTS proof (n int)", { user, password, database })
        .then(() => true, (error: { code?: string }) => {
          if (error.code === "28P01") return false;
          throw error;
        });
    },
    mutations: () => proxy.statements.filter((text) => MUTATES.test(text)).length,
    slow: (ms) => {
      proxy.delayMs = ms;
      // What a mutating verb reads first stays quick, or it would be given up before anything was sent.
      proxy.delays = (text, before) =>
        !LOCKS.test(text) && (MUTATES.test(text) || !/^SELECT pg_try/.test(before.findLast(isTurn) ?? ""));
    },
    onSend: (fn) => {
      tell = fn;
    },
    async close() {
      proxy.delayMs = 0;
      await provider.close();
      await proxy.close();
      const cleaner = providerOn(server.urlOf(OPERATOR));
      for (const { id } of (await listAll(cleaner)).items) await cleaner.delete(id, CALL);
      await cleaner.close();
      assertEquals(await leftovers(server), []);
    },
  };
}

for (const major of [14, 16, 18] as const) {
  providerContract(`postgres ${major}`, () => stage(major));
}
