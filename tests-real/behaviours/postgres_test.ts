import { assertEquals } from "@std/assert";
import { leftovers, OPERATOR, providerOn, serverOf, sql } from "../postgres/support.ts";
import { behaviours } from "./suite.ts";

behaviours("postgres", async () => {
  const [server, another] = [await serverOf(16), await serverOf(18)];
  const options = { timeoutMs: 8_000 };
  const provider = providerOn(server.urlOf(OPERATOR), options);
  const other = providerOn(another.urlOf(OPERATOR), options);
  return {
    provider,
    other,
    version: server.version,
    async logsIn({ username, password, database }) {
      const login = { user: username!, password: password!, database: database! };
      return await sql(server, "SELECT 1", login).then(() => true, () => false);
    },
    async close() {
      await provider.close();
      await other.close();
      assertEquals([await leftovers(server), await leftovers(another)], [[], []]);
    },
  };
});
