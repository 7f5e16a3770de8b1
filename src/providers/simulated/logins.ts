/**
 * The passwords of the cloud's databases: kept as digests, so that no dump, ledger or page of it can show one.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { MASTER_USERNAME } from "../access.ts";
import type { CloudRecord, CreateBody } from "./types.ts";

/** What is kept of a password. */
export function passwordDigest(password: string): string {
  return createHash("sha256").update(password).digest("base64url");
}

/** The login of a new database, or nothing where the create has no password. */
export function firstLogin(body: CreateBody): Pick<CloudRecord, "login"> {
  if (body.masterPassword === undefined) return {};
  const { masterUsername: username = MASTER_USERNAME, masterPassword } = body;
  return { login: { username, password: passwordDigest(masterPassword) } };
}

/** Brings the password of the change that has ended into force. */
export function settleLogin(record: CloudRecord): void {
  if (record.nextPassword === undefined) return;
  record.login = { username: record.login?.username ?? MASTER_USERNAME, password: record.nextPassword };
  delete record.nextPassword;
}

/** Whether the database lets its master user in with this password: it must have been available once. */
export function letsIn(record: CloudRecord, password: string): boolean {
  return record.endpoint !== undefined && record.login?.password === passwordDigest(password);
}
