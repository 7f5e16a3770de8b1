/**
 * Changing: tags and the soft quota in the record, the password of the owner role; a version never.
 *
 * @module
 */
import { ACTIONS, printable } from "../classify.ts";
import type { Database, ModifyRequest } from "../port.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import { absent } from "./errors.ts";
import type { DatabaseId } from "./names.ts";
import type { DatabaseRecord } from "./record.ts";
import type { Found } from "./rows.ts";
import { isUsablePassword, scramVerifier, UNUSABLE_PASSWORD } from "./scram.ts";
import type { Server } from "./servers.ts";
import { commentOnDatabase, commentOnRole, setPassword } from "./statements.ts";
import { satisfies, versionOf } from "./versions.ts";

const ACTION = ACTIONS.modify;

/** Applies a change; the first tags on a database that nobody manages adopt it. */
export async function modify(
  server: Server,
  id: DatabaseId,
  request: ModifyRequest,
  call: Call,
): Promise<Database> {
  const { password } = request;
  if (password !== undefined && !isUsablePassword(password)) {
    throw new ProviderError("rejected", `${ACTION}: ${UNUSABLE_PASSWORD}`, { code: "InvalidParameter" });
  }
  const verifier = password === undefined ? undefined : await scramVerifier(password);
  return await server.run(call, async (session) => {
    const read = async () => {
      const found = await server.read(call, session, id.name, id.server);
      if (found === undefined) throw absent(id, ACTION);
      return found;
    };
    if (!await session.lock(id.name)) {
      await read();
      throw new ProviderError("busy", `${ACTION}: another session works on it`, { code: "InvalidState" });
    }
    const found = await read();
    const record = changed(found, request, server.address.database);
    const owned = found.row.role === true;
    const statements: string[] = [];
    if (record !== undefined) {
      statements.push((owned ? commentOnRole : commentOnDatabase)(found.name, record));
    }
    if (verifier !== undefined) statements.push(setPassword(found.name, verifier));
    if (statements.length === 0) return found.database;
    await session.mutate(statements.join("; "));
    return (await read()).database;
  });
}

/** The record after the change; `undefined` when nothing of it changes. */
function changed(
  found: Found,
  request: ModifyRequest,
  maintenance: string,
): DatabaseRecord | undefined {
  const { database, row } = found;
  const { version, sizeGb, tags = {}, password } = request;
  const onlyTags = version === undefined && sizeGb === undefined && password === undefined;
  if (!onlyTags && database.state !== "Available") {
    throw new ProviderError("busy", `${ACTION}: it is ${database.providerState}`, { code: "InvalidState" });
  }
  if (password !== undefined && database.access === undefined) {
    throw new ProviderError(
      "rejected",
      `${ACTION}: it was adopted, and its owner is a role of somebody else, whose password stays as it is`,
      { code: "PasswordOfOwner" },
    );
  }
  if (version !== undefined && !satisfies(versionOf(row.version), version)) {
    throw new ProviderError(
      "rejected",
      `${ACTION}: its server has version ${database.version}, and a database does not move to "${
        printable(version, 63)
      }" by itself: ` +
        "upgrade the server (pg_upgrade), or create another resource with that version and move the data",
      { code: "VersionOfServer" },
    );
  }
  const record = found.record ?? unmanaged(found, maintenance);
  if (sizeGb !== undefined && (!Number.isInteger(sizeGb) || sizeGb < record.sizeGb)) {
    throw new ProviderError(
      "rejected",
      `${ACTION}: sizeGb ${sizeGb} is less than ${record.sizeGb}; a size never shrinks`,
      { code: "InvalidParameter" },
    );
  }
  const next = new Map(Object.entries(record.tags));
  for (const [key, value] of Object.entries(tags)) {
    if (value === null) next.delete(key);
    else next.set(key, value);
  }
  const after = { ...record, sizeGb: sizeGb ?? record.sizeGb, tags: Object.fromEntries(next) };
  return JSON.stringify(after) === JSON.stringify(record) ? undefined : after;
}

/** The first record of a database that is adopted. */
function unmanaged({ name, row, database }: Found, maintenance: string): DatabaseRecord {
  if (name === maintenance) {
    throw new ProviderError(
      "rejected",
      `${ACTION}: the operator itself is connected to "${printable(name)}"; it cannot be adopted`,
      { code: "InvalidParameter" },
    );
  }
  return {
    name,
    sizeGb: database.sizeGb,
    tags: {},
    createdAt: database.createdAt,
    ready: true,
    ...(row.database_comment === null ? {} : { previous: row.database_comment }),
  };
}
