/**
 * Decisions for a CR with a `providerId`: provisioning, in step, drifted, failed, missing (rules 7 to 12).
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import { decideStray, strayOf } from "./decide_conflict.ts";
import { decideMissing } from "./decide_missing.ts";
import { describeChange, type Drift, driftOf, isEmpty, quote } from "./drift.ts";
import {
  everAvailable,
  isRefreshDue,
  isRemovalAsked,
  isUnseen,
  otherNamed,
  ownership,
  policiesOf,
  pollMs,
  presentDatabase,
  transitionalPollMs,
} from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { reconcileDue } from "./resource.ts";
import { permitted } from "./repair.ts";
import {
  failureVerdict,
  isUnread,
  lastReady,
  no,
  normalise,
  readiness,
  unknown,
  UNREAD,
  UNREAD_PERIODS,
} from "./verdicts.ts";
import type { View } from "./view.ts";
import type { Reason, TopState } from "./vocabulary.ts";

/** Databases in a row that may fail before they were ever available (rule 7). */
export const MAX_PROVISIONING_FAILURES = 3;

/** Creating, Available or Drifted. */
export function decideObserved(k: Knowledge, view: View): Decision {
  if (k.observation?.kind === "absent" && k.observation.id === k.object.status?.providerId) {
    return decideMissing(k, view);
  }
  const database = presentDatabase(k);
  if (database === undefined) return unobserved(k, view);
  const sentAt = k.observation?.sentAt ?? Number.NEGATIVE_INFINITY;
  const stale = staleSpec(k, view);
  const unlisted = k.unlistedAt !== undefined && k.unlistedAt > sentAt;
  if (stale || isRefreshDue(k) || unlisted) return observe(k, view, top(k));
  const stray = strayOf(k, view);
  if (stray !== undefined) return decideStray(k, view, stray);
  if (ownership(k, database, view) !== "ours") {
    const verdict = no(
      "Conflict",
      `The database ${
        quote(database.id)
      } carries another cluster's identity and is not touched; if this is that ` +
        "cluster, start the operator with its --cluster-id",
    );
    return { state: "Drifted", step: "idle", ready: verdict, synced: verdict };
  }
  switch (database.state) {
    case "Provisioning": {
      const begun = no("Creating", `The database ${quote(database.id)} is being provisioned`);
      return poll(k, view, "Creating", { ready: begun, synced: begun });
    }
    case "Deleting": {
      if (isRemovalAsked(k, database.id)) {
        const replaced = no(
          "ProvisioningFailed",
          `The failed database ${quote(database.id)} is being removed`,
        );
        return poll(k, view, "Creating", { ready: replaced, synced: replaced });
      }
      const leaving = `The database ${quote(database.id)} is being deleted at the provider`;
      const gone = no("ExternalMissing", leaving);
      return poll(k, view, "Drifted", { ready: gone, synced: gone });
    }
    case "Failed":
      return failed(k, view, database);
    default:
      return serving(k, view, database);
  }
}

/**
 * Whether the spec was changed since the database was last looked at, and that is too long ago to judge it by. Once a read
 * for it failed, the generation is told, but not that the database is as that asks.
 */
export function staleSpec(k: Knowledge, view: View): boolean {
  const sentAt = k.observation?.sentAt ?? Number.NEGATIVE_INFINITY;
  const edited = k.object.status?.observedGeneration !== k.object.metadata.generation;
  const failed = sentAt < (k.failures.observe?.until ?? Number.NEGATIVE_INFINITY); // and nothing was seen since
  return (edited || failed) && view.now - sentAt > view.cacheTtlMs;
}

/** After a restart: the observer's first list brings what a single read need not. */
export function unobserved(k: Knowledge, view: View): Decision {
  const { status, metadata } = k.object;
  const transitional = status?.state !== "Available" || status.observedGeneration !== metadata.generation;
  const unlisted = k.unlistedAt !== undefined;
  const last = status?.conditions?.find((c) => c.type === "Synced");
  // F4: what a crash said of it is over as soon as it is read.
  const crashed = last === undefined || last.reason === "ActorFailed" ||
    lastReady(k)?.reason === "ActorFailed";
  // One of an older spec says nothing of this: it was written against a copy of before, and is not to be said anew.
  const old = (last?.observedGeneration ?? metadata.generation) !== metadata.generation;
  if (transitional || unlisted || crashed || old || isRefreshDue(k) || isUnseen(k)) {
    return observe(k, view, top(k));
  }
  // A status never says more than was seen: until the list comes, the last word stands.
  return idle(k, view, "Available", {
    ready: readiness(
      k,
      view,
      lastReady(k) ??
        unknown("ProviderUnavailable", "The database has not been read since the operator started"),
    ),
    synced: unreadable(k, view) ??
      { status: last.status, reason: last.reason as Reason, message: last.message },
  });
}

