import { assertEquals } from "@std/assert";
import { processesOf } from "../../src/providers/local/processes.ts";
import type { LocalProvider } from "../../src/providers/local/provider.ts";
import type { Database, DatabaseProvider } from "../../src/providers/port.ts";
import { newFolder, providerIn, serversUnder } from "../local/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { logsInBy } from "./logins.ts";
import { behaviours } from "./suite.ts";

/** The provider that works with a folder now; `whileClosed` puts another in its place. */
class Reopened implements Omit<DatabaseProvider, "name"> {
  readonly name = "local";

  private constructor(readonly folder: string, private at: LocalProvider) {}

  static async open(folder: string): Promise<Reopened> {
    return new Reopened(folder, await providerIn(folder));
  }

  info: DatabaseProvider["info"] = (call) => this.at.info(call);
  get: DatabaseProvider["get"] = (id, call) => this.at.get(id, call);
  list: DatabaseProvider["list"] = (call) => this.at.list(call);
  create: DatabaseProvider["create"] = (request, call) => this.at.create(request, call);
  modify: DatabaseProvider["modify"] = (id, request, call) => this.at.modify(id, request, call);
  delete: DatabaseProvider["delete"] = (id, call) => this.at.delete(id, call);

  async whileClosed(work: () => Promise<void>): Promise<void> {
    await this.at.close();
    await work();
    this.at = await providerIn(this.folder);
  }

  close(): Promise<void> {
    return this.at.close();
  }
}

behaviours("local", async () => {
  const [folder, another] = [await newFolder(), await newFolder()];
  const provider = await Reopened.open(folder);
  const other = await providerIn(another, { keep: false });
  const taken: Deno.Listener[] = [];
  /** Ends a server as a crash does, and does something before it is started again. */
  const crash = async ({ id }: Database, work: () => Promise<void>) => {
    const data = `${folder}/servers/${id}/data`;
    for (const pid of await processesOf(data)) Deno.kill(pid, "SIGKILL");
    // What the process had is free a moment later.
    await eventually("what comes after a crash", () => work().then(() => true, () => false));
  };
  return {
    provider,
    other,
    version: "16",
    snapshots: false,
    logsIn: logsInBy,
    drop: (database) =>
      crash(database, () => Deno.remove(`${folder}/servers/${database.id}`, { recursive: true })),
    /** Somebody else has its port when it comes back. */
    move: (database) =>
      crash(database, async () => {
        await Promise.resolve(
          taken.push(Deno.listen({ hostname: "127.0.0.1", port: Number(database.endpoint!.split(":")[1]) })),
        );
      }),
    backUp: () => Promise.resolve(), // it is empty: no records
    async restore() {
      await provider.whileClosed(async () => {
        await Deno.rename(`${folder}/records`, `${another}.records`);
      });
      return () =>
        provider.whileClosed(async () => {
          await Deno.remove(`${folder}/records`); // it must be empty
          await Deno.rename(`${another}.records`, `${folder}/records`);
        });
    },
    async close() {
      for (const listener of taken) listener.close();
      await provider.close();
      await other.close();
      await (await providerIn(folder, { keep: false })).close();
      assertEquals([await serversUnder(folder), await serversUnder(another)], [0, 0]);
    },
  };
}, { upgrades: false });
