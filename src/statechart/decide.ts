/**
 * The operator's mind: one pure function from what is known to the one next thing to do.
 *
 * `decide` reads nothing but its arguments. It is called in every `deciding` state of the machine, and names the
 * top-level state, the step (an effect or a rest) and what the conditions say meanwhile.
 *
 * @module
 */
import { boundReadiness, heedBinding } from "./decide_binding.ts";
import { classVerdict, heedClass, inheriting, isRotatedSince, mayBegin, notAllowed } from "./class_view.ts";
import { decideCreation } from "./decide_creation.ts";
import { decideDeletion } from "./decide_deletion.ts";
import { decideObserved } from "./decide_observed.ts";
import { decideObserveOnly } from "./decide_observe_only.ts";
import { type Decision, isEffect, type Verdict } from "./decision.ts";
import {
  accountDiffers,
  incarnationOf,
  isObserveOnly,
  isReadDue,
  MAX_INT32,
  ownership,
  pollMs,
  presentDatabase,
  specOf,
  specProblem,
  unrecordedDatabase,
} from "./facts.ts";
import type { Knowledge } from "./knowledge.ts";
import { hasFinalizer, isNew } from "./resource.ts";
import { statusChange, statusDiffers, statusOf } from "./status.ts";
import {
  failureVerdict,
  listedReadiness,
  no,
  normalise,
  readiness,
  silenceReason,
  unknown,
} from "./verdicts.ts";
import type { View } from "./view.ts";
import { quote } from "./drift.ts";
import { vanished, withoutResource } from "./vanished.ts";
import type { TopState } from "./vocabulary.ts";

/** The next thing to do. A failed effect is not tried again before its time, and a rest first says what it is about. */
export function decide(known: Knowledge, view: View): Decision {
  const k = inheriting(known, view);
  const lost = vanished(k);
  if (lost !== undefined) {
    // What no longer carries its UID is not touched, and there is no resource left to say so on (S3).
    const made = presentDatabase(lost);
    if (made !== undefined && ownership(lost, made, view) !== "ours") return end(lost);
    return withoutResource(heedFailure(lost, view, plan(lost, view)), end(lost));
  }
  const next = withinLimits(k, plan(k, view));
  const planned = heedFailure(k, view, next);
  if (isEffect(planned.step) || planned.step === "end" || planned.quiet) return planned;
  // Rule 6: nothing is written before the id; and the write that records it will say all there is to say.
  if (next.step === "record" || !mustReport(k, planned)) return planned;
  // A status write that failed is tried again in its time; meanwhile the rest goes on as it would.
  const left = (k.failures.report?.until ?? view.now) - view.now;
  if (left > 0) return { ...planned, waitMs: Math.min(planned.waitMs ?? left, left) };
  return { ...planned, step: "report" };
}

/** A number that is at its end leaves no other incarnation: said, rather than refused by the API server again and again. */
function withinLimits(k: Knowledge, planned: Decision): Decision {
  if (planned.step !== "reincarnate" || incarnationOf(k.object) < MAX_INT32) return planned;
  const verdict = no(
    "ProvisioningFailed",
    `No other database can be created for this resource, as status.incarnation is at its limit of ${MAX_INT32}; ` +
      "delete the resource and apply it again",
  );
  return { state: planned.state, step: "idle", ready: verdict, synced: verdict };
}