const IN_STEP = "The database is as the spec asks";
const PROTECTED_HERE =
  "its deletion protection is kept by the operator alone, as the provider does not support it";

function failed(k: Knowledge, view: View, database: ExternalState): Decision {
  const id = quote(database.id);
  if (everAvailable(k)) {
    const verdict = no(
      "DatabaseFailed",
      `The provider says that the database ${id} has failed; it holds data and is not replaced: repair it at the provider`,
    );
    return idle(k, view, "Drifted", { ready: verdict, synced: verdict });
  }
  const { status, metadata } = k.object;
  const failures = status?.provisioningFailures ?? 0;
  const last = failures + 1 >= MAX_PROVISIONING_FAILURES;
  const next = last
    ? "look for the cause at the provider, then edit the spec or annotate db.my.domain/reconcile for one more try"
    : "it is removed and another is created";
  const verdict = no(
    "ProvisioningFailed",
    `Provisioning of the database ${id} failed (${failures + 1} in a row); ${next}`,
  );
  // A person who edits the spec or asks for it gets one more try.
  const stirred = reconcileDue(k.object) || status?.observedGeneration !== metadata.generation;
  const begun = status?.removing === database.id; // said so already, which also acknowledged the asking
  if (last && !stirred && !begun) {
    return idle(k, view, "Creating", { ready: verdict, synced: verdict });
  }
  // Said before it is sent, as with every removal: a restart must not take it for a loss (rule 12).
  if (!begun) {
    return { state: "Creating", step: "report", removing: database.id, ready: verdict, synced: verdict };
  }
  return { state: "Creating", step: "discard", database, ready: verdict, synced: verdict };
}

function serving(k: Knowledge, view: View, database: ExternalState): Decision {
  if (database.unknownState) {
    const verdict = unknown(
      "Unreadable",
      `The provider says that the database ${quote(database.id)} is ${
        quote(database.providerState)
      }, a state that is not known here; nothing is changed until it is another`,
    );
    return poll(k, view, everAvailable(k) ? "Drifted" : "Creating", { ready: verdict, synced: verdict });
  }
  const drift = driftOf(k.object.spec, database);
  const ready = readiness(k, view, no("Creating", "The provider gives no endpoint yet"));
  const changes = describeChange(drift.change, database);
  // What is pending may wait for a window of the provider's: no reason to keep the rest from it (L1).
  if (database.state === "Modifying" || drift.pending && isEmpty(drift.change)) {
    if (isEmpty(drift.change) && !drift.pending && k.object.status?.state === "Available") {
      // The provider's own upkeep: in step all the while, so nothing is written; only looked at more often.
      return poll(k, view, "Available", { ready, synced: inStep(k, view) });
    }
    return poll(k, view, "Drifted", {
      ready,
      synced: no("Updating", "The provider is changing the database"),
    });
  }
  if (isEmpty(drift.change)) return settled(k, view, drift, database);
  if (policiesOf(k.object).drift === "Report") {
    return idle(k, view, "Drifted", {
      ready,
      synced: no(
        "DriftReported",
        `Not repaired, as driftPolicy is Report: ${[changes, ...drift.irreparable].join("; ")}; set ` +
          "spec.driftPolicy to Repair, or edit the spec",
      ),
    });
  }
  const repair = permitted(k, view, drift.change);
  if (isEmpty(repair.change)) {
    return idle(k, view, "Drifted", {
      ready,
      synced: no(
        "DriftNotRepairable",
        `The provider accepted the change three times without effect: ${changes}; it is sent again after ` +
          "4 hours, or at once on an edit of the spec or db.my.domain/reconcile",
      ),
    }, repair.againMs);
  }
  const synced = no("Updating", `Changing ${describeChange(repair.change, database)}`);
  const bound = view.provider?.effectBoundMs ?? 0;
  if (k.modifyUnknownSince !== undefined && view.now < k.modifyUnknownSince + bound) {
    // One mutation in flight per database (rule 8); why the last one may have to be sent again is told meanwhile (F2).
    const told = k.failures.modify === undefined ? synced : failureVerdict(k.failures.modify);
    const since = k.transitionalSince ?? k.modifyUnknownSince;
    return poll({ ...k, transitionalSince: since }, view, "Drifted", { ready, synced: told });
  }
  return { state: "Drifted", step: "modify", change: repair.change, database, ready, synced };
}

