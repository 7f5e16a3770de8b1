/**
 * Decisions for a CR that is being deleted (rules 13 to 16; S2, S4).
 *
 * @module
 */
import { ANNOTATION, TAG } from "../api/constants.ts";
import { classlessDeletion } from "./class_view.ts";
import { boundReadiness } from "./decide_binding.ts";
import type { Decision, ReleaseCause, Verdict } from "./decision.ts";
import { isOwnUnsought, otherOwner, ownInstead, strayOf, strayRereadMs } from "./decide_conflict.ts";
import { isLeftAlone } from "./decide_unadopted.ts";
import { every, removeOne, type Said } from "./decide_removal.ts";
import { quote } from "./drift.ts";
import {
  absenceConfirmed,
  absenceSettledAt,
  accountDiffers,
  hasAccountSpoken,
  isAccountConfirmed,
  isBeingRemoved,
  isManagementKnown,
  isObserveOnly,
  isOfAnotherAccount,
  isReadDue,
  isRemovalAsked,
  isUnseen,
  ownership,
  ownFound,
  policiesOf,
  presentDatabase,
  settledAt,
  specOf,
  transitionalPollMs,
  unrecordedDatabase,
  wasAdopted,
} from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import { recordFound } from "./record_found.ts";
import { hasFinalizer } from "./resource.ts";
import { listedReadiness, no, normalise, silenceReason, unknown } from "./verdicts.ts";
import { ACCOUNT_WAIT_MS, type View } from "./view.ts";

/** Time between two lookups or confirmations while one waits for an absence to settle, in milliseconds. */
const AGAIN_MS = 2_000;

/** Deleting, until nothing is left that carries the UID; then Finalized. */
export function decideDeletion(k: Knowledge, view: View): Decision {
  const { object } = k;
  const deleting = no("Deleting", "The database is being deleted");
  const said = { state: "Deleting" as const, ready: deleting, synced: deleting };
  if (!hasFinalizer(object)) {
    return { ...said, state: "Finalized", step: "end", database: presentDatabase(k) };
  }
  const release = (cause: ReleaseCause): Decision => ({
    ...said,
    step: "release",
    cause,
    database: presentDatabase(k),
  });
  // Rule 16: the documented way out, whatever the cloud says.
  if (object.metadata.annotations?.[ANNOTATION.abandon] === object.metadata.uid) return release("abandon");
  // D4: what only observes leaves everything as it is. A pause holds it as it holds all others.
  if (isObserveOnly(object) && !specOf(object).paused) return release("observeOnly");
  const created = unrecordedDatabase(k);
  if (created !== undefined && created.state !== "Deleting") {
    return { ...said, step: "record", database: created }; // rule 6 holds here too: a crash must not lose the id
  }
  if (specOf(object).paused) {
    const paused = no(
      "Paused",
      "Deletion waits, as spec.paused is true: set it to false to let the database go",
    );
    const step = isReadDue(k) ? "confirm" : "idle";
    const ready = boundReadiness(k, view, listedReadiness(k, view, paused), paused);
    return { ...said, step, ready, synced: paused };
  }
  // Rule 15, "at once": no create was ever sent for it, or every one was refused by a definite answer.
  if (neverCreated(k)) return release("neverCreated");
  const unmet = unknownPolicy(k);
  if (unmet !== undefined) return { ...said, step: "idle", ready: unmet, synced: unmet };
  const classless = classlessDeletion(object, view);
  if (classless !== undefined) {
    return { ...said, step: "idle", ready: classless, synced: classless, quiet: view.class?.unheard };
  }
  if (view.provider === undefined) {
    const verdict = unknown(
      silenceReason(view),
      `Deletion waits for the provider: ${normalise(view.providerError ?? "no answer so far")}`,
    );
    const quiet = view.providerError === undefined; // asked a moment ago: a restart alone is no news (S5)
    return { ...said, step: "idle", ready: verdict, synced: verdict, quiet };
  }
  if (accountDiffers(k, view)) return underAnother(k, view, said, "the database");
  if (object.status?.providerId === undefined) {
    // Whether it was created or adopted says what becomes of it (rule 19), and only the record says that.
    const { providerId: named } = specOf(object);
    const live = ownFound(k, view).filter((d) => d.state !== "Deleting");
    const own = live.find((d) => d.id === named) ?? live.find((d) => wasAdopted(object, d)) ??
      (named === undefined ? undefined : live[0]);
    if (own !== undefined) return recordFound(k, view, own, said, "Deleting");
  }
  if (isUnseen(k)) return { ...said, step: "confirm" };
  if (strayOf(k, view) !== undefined) {
    if (isReadDue(k)) return { ...said, step: "confirm" }; // its tags may have been mended (F3)
    // A status that names another's database by mistake must not hide the CR's own one (S2).
    if (isOwnUnsought(k, view)) return { ...said, step: "lookup" };
    const own = ownInstead(k, view);
    if (own !== undefined) return recordFound(k, view, own, said, "Deleting");
    if (isLeftAlone(k, view)) return release("observeOnly"); // it was never this resource's
    if (object.status?.observeOnly) {
      return every(k.lookup?.sentAt, againMs(view), settledAt(k, view), view, said, "lookup");
    }
  }
  return policiesOf(object).deletion === "Retain" || k.crdTerminating
    ? retain(k, view, said, release)
    : remove(k, view, said, release);
}

