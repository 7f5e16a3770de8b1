/**
 * Deleting: refuse sessions, drop the database, drop its owner. Each step may be the last of a process; the next delete
 * goes on from there.
 *
 * @module
 */
import { ACTIONS } from "../classify.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import { absent } from "./errors.ts";
import type { DatabaseId } from "./names.ts";
import type { Server } from "./servers.ts";
import { closeDatabase, commentOnDatabase, commentOnRole, dropDatabase, dropRole } from "./statements.ts";

const ACTION = ACTIONS.delete;

/** Deletes a database that carries a record of ours; the owner role only where we made it. */
export async function remove(server: Server, id: DatabaseId, call: Call): Promise<void> {
  await server.run(call, async (session) => {
    const read = async () => {
      const found = await server.read(call, session, id.name, id.server);
      if (found === undefined) throw absent(id, ACTION);
      return found;
    };
    if (!await session.lock(id.name)) {
      if ((await read()).database.state === "Deleting") return; // accepted before
      throw new ProviderError("busy", `${ACTION}: another session works on it`, { code: "InvalidState" });
    }
    const { name, row, record } = await read();
    if (record === undefined) {
      throw new ProviderError("rejected", `${ACTION}: it carries no tags of this operator`, {
        code: "NotManaged",
      });
    }
    const owned = row.role === true;
    if (record.deleting !== true) {
      const comment = (owned ? commentOnRole : commentOnDatabase)(name, { ...record, deleting: true });
      // An interrupted DROP DATABASE left what takes no ALTER.
      const close = row.database === true && row.limit !== -2;
      await session.mutate(close ? `${comment}; ${closeDatabase(name)}` : comment);
    }
    if (row.database === true) await session.mutate(dropDatabase(name));
    if (owned) await session.mutate(dropRole(name));
  });
}
