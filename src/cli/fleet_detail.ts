/**
 * Everything about one resource, for the page and the terminal.
 *
 * @module
 */
import { isDuration } from "../api/duration.ts";
import type { Clock } from "../core/clock.ts";
import { maskUrls } from "../server/mask.ts";
import type { ConditionView, DatabaseDetail, FieldComparison, HistoryAnswer } from "../server/api/types.ts";
import { pathOf } from "../operator/history/route.ts";
import { type Compared, driftOf } from "../statechart/drift.ts";
import { policiesOf, presentDatabase, specOf, specProblem } from "../statechart/facts.ts";
import type { Knowledge } from "../statechart/knowledge.ts";
import { oneLine } from "../statechart/verdicts.ts";
import { nextTryAt, type ShownKeeper, toRow, verdictOf, wallTime, writtenCondition } from "./fleet_rows.ts";

/** One resource, whole. */
export function detailOf(keeper: ShownKeeper, history: HistoryAnswer, clock: Clock): DatabaseDetail {
  const { object, snapshot, hibernating } = keeper;
  const knowledge = snapshot?.context.knowledge;
  return {
    row: toRow(keeper, clock),
    configuration: configurationOf(snapshot?.value, hibernating, object.status?.state),
    asleep: hibernating,
    fields: fieldsOf(keeper, knowledge),
    conditions: (["Ready", "Synced"] as const).flatMap((type) => conditionOf(keeper, type)),
    generation: object.metadata.generation,
    observedGeneration: object.status?.observedGeneration,
    deletionRequestedAt: object.metadata.deletionTimestamp,
    policies: policyWords(keeper),
    nextTryAt: nextTryAt(keeper, clock),
    failures: Object.values(knowledge?.failures ?? {}).map((f) => ({
      effect: f.effect,
      errorClass: f.errorClass,
      message: oneLine(maskUrls(f.message)),
      attempts: f.attempt,
      tryAt: wallTime(f.until, clock),
    })),
    cache: cacheOf(knowledge, clock),
    history,
  };
}

/** Active states, outermost first; a sleeping actor is where it fell asleep. */
function configurationOf(value: unknown, asleep: boolean, written: unknown): readonly string[] {
  const before = typeof written === "string" ? written : ""; // what is stored may be anything
  const path = value === undefined ? (asleep ? "Available.idle" : before) : pathOf(value);
  const keys = path === "" ? [] : path.split(".");
  return keys.map((_, i) => keys.slice(0, i + 1).join("."));
}

function cacheOf(k: Knowledge | undefined, clock: Clock): DatabaseDetail["cache"] {
  const seen = k?.observation;
  if (seen === undefined) return { kind: "none" };
  return {
    kind: seen.kind,
    readAt: wallTime(seen.sentAt, clock),
    ageMs: Math.max(0, Math.round(clock.monotonic() - seen.sentAt)),
  };
}

function conditionOf(keeper: ShownKeeper, type: "Ready" | "Synced"): ConditionView[] {
  const written = writtenCondition(keeper.object, type);
  const verdict = verdictOf(keeper, type);
  if (verdict === undefined) return [];
  const message = oneLine(verdict.message);
  return [{
    type,
    status: verdict.status,
    reason: verdict.reason,
    message,
    // A condition keeps its time while its status stays.
    since: written?.status === verdict.status ? written.lastTransitionTime : undefined,
    unwritten: written?.status !== verdict.status || written.reason !== verdict.reason ||
      written.message !== message,
  }];
}

function policyWords({ object }: ShownKeeper): Record<string, string> {
  const spec = specOf(object);
  const { deletion, drift, missing } = policiesOf(object);
  const poll: unknown = spec.pollInterval;
  return {
    deletionPolicy: deletion,
    driftPolicy: drift,
    onMissing: missing,
    managementPolicy: spec.managementPolicy === "ObserveOnly" ? "ObserveOnly" : "Full",
    ...(spec.paused === true ? { paused: "true" } : {}),
    ...(spec.deletionProtection === undefined ? {} : { deletionProtection: String(spec.deletionProtection) }),
    ...(typeof poll === "string" && isDuration(poll) ? { pollInterval: poll } : {}),
  };
}

/** What is asked for beside what was seen; what was written last, where this process has seen nothing yet. */
function fieldsOf({ object }: ShownKeeper, k: Knowledge | undefined): FieldComparison[] {
  const spec: Readonly<Record<string, unknown>> = specOf(object);
  const database = k && presentDatabase(k);
  const seen: Observed = database ?? object.status?.observed ?? {};
  const differing = differences(object, seen);
  return COMPARED.flatMap((field) => {
    const wanted = spec[field];
    const observed = seen[field];
    if (wanted === undefined && observed === undefined) return [];
    return [{
      field,
      wanted: wanted === undefined ? undefined : String(wanted),
      observed: observed === undefined ? undefined : String(observed),
      verdict: observed === undefined ? "unknown" : differing.has(field) ? "differs" : "same",
    }];
  });
}

const COMPARED = ["engine", "version", "sizeGb", "deletionProtection"] as const;
type Observed = { readonly [K in keyof Compared]?: Compared[K] | undefined };

/** The fields in which a database is not as asked for: a larger disk and a newer minor version are as asked for (R2, R3). */
function differences(
  object: ShownKeeper["object"],
  { engine, version, sizeGb, deletionProtection, pending }: Observed,
): ReadonlySet<string> {
  if (
    typeof engine !== "string" || typeof version !== "string" || typeof sizeGb !== "number" ||
    specProblem(object) !== undefined
  ) return new Set();
  const drift = driftOf(object.spec, { engine, version, sizeGb, deletionProtection, pending });
  const fields = new Set<string>(Object.keys(drift.change));
  if (drift.engine) fields.add("engine");
  if (drift.newerMajor) fields.add("version");
  if (drift.pending) {
    // Accepted and not shown yet: it is not there yet.
    if (sizeGb < object.spec.sizeGb) fields.add("sizeGb");
    if (pending?.version !== undefined) fields.add("version");
  }
  return fields;
}