/** Deletion waits for a person, or for the account: another's words say nothing of what is in it (A2). */
function underAnother(k: Knowledge, view: View, said: Said, what: string): Decision {
  const verdict = no(
    "Conflict",
    `Deletion waits: the credentials belong to account ${quote(view.provider?.account ?? "")}, ${what} to ${
      quote(k.account ?? "")
    }; put the credentials of that one back`,
  );
  return { ...said, step: "wait", waitMs: 30_000, ready: verdict, synced: verdict };
}

/**
 * No account is recorded that holds it, and a create of unknown outcome was sent, or its record was refused: what that
 * create brought is in the account that was last heard of then, whose word alone counts (rule 15, A2).
 */
function heldByCreate(k: Knowledge, view: View, said: Said, lookedAt: number): Decision | undefined {
  const account = k.seenUnder ?? k.unknownUnder;
  if (k.account !== undefined || account === undefined || Object.keys(k.removals).length > 0) {
    return undefined;
  }
  const under = { ...k, account };
  if (accountDiffers(under, view)) return underAnother(under, view, said, "a create of unknown outcome");
  return heldBack(under, view, said, undefined, lookedAt);
}

type Release = (cause: ReleaseCause) => Decision;

function neverCreated(k: Knowledge): boolean {
  return k.bornHere && !k.mayExist && k.unknownSince === undefined && k.observation === undefined;
}

/** What is not known to be allowed is not done: a policy of another build's schema must be met. */
function unknownPolicy({ object }: Knowledge): Verdict | undefined {
  const { deletion } = policiesOf(object);
  if (!isManagementKnown(object)) {
    return no(
      "InvalidSpec",
      `Deletion waits, as spec.managementPolicy ${
        quote(String(specOf(object).managementPolicy))
      } is not known here: set it to Full or ObserveOnly`,
    );
  }
  if (deletion === "Delete" || deletion === "Retain" || deletion === "Snapshot") return undefined;
  return no(
    "InvalidSpec",
    `Deletion waits, as spec.deletionPolicy ${
      quote(String(deletion))
    } is not known here: set it to Delete, Retain or Snapshot`,
  );
}

/** Retain: an unknown create is resolved first, then what was found is tagged, then the finalizer goes (rule 16). */
function retain(k: Knowledge, view: View, said: Said, release: Release): Decision {
  const id = k.object.status?.providerId;
  // One that is not there could not be marked: that it is gone must be as sure as for a deletion.
  const absentAt = k.observation?.kind === "absent" ? k.observation.sentAt : undefined;
  if (id !== undefined && absentAt !== undefined) {
    // A status that was edited names what is gone while lists do not show yet what is to be marked (S2).
    const sure = Math.max(absenceSettledAt(k, view, id), absentAt);
    if ((k.lookup?.sentAt ?? Number.NEGATIVE_INFINITY) < sure) {
      return every(k.lookup?.sentAt, againMs(view), sure, view, said, "confirm");
    }
    if (k.retained) {
      if (absentAt < view.massAbsenceOverAt) return { ...said, step: "retain" };
      const held = heldBack(k, view, said, id, absentAt);
      if (held !== undefined) return held;
    }
  }
  if (k.retained) return release(k.crdTerminating ? "crdDeleted" : "retain");
  if (id === undefined && ownFound(k, view).length === 0) {
    const settled = settledAt(k, view);
    if (k.lookup !== undefined && k.lookup.sentAt >= settled) {
      return heldByCreate(k, view, said, k.lookup.sentAt) ??
        heldBack(k, view, said, undefined, k.lookup.sentAt) ??
        release(k.crdTerminating ? "crdDeleted" : "retain");
    }
    return every(k.lookup?.sentAt, againMs(view), settled, view, said, "lookup");
  }
  const keeping = no("Deleting", "The database is kept, as deletionPolicy is Retain; marking it as retained");
  return { ...said, step: "retain", ready: keeping, synced: keeping };
}

