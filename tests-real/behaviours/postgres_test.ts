import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { createPostgresProvider } from "../../src/providers/postgres/provider.ts";
import { serveProxy } from "../postgres/proxy.ts";
import { leftovers, newServer, OPERATOR, providerOn, serverOf, sql } from "../postgres/support.ts";
import { must } from "../support/process.ts";
import { olderBuild } from "../support/postgres.ts";
import { logsInBy } from "./logins.ts";
import { behaviours } from "./suite.ts";

behaviours("postgres", async () => {
  const [server, another] = [await newServer(16, olderBuild()), await serverOf(18)];
  const options = { timeoutMs: 8_000 };
  let proxy: ReturnType<typeof serveProxy> | undefined;
  const provider = createPostgresProvider({
    ...options,
    clock: systemClock,
    urlFile: "servers",
    readFile: () => Promise.resolve(server.urlOf({ ...OPERATOR, port: proxy?.port ?? server.port })),
    freshMs: 500,
  });
  const other = providerOn(another.urlOf(OPERATOR), options);
  const [{ data }] = await sql<{ data: string }>(
    server,
    "SELECT current_setting('data_directory') AS data",
  ) as [
    { data: string },
  ];
  /** Runs a script between an orderly end of the server and its next start. */
  const whileDown = async (script: string) => {
    await server.halt();
    await must("sh", ["-c", `set -e; ${script}`, data]);
    await server.start();
  };
  return {
    provider,
    other,
    version: server.version,
    snapshots: false,
    logsIn: logsInBy,
    async drop({ access }) {
      await sql(server, `DROP DATABASE "${access!.database}" WITH (FORCE)`);
      await sql(server, `DROP ROLE "${access!.username}"`);
    },
    /** The server is known by another address: the servers' file says so. */
    async move() {
      await Promise.resolve(proxy = serveProxy(server.port));
    },
    // As physical backups are made and restored: the system identifier, and with it the account, stays the same.
    backUp: () => whileDown('cp -a "$0" "$0.backup"'),
    async restore() {
      await whileDown('mv "$0" "$0.newer"; mv "$0.backup" "$0"');
      return () => whileDown('mv "$0" "$0.older"; mv "$0.newer" "$0"');
    },
    upgrade: () => server.upgrade(),
    async close() {
      await provider.close();
      await other.close();
      await proxy?.close();
      try {
        assertEquals([await leftovers(server), await leftovers(another)], [[], []]);
      } finally {
        await server.stop();
      }
    },
  };
}, { upgrades: true });
