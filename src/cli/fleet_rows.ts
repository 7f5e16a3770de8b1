/**
 * The fleet as the page shows it, from the running actors.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { Condition } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import { pathOf } from "../operator/history/route.ts";
import type { Keeper } from "../operator/keeper.ts";
import type { Database } from "../providers/port.ts";
import type { FleetRow, OrphanRow } from "../server/fleet.ts";
import { waitsForPerson } from "../statechart/attention.ts";
import type { Verdict } from "../statechart/decision.ts";
import type { Knowledge } from "../statechart/knowledge.ts";
import type { Reason } from "../statechart/vocabulary.ts";

/** The part of a keeper that is shown. */
export type ShownKeeper = Pick<Keeper, "object" | "snapshot" | "hibernating">;

/** The part of an operator that the rows are made from. */
export interface FleetSource {
  readonly supervisor: { readonly keepers: Iterable<ShownKeeper> };
}

/** One row for each live CR. */
export function fleetRows(operator: FleetSource, clock: Clock): FleetRow[] {
  const rows: FleetRow[] = [];
  for (const keeper of operator.supervisor.keepers) rows.push(toRow(keeper, clock));
  return rows;
}

/** The row of one CR. */
export function toRow(keeper: ShownKeeper, clock: Clock): FleetRow {
  const { object, snapshot, hibernating } = keeper;
  const { metadata, spec, status } = object;
  const ready = verdictOf(keeper, "Ready");
  const synced = verdictOf(keeper, "Synced");
  const attention = wantsAttention(ready, synced, snapshot?.context.knowledge);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    engine: text(spec?.engine),
    version: text(spec?.version),
    sizeGb: typeof spec?.sizeGb === "number" ? spec.sizeGb : 0,
    state: stateOf(keeper),
    detail: hibernating ? "asleep" : snapshot && pathOf(snapshot.value),
    className: textIf(spec?.className) ?? textIf(status?.className),
    ...(attention ? { attention } : {}),
    synced: synced && { status: synced.status, reason: synced.reason },
    ready: ready?.status ?? "Unknown",
    reason: ready?.reason ?? "Pending",
    message: ready?.message ?? "",
    endpoint: textIf(status?.endpoint),
    providerId: textIf(status?.providerId),
    createdAt: metadata.creationTimestamp,
    nextTryAt: nextTryAt(keeper, clock),
  };
}

/** The top-level state: what the actor is in, or what was written before its first decision. */
export function stateOf({ object, snapshot }: Pick<ShownKeeper, "object" | "snapshot">): string {
  return snapshot?.context.decision.state ?? textIf(object.status?.state) ?? "Pending";
}

const STATUSES = ["True", "False", "Unknown"] as const;

/** What a condition is to say: what the actor knows is newer than what was written; until its first decision there is only that. */
export function verdictOf(
  { object, snapshot }: Pick<ShownKeeper, "object" | "snapshot">,
  type: "Ready" | "Synced",
): Verdict | undefined {
  const now = snapshot?.context.decision[type === "Ready" ? "ready" : "synced"];
  if (now !== undefined && now.message !== "") return now;
  const written = writtenCondition(object, type);
  return written === undefined ? now : {
    status: STATUSES.find((each) => each === written.status) ?? "Unknown",
    reason: text(written.reason) as Reason,
    message: text(written.message),
  };
}

/** A condition as the resource carries it. */
export function writtenCondition(
  { status }: ShownKeeper["object"],
  type: "Ready" | "Synced",
): Condition | undefined {
  const conditions: unknown = status?.conditions;
  // A stored status may predate the schema.
  return Array.isArray(conditions)
    ? (conditions as readonly Condition[]).find((condition) => condition?.type === type)
    : undefined;
}

/** Error classes of a failure that passes by itself, whatever the reason says. */
const PASSING: ReadonlySet<string> = new Set(["retryable", "unknown", "busy", "throttled"]);
/** Reasons that say who failed, not how. */
const REFUSED: ReadonlySet<string> = new Set(["CreateFailed", "UpdateFailed", "DeleteFailed"]);

function wantsAttention(
  ready: Verdict | undefined,
  synced: Verdict | undefined,
  knowledge: Knowledge | undefined,
): boolean {
  return [ready, synced].some((verdict) =>
    verdict !== undefined && verdict.status !== "True" && waitsForPerson(verdict.reason) &&
    !(REFUSED.has(verdict.reason) && PASSING.has(knowledge?.failure?.errorClass ?? ""))
  );
}

/** When the actor does something by itself next, as wall time. */
export function nextTryAt({ snapshot }: Pick<ShownKeeper, "snapshot">, clock: Clock): string | undefined {
  if (snapshot === undefined) return undefined;
  const { rest, knowledge } = snapshot.context;
  const untils = rest === undefined
    ? Object.values(knowledge.failures).map(({ until }) => until)
    : [rest.until];
  const now = clock.monotonic();
  const coming = untils.filter((until) => until > now);
  return coming.length === 0 ? undefined : wallTime(Math.min(...coming), clock);
}

/** How far the wall clock may be off what was taken for it, in milliseconds: less is the rounding of clocks. */
const ROUNDING_MS = 50;
const OFFSETS = new WeakMap<Clock, number>();

/** A monotonic time as wall time; the same time gives the same text as long as nobody sets the clock. */
export function wallTime(monotonic: number, clock: Clock): string {
  const offset = Math.round(clock.now() - clock.monotonic());
  const known = OFFSETS.get(clock);
  if (known === undefined || Math.abs(offset - known) > ROUNDING_MS) OFFSETS.set(clock, offset);
  return new Date(Math.round(monotonic) + (OFFSETS.get(clock) ?? offset)).toISOString();
}

/** Databases whose CR is gone (S2), as the last complete list showed them. */
export function orphanRows(
  operator: { readonly orphans: { readonly orphans: readonly Database[] } },
): OrphanRow[] {
  return operator.orphans.orphans.map(({ id, tags, engine, version, sizeGb, state, createdAt }) => ({
    providerId: id,
    namespace: tags[TAG.namespace] ?? "",
    name: tags[TAG.crName] ?? "",
    uid: tags[TAG.uid] ?? "",
    engine,
    version,
    sizeGb,
    state,
    createdAt,
  }));
}

/** A stored object may predate the schema: nothing of it is taken on trust. */
function text(value: unknown): string {
  return textIf(value) ?? "";
}

function textIf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
