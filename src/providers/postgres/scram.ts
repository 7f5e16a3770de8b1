/**
 * SCRAM-SHA-256 verifiers: what a PostgreSQL server stores instead of a password.
 *
 * Made here, so that the server never sees the password: not in a statement, and so in none of its logs, in
 * `pg_stat_activity` or in an extension that records statements (RFC 5802, RFC 7677; PostgreSQL's `scram-common.c`).
 *
 * @module
 */
import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";

/** PostgreSQL's own number of rounds (`SCRAM_SHA_256_DEFAULT_ITERATIONS`). */
const ITERATIONS = 4_096;
/** PostgreSQL's own length of a salt, in bytes (`SCRAM_DEFAULT_SALT_LEN`). */
const SALT_BYTES = 16;

/**
 * Whether a password can be used: printable ASCII, which every client sends as it is. Of other characters, clients
 * disagree on the normal form (SASLprep).
 */
export function isUsablePassword(password: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(password);
}

/** What is said of any other. */
export const UNUSABLE_PASSWORD = "the password must be 1 to 255 printable ASCII characters";

/** The verifier of a usable password, as `CREATE ROLE … PASSWORD` takes it; with a new salt each time. */
export async function scramVerifier(password: string, salt = randomBytes(SALT_BYTES)): Promise<string> {
  const salted = await new Promise<Uint8Array>((resolve, reject) => {
    pbkdf2(password, salt, ITERATIONS, 32, "sha256", (error, key) => error ? reject(error) : resolve(key));
  });
  const key = (what: string) => createHmac("sha256", salted).update(what).digest();
  const storedKey = createHash("sha256").update(key("Client Key")).digest("base64");
  const serverKey = key("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
