/**
 * Tells the actors of a site what a complete list of its databases shows, and what it misses (design.md 3).
 *
 * @module
 */
import { type AbsenceLedger, isExpected } from "./absences.ts";
import type { Keeper } from "./keeper.ts";
import { type Round, unreadableAs } from "./observer.ts";

/** Keepers told of a list before the event loop gets its turn. */
const SLICE = 500;

/**
 * Tells each keeper what the list says of its database; `pause` gives the event loop its turn. Absences are counted for
 * the whole list before any actor hears of one (rule 12).
 */
export async function fanOut(
  round: Round,
  keepers: readonly Keeper[],
  absences: AbsenceLedger,
  pause: () => Promise<void>,
): Promise<void> {
  // In one go: an actor whose timer fires between two slices must not find the list ended and the absences uncounted.
  count(round, keepers, absences);
  const missing: Keeper[] = [];
  let n = 0;
  for (const keeper of keepers) {
    if (++n % SLICE === 0) await pause();
    const { uid } = keeper.object.metadata;
    const id = keeper.object.status?.providerId;
    if (keeper.finished) continue;
    if (id === undefined) {
      // Only what is found is told: an empty lookup must have asked by UID alone to decide anything.
      const found = (round.byUid.get(uid) ?? []).map((l) => l.database);
      if (found.length > 0) keeper.send({ type: "external.found", found, sentAt: round.sentAt });
      continue;
    }
    const listed = round.byId.get(id);
    if (listed === undefined) {
      const message = unreadableAs(round, id);
      if (message === undefined) missing.push(keeper);
      else keeper.send({ type: "external.unreadable", errorClass: "retryable", message }); // not absent (S6)
      continue;
    }
    const duplicates = (round.byUid.get(uid) ?? [])
      .filter((l) => l.database.id !== id && l.database.state !== "Deleting")
      .map((l) => l.database.id);
    keeper.listed({ type: "external.listed", ...listed, duplicates });
  }
  for (const keeper of missing) keeper.send({ type: "external.unlisted", sentAt: round.sentAt });
}

/** Counts who is there and who ought to be (rule 12). */
function count(round: Round, keepers: readonly Keeper[], absences: AbsenceLedger): void {
  const absent: string[] = [];
  for (const { object, finished } of keepers) {
    const id = object.status?.providerId;
    if (id === undefined || finished) continue;
    if (round.byId.has(id)) absences.present(object.metadata.uid);
    else if (unreadableAs(round, id) !== undefined) continue; // S6: it is there, or may be
    else if (isExpected(object)) absent.push(object.metadata.uid);
  }
  absences.absentAll(absent);
}
