/**
 * Creating: role and record in one transaction, then the database, then its opening.
 *
 * The record is the token's memory: role names are unique on a server, and this one is derived from the token. A create
 * that meets its own earlier one goes on where that stopped.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { TAG } from "../../api/constants.ts";
import { ACTIONS, printable } from "../classify.ts";
import type { CreateRequest, Database } from "../port.ts";
import { ProviderError } from "../port.ts";
import type { Call } from "./call.ts";
import { absent, isRefusal, refusalClassOf, sqlState } from "./errors.ts";
import { databaseName } from "./names.ts";
import type { DatabaseRecord } from "./record.ts";
import { CREATE_INTERRUPTED, type Found } from "./rows.ts";
import type { Server, ServerSet } from "./servers.ts";
import type { Session } from "./session.ts";
import { createDatabase, createRole, dropDatabase, dropRole, openDatabase } from "./statements.ts";
import { formatVersion, satisfies, versionOf } from "./versions.ts";

const ACTION = ACTIONS.create;

/** Makes the database of a token, or gives the one that is there. */
export async function create(servers: ServerSet, request: CreateRequest, call: Call): Promise<Database> {
  check(request);
  const { name, tags, clientToken } = request;
  const server = await servers.choose(call, request.version, clientToken);
  const identity = server.facts!.identity;
  const own = databaseName({ namespace: tags[TAG.namespace], name, clientToken });
  return await server.run(call, async (session) => {
    const read = () => server.read(call, session, own, identity);
    if (!await session.lock(own)) {
      const found = await read();
      if (found !== undefined) return sameRequest(found, request).database;
      throw new ProviderError("busy", `${ACTION}: another session works on ${own}`, { code: "Locked" });
    }
    const found = await read();
    if (found !== undefined) sameRequest(found, request);
    const record = found?.record ?? await firstRecord(session, request);
    if (found !== undefined && (record.ready || record.deleting === true)) return found.database;
    await make(call, session, server, own, found, record);
    const made = await read();
    if (made === undefined) {
      throw new ProviderError("unknown", `${ACTION}: ${own} was made and is gone again`, {
        code: "Vanished",
      });
    }
    return made.database;
  });
}

/** The three steps, or those that an earlier create did not come to. */
async function make(
  call: Call,
  session: Session,
  server: Server,
  name: string,
  found: Found | undefined,
  record: DatabaseRecord,
): Promise<void> {
  if (found === undefined) await session.mutate(createRole(name, record, server.facts!.version.major));
  try {
    await completeSteps(session, name, found?.row.database === true, record);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await undo(call, session, name, error);
    throw error;
  }
}

async function completeSteps(
  session: Session,
  name: string,
  hasDatabase: boolean,
  record: DatabaseRecord,
): Promise<void> {
  if (!hasDatabase) await session.mutate(createDatabase(name));
  await session.mutate(openDatabase(name, { ...record, ready: true }));
}

/**
 * Finishes a create that was interrupted, as a cloud finishes what it has accepted: the intent is on the server, and nobody
 * sends the create again once its database was found. No fence is asked, and none is needed: under the lock, and only while
 * the owner role is there and no delete has begun, whoever does it does the same. Where the server refuses, the database
 * is `Failed`, which lets it be deleted.
 */
export async function finish(server: Server, found: Found, call: Call, session: Session): Promise<Database> {
  const { name, database } = found;
  const identity = server.facts!.identity;
  if (!await session.lock(name)) return database; // another does it
  const again = await server.read(call, session, name, identity);
  if (again === undefined) throw absent({ server: identity, name }, ACTIONS[call.verb]);
  const { record } = again;
  if (again.database.providerState !== CREATE_INTERRUPTED || record === undefined) return again.database;
  try {
    await completeSteps(session, name, again.row.database === true, record);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { ...again.database, state: "Failed", providerState: "CreateRefused" };
  }
  return (await server.read(call, session, name, identity))?.database ?? again.database;
}

/**
 * A refusal after the first step: takes back what was made, so that the answer is a definite one. Nothing of a
 * database is lost by it, for nobody could connect. Where that fails too, the outcome is `unknown`: the role is there.
 */
async function undo(call: Call, session: Session, name: string, refusal: unknown): Promise<void> {
  try {
    await session.mutate(dropDatabase(name)).catch((error: unknown) => {
      // A stranger's database of that name is why the create was refused.
      if (sqlState(refusal) !== "42P04") throw error;
    });
    await session.mutate(dropRole(name));
    call.takenBack();
  } catch (cause) {
    const state = sqlState(refusal) ?? "";
    const what = refusal instanceof Error ? refusal.message : "refused";
    throw new ProviderError(
      "unknown",
      `${ACTION}: ${printable(what)} (${refusalClassOf(state)}; its owner role is left for now)`,
      { code: state, cause },
    );
  }
}

/** Throws `exists` unless the database is what this request, or one like it, has made. */
function sameRequest(found: Found, request: CreateRequest): Found {
  if (found.record?.request === requestDigest(request)) return found;
  throw new ProviderError(
    "exists",
    found.record === undefined
      ? `${ACTION}: there is a database ${found.name} already, which is not this operator's`
      : `${ACTION}: ${found.name} was made with other parameters under the same token`,
    { code: found.record === undefined ? "AlreadyExists" : "IdempotencyMismatch" },
  );
}

async function firstRecord(session: Session, request: CreateRequest): Promise<DatabaseRecord> {
  const [row] = await session.query<{ now: Date; version: number }>(
    "SELECT now() AS now, current_setting('server_version_num')::int AS version",
  );
  const version = versionOf(row?.version ?? 0);
  if (!satisfies(version, request.version)) {
    throw new ProviderError("retryable", `${ACTION}: the server has become ${formatVersion(version)}`, {
      code: "ServerChanged",
    });
  }
  const { name, sizeGb, tags } = request;
  return {
    name,
    sizeGb,
    tags,
    createdAt: (row?.now ?? new Date(0)).toISOString(),
    request: requestDigest(request),
    ready: false,
  };
}

/** The parameters that a token stands for, as a short text that does not change with the order of keys. */
function requestDigest({ name, engine, version, sizeGb, tags }: CreateRequest): string {
  const parts = [name, engine.toLowerCase(), version, sizeGb, Object.entries(tags).toSorted()];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

function check({ engine, sizeGb, clientToken, name }: CreateRequest): void {
  const refuse = (what: string) => {
    throw new ProviderError("rejected", `${ACTION}: ${what}`, { code: "InvalidParameter" });
  };
  if (!/^postgres(ql)?$/i.test(engine)) {
    refuse(`engine "${printable(engine, 63)}" is not on these servers; use postgres`);
  }
  if (!Number.isInteger(sizeGb) || sizeGb < 1) refuse(`sizeGb ${sizeGb} is not a whole number from 1`);
  if (clientToken === "" || name === "") refuse("a name and a client token are needed");
}
