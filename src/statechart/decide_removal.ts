/**
 * The deletion of one database (rule 9, S5): once its state allows it, said before it is sent, and in ever longer steps
 * where it does not help.
 *
 * @module
 */
import { type BackoffPolicy, growingMs } from "../core/backoff.ts";
import { lookAgain } from "./decide_account.ts";
import type { Decision } from "./decision.ts";
import { quote } from "./drift.ts";
import { isAccountConfirmed, isRemovalAsked, POLL_CAP_MS, specOf, transitionalPollMs } from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { isSnapshotSaid, snapshotOf } from "./snapshot.ts";
import { no } from "./verdicts.ts";
import type { View } from "./view.ts";

/** What a deletion says whatever it does next. */
export type Said = Pick<Decision, "state" | "ready" | "synced">;

/** First and longest wait before a delete that did not help is sent again. */
const FUTILE: BackoffPolicy = { baseMs: 5_000, capMs: 600_000 };
/** Accepted deletes without effect after which the status says so (as R6 for repairs). */
const FUTILE_TOLD = 3;

/** Time between two looks at a database beside the recorded one that the spec keeps from being deleted, in milliseconds. */
const HELD_MS = 300_000;

/** Status writes that may fail before a removal is sent unsaid. */
const MAX_UNSAID = 3;

/** What is waited for while a database is in a transitional state. */
const AWAITED = {
  Deleting: "is being deleted at the provider; waiting for its end",
  Modifying: "is modifying at the provider and cannot be deleted yet; waiting",
  Provisioning: "is provisioning at the provider and cannot be deleted yet; waiting",
} as const;

function awaited({ unknownState, providerState }: ExternalState, state: keyof typeof AWAITED): string {
  return unknownState
    ? `is ${quote(providerState)} at the provider, a state in which nothing is known to be deleted; waiting`
    : AWAITED[state];
}

/** Deletes one database once its state allows it (`busy` is no error: Q4). */
export function removeOne(
  k: Knowledge,
  view: View,
  said: Said,
  database: ExternalState,
  seenAt: number | undefined,
): Decision {
  const recorded = database.id === k.object.status?.providerId;
  if (database.state === "Deleting" || database.state === "Provisioning" || database.state === "Modifying") {
    // What we asked for goes its ordinary way and is no news (L4).
    const verdict = database.state === "Deleting" && isRemovalAsked(k, database.id)
      ? said.synced
      : no("Deleting", `The database ${quote(database.id)} ${awaited(database, database.state)}`);
    return every(seenAt, transitionalPollMs(k, view), undefined, view, {
      ...said,
      ready: verdict,
      synced: verdict,
    }, recorded ? "confirm" : "lookup");
  }
  // Nothing is done, whoever holds it: it is said whatever the account says meanwhile (L4).
  const snapshot = snapshotOf(k.object, database);
  const held = heldBySpec(k, view, said, database, seenAt, snapshot);
  if (held !== undefined) return held;
  // A2: another account may hold a copy, UIDs and all; only a recorded id is surely none of its.
  if (!recorded && seenAt !== undefined && !isAccountConfirmed(k, view, seenAt)) {
    const look = k.object.status?.providerId === undefined ? "lookup" : "confirm";
    return lookAgain(k, view, seenAt, said, look);
  }
  const futile = afterFutile(k, view, said, database, seenAt);
  if (futile !== undefined) return futile;
  // Said before it is sent, so that a restart takes the absence that follows for one that we asked for (rule 12).
  // A status that cannot be written holds no deletion up for long (L2).
  const unsaid = recorded && k.object.status?.removing !== database.id &&
    (k.attempts.report ?? 0) < MAX_UNSAID;
  // Rule 17: a snapshot that nobody can find again is none, so that its name must be written, however long that takes.
  const unnamed = snapshot !== undefined && !isSnapshotSaid(k, k.object, snapshot);
  if (unsaid || unnamed) {
    const removing = recorded ? database.id : undefined;
    return { ...said, step: "report", removing, finalSnapshot: snapshot };
  }
  return { ...said, step: "remove", database, finalSnapshot: snapshot };
}

/** What the spec itself holds back (D5), or asks for and cannot have (D7); only another spec helps. */
function heldBySpec(
  k: Knowledge,
  view: View,
  said: Said,
  database: ExternalState,
  seenAt: number | undefined,
  snapshot: string | undefined,
): Decision | undefined {
  const verdict = specOf(k.object).deletionProtection === true
    ? no(
      "DeletionProtected",
      `The database ${
        quote(database.id)
      } is not deleted, as spec.deletionProtection is true: set it to false, or ` +
        "set deletionPolicy to Retain",
    )
    : snapshot !== undefined && view.provider?.snapshots !== true
    ? no(
      "SnapshotUnsupported",
      `The database ${
        quote(database.id)
      } is not deleted, as deletionPolicy is Snapshot and the provider takes no final ` +
        "snapshots: set it to Delete or Retain",
    )
    : undefined;
  if (verdict === undefined) return undefined;
  const rest = { ...said, ready: verdict, synced: verdict };
  // The list tells when the recorded one is gone; of others only a lookup does.
  if (database.id === k.object.status?.providerId) return { ...rest, step: "idle" };
  return every(seenAt, HELD_MS, undefined, view, rest, "lookup");
}

/**
 * A delete that the provider accepted and that did not help is sent again in ever longer steps, with reads between (S5).
 * `undefined` when it may be sent now.
 */
function afterFutile(
  k: Knowledge,
  view: View,
  said: Said,
  database: ExternalState,
  seenAt: number | undefined,
): Decision | undefined {
  const tries = k.removalTries[database.id] ?? 0;
  const askedAt = k.removals[database.id];
  if (tries === 0 || askedAt === undefined) return undefined;
  const waitMs = growingMs(FUTILE, tries - 1);
  if (view.now >= askedAt + waitMs) return undefined;
  const verdict = tries < FUTILE_TOLD ? said.synced : no(
    "DeleteFailed",
    `The provider accepts the deletion of the database ${
      quote(database.id)
    } again and again without effect; ` +
      "look at it at the provider",
  );
  const step = database.id === k.object.status?.providerId ? "confirm" as const : "lookup" as const;
  const everyMs = Math.min(waitMs / 2, POLL_CAP_MS);
  return every(seenAt, everyMs, undefined, view, { ...said, ready: verdict, synced: verdict }, step);
}

/** A step each `everyMs` after `last`; never later than `settled`, so that the decisive one is sent as soon as it can be. */
export function every(
  last: number | undefined,
  everyMs: number,
  settled: number | undefined,
  view: View,
  said: Said,
  step: "lookup" | "confirm",
): Decision {
  if (last === undefined) return { ...said, step };
  const age = view.now - last;
  const due = settled !== undefined && last < settled && view.now >= settled;
  if (age >= everyMs || due) return { ...said, step };
  const left = everyMs - age;
  const waitMs = settled !== undefined && settled > view.now ? Math.min(left, settled - view.now) : left;
  return { ...said, step: "wait", waitMs, settling: settled !== undefined };
}
