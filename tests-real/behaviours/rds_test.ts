import { assertEquals } from "@std/assert";
import { emptyRds, providerAt } from "../rds/support.ts";
import { behaviours } from "./suite.ts";

behaviours("aws-rds", async () => {
  const server = await emptyRds();
  const quick = { effectBoundSeconds: 3, readLagSeconds: 0 };
  return {
    provider: providerAt(server.url, { extra: quick }),
    other: providerAt(server.url, { extra: { ...quick, region: "eu-central-1" } }),
    version: "16",
    async logsIn({ password }, { id }) { // no database runs behind it: what it was told is what lets in
      return (await server.instances()).find(({ resourceId }) => resourceId === id)?.password === password;
    },
    close: async () => assertEquals(await server.instances(), []),
  };
});
