/**
 * Decisions for a CR that manages now, and whose recorded database was only observed before.
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import { adoptOnceSettled } from "./decide_creation.ts";
import { quote } from "./drift.ts";
import { ownFound, settledAt, specOf } from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { recordFound } from "./record_found.ts";
import { no } from "./verdicts.ts";
import type { View } from "./view.ts";

/**
 * The database is adopted as one that the spec names is (rule 18), once no earlier create can bring another. `undefined`
 * where it is none of that kind.
 */
export function decideUnadopted(k: Knowledge, view: View, stray: ExternalState): Decision | undefined {
  const { object } = k;
  if (object.status?.observeOnly !== true || specOf(object).providerId !== stray.id) return undefined;
  const own = ownFound(k, view).find((d) => d.state !== "Deleting" && d.id !== stray.id);
  if (own !== undefined && k.lookup !== undefined && k.lookup.sentAt >= (k.observation?.sentAt ?? 0)) {
    const verdict = no("Creating", `The database ${quote(own.id)} was found by its tags`);
    return recordFound(k, view, own, { state: "Drifted", ready: verdict, synced: verdict });
  }
  return adoptOnceSettled(k, view, stray.id);
}

/** Whether a deletion leaves `stray` as it is: only ever observed, and no earlier create can bring anything any more. */
export function isLeftAlone(k: Knowledge, view: View): boolean {
  return k.object.status?.observeOnly === true && k.lookup !== undefined &&
    k.lookup.sentAt >= settledAt(k, view) && ownFound(k, view).length === 0;
}
