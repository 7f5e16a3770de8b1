/**
 * Decisions for a recorded database that does not carry the CR's UID: it is never touched (S3), but the CR may have
 * another one (a status that was edited), and its tags may be written again (rule 18).
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import { type BackoffPolicy, growingMs } from "../core/backoff.ts";
import type { Decision } from "./decision.ts";
import { decideUnadopted } from "./decide_unadopted.ts";
import { quote } from "./drift.ts";
import { ownership, ownFound, presentDatabase, specOf } from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { recordFound } from "./record_found.ts";
import { no } from "./verdicts.ts";
import type { View } from "./view.ts";

/** First and longest wait between reads of a database that holds a deletion up. */
const REREAD: BackoffPolicy = { baseMs: 30_000, capMs: 300_000 };

/** The recorded database, where it was last seen without this CR's UID. */
export function strayOf(k: Knowledge, view: View): ExternalState | undefined {
  const database = presentDatabase(k);
  if (database === undefined || database.id !== k.object.status?.providerId) return undefined;
  return ownership(k, database, view) === "foreign" ? database : undefined;
}

/** Whether the CR's own database is to be looked for before anything is said of the one that is not its own. */
export function isOwnUnsought(k: Knowledge, view: View): boolean {
  if ((k.failures.lookup?.until ?? view.now) > view.now) return false; // tried again in its time
  return (k.lookup?.sentAt ?? Number.NEGATIVE_INFINITY) < (k.observation?.sentAt ?? Number.NEGATIVE_INFINITY);
}

/** What carries the CR's UID in place of the recorded one, a live one first; only as sure as the lookup is new. */
export function ownInstead(k: Knowledge, view: View): ExternalState | undefined {
  if (k.lookup === undefined || k.lookup.sentAt < (k.observation?.sentAt ?? Number.NEGATIVE_INFINITY)) {
    return undefined;
  }
  // One without any UID may be the CR's own that lost its tags, and what carries the UID a copy of it: then only what
  // the rest of the status still describes is surely the one whose id was edited away (S6).
  const { status } = k.object;
  const untagged = presentDatabase(k)?.tags[TAG.uid] === undefined;
  const own = ownFound(k, view).filter((d) =>
    d.id !== status?.providerId &&
    (!untagged || (d.endpoint !== undefined && d.endpoint === status?.endpoint))
  );
  return own.find((d) => d.state !== "Deleting") ?? own[0];
}

/** Wait after a read until the next, in milliseconds: it may be gone or have its tags back, and no list may say so. */
export function strayRereadMs(k: Knowledge): number {
  return growingMs(REREAD, Math.max(0, (k.strayReads ?? 1) - 1));
}

/** Whose a database is that carries another UID: named to those of its own namespace alone (D8). */
export function otherOwner(k: Knowledge, { tags }: ExternalState): string {
  const { namespace } = k.object.metadata;
  const name = tags[TAG.namespace] === namespace ? tags[TAG.crName] : undefined;
  return name === undefined || tags[TAG.uid] === undefined
    ? "does not carry this resource's UID"
    : `does not carry this resource's UID, but that of ${namespace}/${name} (UID ${tags[TAG.uid]})`;
}

/** What a live CR does about a recorded database that is not its own. */
export function decideStray(k: Knowledge, view: View, stray: ExternalState): Decision {
  const id = quote(stray.id);
  const untagged = stray.tags[TAG.uid] === undefined;
  const verdict = no(
    "Conflict",
    untagged
      ? `The database ${id} carries no resource's UID any more and is not touched; to have this resource's tags ` +
        `written again, set spec.providerId to ${id}`
      : `The database ${id} ${otherOwner(k, stray)}; it is not touched`,
  );
  const said = { state: "Drifted" as const, ready: verdict, synced: verdict };
  if (isOwnUnsought(k, view)) return { ...said, step: "lookup" };
  const unadopted = decideUnadopted(k, view, stray);
  if (unadopted !== undefined) return unadopted;
  const own = ownInstead(k, view);
  if (own !== undefined && own.state !== "Deleting") return recordFound(k, view, own, said);
  if (untagged && specOf(k.object).providerId === stray.id) return { ...said, step: "adopt" };
  const left = (k.failures.lookup?.until ?? view.now) - view.now;
  return { ...said, step: "idle", ...(left > 0 ? { waitMs: left } : {}) };
}
