/**
 * What a call asks for, held against the database as it is: the next record, or what stands against it.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ACTIONS, type CallVerb, printable } from "../classify.ts";
import type { CreateRequest, Database, ModifyRequest } from "../port.ts";
import { ProviderError, type ProviderErrorClass } from "../port.ts";
import { isUsablePassword, UNUSABLE_PASSWORD } from "../postgres/scram.ts";
import { formatVersion, satisfies } from "../postgres/versions.ts";
import { type Build, buildOf } from "./binaries.ts";
import type { LocalRecord } from "./record.ts";

/** Throws what stands against a call. */
export function fail(verb: CallVerb, errorClass: ProviderErrorClass, what: string, code: string): never {
  throw new ProviderError(errorClass, `${ACTIONS[verb]}: ${what}`, { code });
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** 100 bits of SHA-256 of the token: never the same for two. */
export function idOf(clientToken: string): string {
  const bytes = createHash("sha256").update(clientToken).digest();
  return `local-${[...bytes.subarray(0, 20)].map((byte) => ALPHABET[byte & 31]).join("")}`;
}

/** The build for a create; throws `rejected` for what can never be. */
export function checked(request: CreateRequest, builds: readonly Build[]): Build {
  const { engine, version, sizeGb, name, clientToken, password } = request;
  const refuse = (what: string) => fail("create", "rejected", what, "InvalidParameter");
  if (!/^postgres(ql)?$/i.test(engine)) {
    refuse(`engine "${printable(engine, 63)}" cannot be had on this machine; use postgres`);
  }
  if (!Number.isInteger(sizeGb) || sizeGb < 1 || sizeGb > 65_536) {
    refuse(`sizeGb ${sizeGb} is not a whole number from 1 to 65536`);
  }
  if (clientToken === "" || name === "") refuse("a name and a client token are needed");
  if (password !== undefined && !isUsablePassword(password)) refuse(UNUSABLE_PASSWORD);
  const build = buildOf(version, builds);
  const have = builds.map((known) => formatVersion(known.version)).join(", ");
  return build ?? refuse(`version "${printable(version, 63)}" cannot be had; there are ${have}`);
}

/** The record after a change; nothing when nothing changes. Throws what stands against it. */
export function changed(
  database: Database,
  record: LocalRecord,
  { version, sizeGb, tags = {}, password, deletionProtection }: ModifyRequest,
  verifier: string | undefined,
): LocalRecord | undefined {
  if (record.phase === "deleting") fail("modify", "busy", "it is being deleted", "InvalidState");
  const work = version !== undefined || sizeGb !== undefined || password !== undefined;
  if (work && database.state !== "Available") {
    fail("modify", "busy", `it is ${database.providerState}`, "InvalidState");
  }
  const [major = 0, minor = 0] = record.version.split(".").map(Number);
  if (version !== undefined && !satisfies({ major, minor }, version)) {
    fail(
      "modify",
      "rejected",
      `it has version ${record.version}, and its binaries stay as they are; create another resource with version "${
        printable(version, 63)
      }" and move the data`,
      "InvalidParameter",
    );
  }
  if (sizeGb !== undefined && (!Number.isInteger(sizeGb) || sizeGb < record.sizeGb)) {
    fail(
      "modify",
      "rejected",
      `sizeGb ${sizeGb} is less than ${record.sizeGb}; a size never shrinks`,
      "InvalidParameter",
    );
  }
  const next = new Map(Object.entries(record.tags));
  for (const [key, value] of Object.entries(tags)) {
    if (value === null) next.delete(key);
    else next.set(key, value);
  }
  const after: LocalRecord = {
    ...record,
    sizeGb: sizeGb ?? record.sizeGb, // a quota that nothing enforces
    tags: Object.fromEntries(next),
    protected: deletionProtection ?? record.protected,
    ...(verifier === undefined ? {} : { verifier, stale: true }),
  };
  return JSON.stringify(after) === JSON.stringify(record) ? undefined : after;
}

/** The record of a database whose delete is accepted; nothing when that was so before. */
export function deleted(
  database: Database,
  record: LocalRecord,
  finalSnapshot: string | undefined,
): LocalRecord | undefined {
  if (record.phase === "deleting") return undefined;
  if (finalSnapshot !== undefined) {
    fail(
      "delete",
      "rejected",
      "this provider takes no snapshots; use pg_dump and another deletionPolicy",
      "SnapshotUnsupported",
    );
  }
  if (database.state !== "Available" && database.state !== "Failed") {
    fail("delete", "busy", `it is ${database.providerState}`, "InvalidState");
  }
  if (record.protected) fail("delete", "rejected", "it has deletion protection", "DeletionProtected");
  return { ...record, phase: "deleting" };
}
