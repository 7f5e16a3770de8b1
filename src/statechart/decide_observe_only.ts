/**
 * Decisions for a CR that only observes (`managementPolicy: ObserveOnly`): its database is read and never changed, not
 * even by a tag.
 *
 * Such a CR is given no finalizer: there is nothing to undo, so that its end need not wait for an operator. One that was
 * Full before keeps the finalizer that it has, and gives it up when it is deleted (D4). Its database carries no tag of
 * ours, so that no list shows it: each list that misses it is the reason for one read (rule 10). An absence of it says
 * so and decides nothing else.
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import { idle, inStep, observe, poll, staleSpec, top, unobserved } from "./decide_observed.ts";
import { describeChange, driftOf, isEmpty, quote } from "./drift.ts";
import { everAvailable, isRefreshDue, mayBeShown, observedId, pollMs, presentDatabase } from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { no, readiness, unknown } from "./verdicts.ts";
import type { View } from "./view.ts";

/** Pending until the database was seen; then Creating, Available or Drifted. */
export function decideObserveOnly(k: Knowledge, view: View): Decision {
  return k.object.status?.providerId === undefined ? firstLook(k, view) : look(k, view);
}

/** The id is recorded once the database was seen: a mistaken one can be put right until then. */
function firstLook(k: Knowledge, view: View): Decision {
  const id = observedId(k.object) ?? "";
  const { observation } = k;
  const seen = observation?.kind === "present" ? observation.database.id : observation?.id;
  const everyMs = pollMs(k, view);
  const age = view.now - (observation?.sentAt ?? Number.NEGATIVE_INFINITY);
  if (observation === undefined || seen !== id || age >= everyMs || isRefreshDue(k)) {
    const verdict = unknown("Pending", `Looking at the database ${quote(id)}`);
    return { state: "Pending", step: "observe", ready: verdict, synced: verdict };
  }
  const wait = (verdict: Decision["synced"]): Decision => ({
    state: "Pending",
    step: "wait",
    waitMs: everyMs - age,
    ready: verdict,
    synced: verdict,
  });
  if (observation.kind === "absent") {
    const what = `spec.providerId names the database ${quote(id)}, which the provider does not have`;
    return wait(no("ExternalMissing", what));
  }
  const { database } = observation;
  if (!mayBeShown(k.object, database)) return wait(hidden(id));
  const verdict = no("Pending", `The database ${quote(id)} was found and is only observed`);
  return { state: "Pending", step: "record", database, ready: verdict, synced: verdict };
}

function hidden(id: string): Decision["synced"] {
  return no(
    "Conflict",
    `The database ${quote(id)} belongs to a resource of another namespace, and is not shown here`,
  );
}

function look(k: Knowledge, view: View): Decision {
  const id = k.object.status?.providerId ?? "";
  const { observation } = k;
  const sentAt = observation?.sentAt ?? Number.NEGATIVE_INFINITY;
  const unlisted = k.unlistedAt !== undefined && k.unlistedAt > sentAt;
  if (observation !== undefined && (staleSpec(k, view) || isRefreshDue(k) || unlisted)) {
    return observe(k, view, top(k));
  }
  if (observation?.kind === "absent" && observation.id === id) {
    const verdict = no(
      "ExternalMissing",
      `The provider says that the database ${
        quote(id)
      } is gone; it is only observed: restore it there, or delete ` +
        "this resource",
    );
    return idle(k, view, "Drifted", { ready: verdict, synced: verdict });
  }
  const database = presentDatabase(k);
  if (database === undefined) return unobserved(k, view);
  if (!mayBeShown(k.object, database)) {
    const verdict = hidden(id);
    return idle(k, view, "Drifted", { ready: verdict, synced: verdict });
  }
  return judged(k, view, database);
}

function judged(k: Knowledge, view: View, database: ExternalState): Decision {
  const id = quote(database.id);
  switch (database.state) {
    case "Provisioning": {
      const verdict = no("Creating", `The database ${id} is being provisioned`);
      return poll(k, view, "Creating", { ready: verdict, synced: verdict });
    }
    case "Deleting": {
      const verdict = no("ExternalMissing", `The database ${id} is being deleted at the provider`);
      return poll(k, view, "Drifted", { ready: verdict, synced: verdict });
    }
    case "Failed": {
      const verdict = no(
        "DatabaseFailed",
        `The provider says that the database ${id} has failed; repair it there`,
      );
      return idle(k, view, "Drifted", { ready: verdict, synced: verdict });
    }
  }
  if (database.unknownState) {
    const verdict = unknown(
      "Unreadable",
      `The provider says that the database ${id} is ${
        quote(database.providerState)
      }, a state that is not known here`,
    );
    return poll(k, view, everAvailable(k) ? "Drifted" : "Creating", { ready: verdict, synced: verdict });
  }
  const { change, pending, irreparable } = driftOf(k.object.spec, database);
  const otherwise = no("Creating", "The provider gives no endpoint yet");
  const ready = readiness(k, view, otherwise);
  if (pending && isEmpty(change)) {
    const synced = no("Updating", "The provider is changing the database");
    return poll(k, view, "Drifted", { ready, synced });
  }
  const differences = [describeChange(change, database), ...irreparable].filter((each) => each !== "");
  if (differences.length > 0) {
    const synced = no(
      "DriftReported",
      `Not repaired, as managementPolicy is ObserveOnly: ${differences.join("; ")}; edit the spec, or set ` +
        "spec.managementPolicy to Full",
    );
    return idle(k, view, "Drifted", { ready, synced });
  }
  if (database.endpoint === undefined) return poll(k, view, "Creating", { ready, synced: otherwise });
  const synced = inStep(k, view);
  if (synced.status !== "True") return idle(k, view, "Available", { ready, synced });
  return idle(k, view, "Available", {
    ready,
    synced: { ...synced, message: `${synced.message}, and only observed` },
  });
}