function settled(k: Knowledge, view: View, drift: Drift, database: ExternalState): Decision {
  const otherwise = no("Creating", "The provider gives no endpoint yet");
  const ready = readiness(k, view, otherwise);
  if (drift.irreparable.length > 0) {
    const reason = drift.engine ? "ImmutableFieldChanged" : "DriftNotRepairable";
    return idle(k, view, "Drifted", {
      ready,
      synced: no(
        reason,
        `Cannot be repaired: ${drift.irreparable.join("; ")}; edit the spec to what is there`,
      ),
    });
  }
  if (database.endpoint === undefined) return poll(k, view, "Creating", { ready, synced: otherwise });
  return idle(k, view, "Available", { ready, synced: inStep(k, view) });
}

/** `Synced` of a database in step: true, unless it cannot be read (C5) or is not the only one (S1). */
export function inStep(k: Knowledge, view: View): Decision["synced"] {
  const bad = unreadable(k, view);
  if (bad !== undefined) return bad;
  if (isUnread(k, view)) return UNREAD; // not in step for all that anybody knows, though no list has failed yet
  const named = otherNamed(k.object);
  if (named !== undefined) {
    const has = quote(k.object.status?.providerId ?? "");
    return no(
      "Conflict",
      `spec.providerId names the database ${quote(named)}, but this resource has ${has} already; remove ` +
        `spec.providerId or set it to ${has}, and adopt the other one by another resource`,
    );
  }
  if (k.duplicates.length > 0) {
    return no(
      "Duplicate",
      `More databases carry this resource's UID: ${k.duplicates.map(quote).join(", ")}; the one in ` +
        "status.providerId is kept: compare them, and remove the others at the provider",
    );
  }
  const alone = k.object.spec.deletionProtection === true &&
    presentDatabase(k)?.deletionProtection === undefined;
  return { status: "True", reason: "Available", message: alone ? `${IN_STEP}; ${PROTECTED_HERE}` : IN_STEP };
}

function unreadable(k: Knowledge, view: View): Decision["synced"] | undefined {
  if (k.unreadable === undefined) return undefined;
  // One that reads by itself does not hang on the list (rule 11).
  const own = pollMs(k, view);
  if (own < view.pollMs && k.failures.observe === undefined && view.now - k.lastReadAt < 2 * own) {
    return undefined;
  }
  const { errorClass, message } = k.unreadable;
  const reason = errorClass === "throttled"
    ? "Throttled"
    : errorClass === "unauthorised"
    ? "Unauthorised"
    : "Unreadable";
  return unknown(reason, `The provider cannot be read: ${normalise(message)}`);
}

/** Reads the recorded database now. */
export function observe(k: Knowledge, view: View, state: TopState): Decision {
  const verdict = unknown("Pending", "Reading the database");
  return { state, step: "observe", ready: readiness(k, view, verdict), synced: verdict };
}

/** Reads a transitional state by its own, growing interval (design.md 4). */
export function poll(
  k: Knowledge,
  view: View,
  state: TopState,
  said: Pick<Decision, "ready" | "synced">,
): Decision {
  const age = view.now - (k.observation?.sentAt ?? Number.NEGATIVE_INFINITY);
  const every = transitionalPollMs(k, view);
  return age >= every
    ? { state, ...said, step: "observe" }
    : { state, ...said, step: "wait", waitMs: every - age };
}

/**
 * Nothing to do: the next list brings news. A poll interval shorter than the list's reads by itself (rule 11), and
 * silence is noticed after three periods.
 */
export function idle(
  k: Knowledge,
  view: View,
  state: TopState,
  said: Pick<Decision, "ready" | "synced">,
  againMs?: number,
): Decision {
  const own = pollMs(k, view);
  const age = view.now - k.lastReadAt;
  if (own < view.pollMs) {
    const failing = k.failures.observe !== undefined;
    if (age >= own || failing) return { state, ...said, step: "observe" };
  }
  const waits = [staleIn(k, view), own < view.pollMs ? own - age : undefined, againMs];
  const waitMs = waits.reduce((a, b) => a === undefined ? b : b === undefined ? a : Math.min(a, b));
  return { state, ...said, step: "idle", waitMs };
}

/** Milliseconds until nothing was read for three periods, or `undefined` when that is so already. */
function staleIn(k: Knowledge, view: View): number | undefined {
  return isUnread(k, view) ? undefined : UNREAD_PERIODS * pollMs(k, view) - (view.now - k.lastReadAt);
}

/** The top-level state to read from: where the CR says it was. */
export function top(k: Knowledge): TopState {
  const state = k.object.status?.state;
  return state === "Creating" || state === "Drifted" ? state : "Available";
}
