/**
 * Decisions for a recorded database that the provider says is not there (rules 7, 10 and 12; R7).
 *
 * @module
 */
import { lookAgain } from "./decide_account.ts";
import type { Decision } from "./decision.ts";
import { quote } from "./drift.ts";
import {
  absenceConfirmed,
  absenceSettledAt,
  hasAccountSpoken,
  isAccountConfirmed,
  isOfAnotherAccount,
  isRefreshDue,
  isRemovalAsked,
  ownFound,
  policiesOf,
  specOf,
  transitionalPollMs,
} from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import { lossesInARow, recreationWaitMs } from "./losses.ts";
import { no } from "./verdicts.ts";
import { ACCOUNT_WAIT_MS, type View } from "./view.ts";

/** An absence whose lookup is older than this, in milliseconds, is read again before it decides anything (S6). */
const ABSENCE_AGE_MS = 60_000;

/** Drifted, until the absence is certain; then a new incarnation. */
export function decideMissing(k: Knowledge, view: View): Decision {
  const id = k.object.status?.providerId ?? "";
  const gone = `The provider says that the database ${quote(id)} is gone`;
  const missing = no("ExternalMissing", `${gone}; ${whatNext(k)}`);
  const said = { state: "Drifted" as const, ready: missing, synced: missing };
  const absentAt = k.observation?.sentAt ?? Number.NEGATIVE_INFINITY;
  const age = view.now - absentAt;
  // One that we removed ourselves (never available, failed) is not missing: the next incarnation may come.
  const elsewhere = isOfAnotherAccount(k, view, absentAt);
  if (isRemovalAsked(k, id) && !elsewhere) {
    const removed = no("ExternalMissing", `${gone}, as it had failed and was removed; another is created`);
    const replacing = { state: "Creating" as const, ready: removed, synced: removed };
    if (isAccountConfirmed(k, view, absentAt)) return { ...replacing, step: "reincarnate" };
    return hasAccountSpoken(k, view, absentAt)
      ? { ...replacing, state: "Drifted", step: "confirm" }
      : { ...replacing, step: "wait", waitMs: ACCOUNT_WAIT_MS };
  }
  const lookup = k.lookup;
  // What was absent among many says nothing once they are back: that one may be back too (rule 12).
  const among = absentAt < view.massAbsenceOverAt;
  if (lookup === undefined || lookup.sentAt < absentAt || elsewhere || among || isRefreshDue(k)) {
    return { ...said, step: "confirm" };
  }
  const other = ownFound(k, view).find((d) => d.state !== "Deleting" && d.id !== id);
  if (other !== undefined) {
    // A2: another account may hold a copy of this one, UIDs and all.
    if (isAccountConfirmed(k, view, lookup.sentAt)) {
      // Another resource may have adopted it since (S3). The account's word comes at once after an absence alone.
      if (view.now - lookup.sentAt > ABSENCE_AGE_MS) return { ...said, step: "confirm" };
      return { ...said, state: "Creating", step: "record", database: other };
    }
    return lookAgain(k, view, lookup.sentAt, said);
  }
  const settled = absenceSettledAt(k, view, id);
  if (lookup.sentAt < settled) {
    const every = Math.min(Math.max(transitionalPollMs(k, view), 2_000), Math.max(settled - view.now, 0));
    return age >= every ? { ...said, step: "confirm" } : { ...said, step: "wait", waitMs: every - age };
  }
  const confirmed = absenceConfirmed(k.object);
  if (view.massAbsent && !confirmed) {
    const verdict = no(
      "MassAbsence",
      `The database ${
        quote(id)
      } turned absent together with many others; check account, region and credentials. ` +
        "Nothing is re-created until they are back or db.my.domain/confirm-absence is set",
    );
    return { ...said, step: "idle", ready: verdict, synced: verdict };
  }
  if (policiesOf(k.object).missing === "Report") return { ...said, step: "idle" };
  // Rule 12 counts over a whole list: one that began after the absence was seen must have ended.
  if (view.roundAt < absentAt && !confirmed) return { ...said, step: "wait", waitMs: 5_000 };
  // A2: credentials that were changed under us show as absence first; the account must have said its name since.
  if (!isAccountConfirmed(k, view, absentAt)) {
    // It has said its name, but not shortly before: the absence is looked for again between two answers.
    return lookAgain(k, view, absentAt, said);
  }
  const wait = recreationWaitMs(k, view);
  if (wait > 0) {
    const again = no(
      "ExternalMissing",
      `${gone}, as ${lossesInARow(k.object.status, view.wallNow)} before it in a row; another is created ` +
        "after a wait that grows with their number, or at once on db.my.domain/reconcile",
    );
    return { ...said, ready: again, synced: again, step: "wait", waitMs: wait };
  }
  // Not since the read: at a slow cloud with many to ask for, the lookup's turn alone comes later than that.
  if (view.now - lookup.sentAt > ABSENCE_AGE_MS) return { ...said, step: "confirm" };
  return { ...said, step: "reincarnate" };
}

/** What follows from the loss, or has to be done by a person. */
function whatNext({ object }: Knowledge): string {
  if (policiesOf(object).missing === "Recreate") return "another is created once that is certain";
  const { providerId } = specOf(object);
  return providerId !== undefined && providerId === object.status?.providerId
    ? "restore it there: a database that spec.providerId names is never created anew"
    : "restore it there, or set spec.onMissing to Recreate to have a new, empty one";
}
