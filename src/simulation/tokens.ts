/**
 * Rule 4, judged by the cloud's own books: one client token for each UID and incarnation, and no other.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { Ledger } from "../providers/simulated/ledger.ts";

/** What is wrong with the tokens of the creates that were sent, or `undefined`; a create without one is not judged. */
export function tokenProblem(ledger: Ledger): string | undefined {
  const tokens = new Map<string, string>();
  const owners = new Map<string, string>();
  for (const { tags, clientToken } of ledger.calls({ verb: "create" })) {
    if (clientToken === undefined) continue;
    const owner = `${tags?.[TAG.uid]}, incarnation ${tags?.[TAG.incarnation]}`;
    const known = tokens.get(owner) ?? clientToken;
    if (known !== clientToken) return `creates for ${owner} carry the tokens ${known} and ${clientToken}`;
    const other = owners.get(clientToken) ?? owner;
    if (other !== owner) return `creates for ${other} and ${owner} carry the same token`;
    tokens.set(owner, clientToken);
    owners.set(clientToken, owner);
  }
  return undefined;
}
