/**
 * Identifiers of instances and snapshots, and what tags can hold.
 *
 * An instance has two names. Its *identifier* is chosen, can be changed and is free again once the instance is gone: a
 * create is idempotent by it. Its *resource id* (`DbiResourceId`) is RDS's, never changes and is never given again: it is
 * the port's id, so that a namesake made later is `absent` and one that was renamed is not.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { TAG } from "../../api/constants.ts";

/** How an identifier of ours begins; a policy of IAM may lean on it. */
export const IDENTIFIER_PREFIX = "edb-";

/**
 * The identifier of a token's instance: within 1 to 63 letters, digits and single hyphens, the first a letter. It has a
 * digest of token and cluster, since a cluster restored from another's backup has the same UIDs; the token stands in it where
 * it fits, for people.
 */
export function instanceIdentifier(
  clientToken: string,
  tags: Readonly<Record<string, string>>,
): string {
  const digest = createHash("sha256").update(JSON.stringify([clientToken, tags[TAG.cluster] ?? ""])).digest(
    "hex",
  );
  const plain = clientToken.toLowerCase();
  return /^[a-z0-9]+(-[a-z0-9]+)*$/.test(plain) && plain.length <= 50
    ? `${IDENTIFIER_PREFIX}${plain}-${digest.slice(0, 8)}`
    : `${IDENTIFIER_PREFIX}${digest.slice(0, 40)}`;
}

/** Whether a text can be a resource id. */
export function isResourceId(id: string): boolean {
  return /^db-[0-9A-Za-z]{2,250}$/.test(id);
}

/** Whether RDS takes it as the name of a snapshot. */
export function isSnapshotName(name: string): boolean {
  return name.length <= 255 && /^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$/.test(name);
}

/** What is wrong with a tag for RDS, or `undefined`: key 1 to 128 and value at most 256 of some characters. */
export function tagFault(key: string, value: string): string | undefined {
  const allowed = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
  if (key.length < 1 || key.length > 128 || !allowed.test(key) || /^aws:/i.test(key)) {
    return `the tag "${key}" has a key that RDS does not take`;
  }
  return value.length > 256 || !allowed.test(value)
    ? `the tag "${key}" has a value that RDS does not take`
    : undefined;
}