function remove(k: Knowledge, view: View, said: Said, release: Release): Decision {
  const id = k.object.status?.providerId;
  const recorded = presentDatabase(k);
  if (recorded !== undefined && recorded.id === id) {
    // A list that misses it is a reason to read it (rule 10), however long a refused delete backs off (L2).
    if (isReadDue(k)) return { ...said, step: "confirm" };
    if (ownership(k, recorded, view) !== "ours") {
      const verdict = no(
        "Conflict",
        `The database ${quote(recorded.id)} ${otherOwner(k, recorded)}, and is not touched; if it is this ` +
          `resource's, write its tag ${TAG.uid} again; to let the resource go, annotate it with ${ANNOTATION.abandon}=${k.object.metadata.uid}`,
      );
      // Its tags may be mended, or it is gone, and then the deletion goes on (L2).
      const stuck = { ...said, ready: verdict, synced: verdict };
      return every(k.observation?.sentAt, strayRereadMs(k), undefined, view, stuck, "confirm");
    }
    return removeOne(k, view, said, recorded, k.observation?.sentAt);
  }
  const asked = id !== undefined && isRemovalAsked(k, id);
  if (id !== undefined && k.observation === undefined) {
    // Never read here: what is to be removed is seen first. Asked for already: await its absence.
    return asked
      ? every(k.removals[id], transitionalPollMs(k, view), undefined, view, said, "confirm")
      : { ...said, step: "confirm" };
  }
  const absentAt = k.observation?.kind === "absent" ? k.observation.sentAt : Number.NEGATIVE_INFINITY;
  const lookup = k.lookup;
  const again = id === undefined ? "lookup" as const : "confirm" as const;
  // Without an id (never recorded, or its status was wiped) the lookup alone is what an account said.
  const saidAt = id === undefined ? lookup?.sentAt ?? absentAt : absentAt;
  const elsewhere = isOfAnotherAccount(k, view, saidAt);
  // What was absent among many says nothing once they are back: that one may be back too (rule 12).
  const among = id !== undefined && !asked && absentAt < view.massAbsenceOverAt;
  if (lookup === undefined || lookup.sentAt < absentAt || elsewhere || among) return { ...said, step: again };
  const left = ownFound(k, view)[0];
  if (left !== undefined) return removeOne(k, view, said, left, lookup.sentAt);
  if (lookup.found.some((d) => isBeingRemoved(k, d.id, view))) {
    return every(lookup.sentAt, transitionalPollMs(k, view), undefined, view, said, again);
  }
  const settled = absenceSettledAt(k, view, id);
  if (lookup.sentAt < settled) {
    const verdict = no(
      "Deleting",
      "Nothing carries this resource's UID; waiting until no earlier create can take effect any more",
    );
    return every(
      lookup.sentAt,
      againMs(view),
      settled,
      view,
      { ...said, ready: verdict, synced: verdict },
      again,
    );
  }
  return heldByCreate(k, view, said, lookup.sentAt) ??
    heldBack(k, view, said, id, saidAt, lookup.sentAt) ?? release("deleted");
}

/** Why an absence does not let the finalizer go yet: many are absent (rule 12), or the account is not sure (S4). */
function heldBack(
  k: Knowledge,
  view: View,
  said: Said,
  id: string | undefined,
  absentAt: number,
  lookedAt: number = absentAt,
): Decision | undefined {
  // Rule 12: no finalizer goes on an absence that nobody asked for while many are absent.
  if (id !== undefined && !isRemovalAsked(k, id) && !absenceConfirmed(k.object)) {
    if (view.massAbsence) {
      const verdict = no(
        "MassAbsence",
        "Many databases of the account turned absent: check account, region and credentials. Deletion waits until they are back or db.my.domain/confirm-absence is set",
      );
      return { ...said, step: "idle", ready: verdict, synced: verdict };
    }
    if (view.roundAt < absentAt) return { ...said, step: "wait", waitMs: 5_000 };
  }
  // S4: the absence counts only under the account that holds the database, as it said after the absence was seen (A2);
  // also where we asked for it, for a delete that answers "not found" proves nothing under another account.
  // So does the lookup that followed: credentials may have changed between the two.
  const unsure = [absentAt, lookedAt].find((at) => !isAccountConfirmed(k, view, at));
  if (unsure !== undefined) {
    if (hasAccountSpoken(k, view, unsure)) {
      return { ...said, step: id === undefined ? "lookup" : "confirm" }; // between two answers this time
    }
    const unheard = view.providerError ??
      (view.provider?.account === undefined ? "it tells none" : undefined);
    const verdict = unheard === undefined ? said.synced : unknown(
      "ProviderUnavailable",
      `Deletion waits until the provider tells its account: ${normalise(unheard)}`,
    );
    return { ...said, step: "wait", waitMs: ACCOUNT_WAIT_MS, ready: verdict, synced: verdict };
  }
  return undefined;
}

/** In a crowd the observer's list looks for all; each then asks alone only once its window is over. */
function againMs(view: View): number {
  return view.crowded ? Number.POSITIVE_INFINITY : AGAIN_MS;
}
