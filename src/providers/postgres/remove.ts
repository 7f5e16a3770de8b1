/**
 * Deleting: refuse sessions, drop the database, drop its owner. Each step may be the last of a process; the next delete
 * goes on from there.
 *
 * @module
 */
import { ACTIONS } from "../classify.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import { absent, sqlState } from "./errors.ts";
import type { DatabaseId } from "./names.ts";
import type { Server } from "./servers.ts";
import type { Session } from "./session.ts";
import {
  closeDatabase,
  commentOnDatabase,
  commentOnRole,
  dropDatabase,
  dropRole,
  dropUnusedDatabase,
  endSessions,
} from "./statements.ts";

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
    if (row.database === true) await drop(session, name);
    if (owned) await session.mutate(dropRole(name));
  });
}

/** SQLSTATE of a refusal for want of a privilege. */
const FORBIDDEN = "42501";
/** SQLSTATE of a refusal because sessions are in the database. */
const IN_USE = "55006";

/**
 * Drops a database that takes no new sessions. FORCE ends all sessions or none: it is refused as a whole where one is not
 * ours to end, and that may be a vacuum of the server's own, which a plain DROP sends away.
 */
async function drop(session: Session, name: string): Promise<void> {
  try {
    await session.mutate(dropDatabase(name));
  } catch (refusal) {
    if (sqlState(refusal) !== FORBIDDEN) throw refusal;
    await session.mutate(endSessions(name));
    await session.mutate(dropUnusedDatabase(name)).catch((error: unknown) => {
      throw sqlState(error) === IN_USE ? refusal : error; // somebody's, who must end it: that says what helps
    });
  }
}
