import { assertEquals } from "@std/assert";
import { serveProxy } from "../rds/proxy.ts";
import { emptyRds, providerAt } from "../rds/support.ts";
import { behaviours } from "./suite.ts";

const NOTHING = "<DescribeDBInstancesResult><DBInstances></DBInstances></DescribeDBInstancesResult>";

behaviours("aws-rds", async () => {
  const server = await emptyRds();
  const proxy = serveProxy(server.url);
  const quick = { effectBoundSeconds: 3, readLagSeconds: 0 };
  const identifierOf = async (id: string) =>
    (await server.instances()).find(({ resourceId }) => resourceId === id)!.identifier;
  return {
    provider: providerAt(proxy.url, { extra: quick }),
    other: providerAt(server.url, { extra: { ...quick, region: "eu-central-1" } }),
    version: "16",
    snapshots: true,
    async logsIn({ password }, { id }) { // no database runs behind it: what it was told is what lets in
      return (await server.instances()).find(({ resourceId }) => resourceId === id)?.password === password;
    },
    drop: async ({ id }) => await server.vanish(await identifierOf(id)),
    move: async ({ id }) => await server.set(await identifierOf(id), { address: "elsewhere.example" }),
    backUp: () => Promise.resolve(), // it is empty
    restore() { // no test can restore a region: its API says what it would then
      proxy.instead = ({ action }) =>
        action === "DescribeDBInstances"
          ? new Response(`<DescribeDBInstancesResponse>${NOTHING}</DescribeDBInstancesResponse>`)
          : undefined;
      return Promise.resolve(() => {
        proxy.instead = () => undefined;
        return Promise.resolve();
      });
    },
    upgrade: async ({ id }) => await server.set(await identifierOf(id), { engine_version: "16.9" }),
    async close() {
      await proxy.close();
      assertEquals(await server.instances(), []);
    },
  };
}, { upgrades: true });