/** The next thing to do, failures and reports apart. */
export function plan(k: Knowledge, view: View): Decision {
  if (k.gone) return end(k);
  const { object } = k;
  if (object.metadata.deletionTimestamp !== undefined) return decideDeletion(k, view);
  const problem = specProblem(object);
  // Rule 1: a finalizer that was stripped is put back before anything else, whatever else is the matter.
  // One that only observes needs none, but keeps the one that it has.
  const observes = isObserveOnly(object);
  if (!observes && !hasFinalizer(object) && !isNew(object) && mayBegin(object, view)) {
    return finalize(k, view);
  }
  // Rule 6: an id is recorded before anything else, a pause too; a dying one starts over when that is over.
  const created = hasFinalizer(object) ? unrecordedDatabase(k) : undefined;
  const held = problem !== undefined || specOf(object).paused === true;
  if (created !== undefined && (!held || created.state !== "Deleting")) {
    return recordOrStartOver(k, view, created);
  }
  if (problem !== undefined) {
    return holding(k, view, no("InvalidSpec", `${problem}; edit the resource to mend it`));
  }
  if (specOf(object).paused) {
    const verdict = no(
      "Paused",
      "Paused by spec.paused: nothing is changed at the provider until it is false",
    );
    return holding(k, view, verdict);
  }
  const classless = classVerdict(object, view);
  if (classless !== undefined) {
    const ready = boundReadiness(k, view, readiness(k, view, classless), classless);
    return { ...resting(k), step: "idle", ready, synced: classless, quiet: view.class?.unheard };
  }
  if (!observes && isNew(object)) {
    const barred = notAllowed(object, view);
    return barred === undefined ? finalize(k, view) : holding(k, view, no("NotAllowed", barred));
  }
  if (view.provider === undefined) {
    const verdict = unknown(
      silenceReason(view),
      `The provider cannot be used yet: ${normalise(view.providerError ?? "no answer so far")}`,
    );
    const quiet = view.providerError === undefined; // asked a moment ago: a restart alone is no news (S5)
    return {
      ...resting(k),
      step: "idle",
      ready: boundReadiness(k, view, readiness(k, view, verdict), verdict),
      synced: verdict,
      quiet,
    };
  }
  if (accountDiffers(k, view)) {
    const verdict = no(
      "Conflict",
      `The credentials belong to account ${quote(view.provider.account ?? "")}, the database to ${
        quote(k.account ?? "")
      }; nothing is changed until they agree`,
    );
    return {
      ...resting(k),
      step: "wait",
      waitMs: 30_000,
      ready: boundReadiness(k, view, readiness(k, view, verdict, Math.max(pollMs(k, view), view.pollMs))),
      synced: verdict,
    };
  }
  if (observes) return decideObserveOnly(k, view);
  const next = object.status?.providerId === undefined ? decideCreation(k, view) : decideObserved(k, view);
  return heedBinding(k, view, heedClass(k, view, next));
}

/** Rule 6: the id of a created database is recorded before anything else; a dying one starts over (rule 7). */
function recordOrStartOver(
  k: Knowledge,
  view: View,
  database: NonNullable<ReturnType<typeof presentDatabase>>,
): Decision {
  const verdict = no("Creating", `The database ${quote(database.id)} is being created`);
  const said = { state: "Creating" as const, ready: readiness(k, view, verdict), synced: verdict };
  if (database.state === "Deleting") return { ...said, step: "reincarnate" };
  if (ownership(k, database, view) === "otherCluster") {
    const conflict = no(
      "Conflict",
      `The database ${
        quote(database.id)
      } carries another cluster's identity and is not touched; if this is that ` +
        "cluster, start the operator with its --cluster-id",
    );
    return { state: "Pending", step: "idle", ready: conflict, synced: conflict };
  }
  return { ...said, step: "record", database };
}

function finalize(k: Knowledge, view: View): Decision {
  const verdict = unknown("Pending", "The resource was accepted and is about to be handled");
  return { state: "Pending", step: "finalize", ready: readiness(k, view, verdict), synced: verdict };
}

function end(k: Knowledge): Decision {
  const verdict = unknown("Deleting", "The resource is gone");
  return { state: "Finalized", step: "end", ready: verdict, synced: verdict, database: presentDatabase(k) };
}

/** Changes nothing until a person acts; yet what a list missed is read, so that `Ready` never speaks of a database that is gone. */
function holding(k: Knowledge, view: View, verdict: Verdict): Decision {
  const step = isReadDue(k) ? "observe" : "idle";
  return {
    ...resting(k),
    step,
    ready: boundReadiness(k, view, listedReadiness(k, view, verdict), verdict),
    synced: verdict,
  };
}

/** The state to rest in while nothing can be done: where the CR says it was. */
function resting(k: Knowledge): { readonly state: TopState } {
  const { status } = k.object;
  if (status?.providerId === undefined) return { state: "Pending" };
  const state = status.state;
  return { state: state === "Creating" || state === "Drifted" ? state : "Available" };
}

function heedFailure(k: Knowledge, view: View, planned: Decision): Decision {
  if (!isEffect(planned.step)) return planned;
  const failure = k.failures[planned.step];
  if (failure === undefined || view.now >= failure.until) return planned;
  if (failure.errorClass === "unauthorised" && isRotatedSince(failure, view)) return planned; // F5: used at once
  const verdict = failureVerdict(failure);
  return {
    ...planned,
    step: "backOff",
    waitMs: failure.until - view.now,
    ready: planned.state === "Deleting" ? verdict : boundReadiness(k, view, readiness(k, view, verdict)),
    synced: verdict,
  };
}

/** Whether a rest has something new to say. A write that changed nothing of what it was to change is never repeated. */
export function mustReport(k: Knowledge, rest: Decision): boolean {
  const { object, reported } = k;
  const status = statusOf(k, rest);
  if (!statusDiffers(object.status, status)) return false;
  return reported === undefined || reported.resourceVersion !== object.metadata.resourceVersion ||
    reported.text !== statusChange(object.status, status);
}
