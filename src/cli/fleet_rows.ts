/**
 * The fleet as the page shows it, from the running actors.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Keeper } from "../operator/keeper.ts";
import { TAG } from "../api/constants.ts";
import type { Database } from "../providers/port.ts";
import type { FleetRow, OrphanRow } from "../server/fleet.ts";

/** The part of an operator that the rows are made from. */
export interface FleetSource {
  readonly supervisor: { readonly keepers: Iterable<Pick<Keeper, "object" | "snapshot" | "hibernating">> };
}

/** One row for each live CR. */
export function fleetRows(operator: FleetSource, clock: Clock): FleetRow[] {
  const rows: FleetRow[] = [];
  for (const keeper of operator.supervisor.keepers) rows.push(toRow(keeper, clock));
  return rows;
}

function toRow(
  { object, snapshot, hibernating }: Pick<Keeper, "object" | "snapshot" | "hibernating">,
  clock: Clock,
): FleetRow {
  const { metadata, spec, status } = object;
  const written = status?.conditions?.find((condition) => condition.type === "Ready");
  const now = snapshot?.context.decision.ready;
  // What the actor knows is newer than what was written; before its first decision says something there is only that.
  const ready = now && now.message !== "" ? now : written;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    engine: text(spec?.engine),
    version: text(spec?.version),
    sizeGb: typeof spec?.sizeGb === "number" ? spec.sizeGb : 0,
    state: snapshot?.context.decision.state ?? status?.state ?? "Pending",
    detail: hibernating ? "asleep" : snapshot && stateText(snapshot.value),
    ready: ready?.status ?? "Unknown",
    reason: ready?.reason ?? "Pending",
    message: ready?.message ?? "",
    endpoint: status?.endpoint,
    providerId: status?.providerId,
    createdAt: metadata.creationTimestamp,
    nextTryAt: nextTry(
      snapshot?.context.rest === undefined
        ? Object.values(snapshot?.context.knowledge.failures ?? {}).map(({ until }) => until)
        : [snapshot.context.rest.until],
      clock,
    ),
  };
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

/** `{ Available: "idle" }` → `Available.idle`. */
function stateText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value).map(([key, inner]) => `${key}.${stateText(inner)}`).join(", ");
}

/** The first of the tries to come, from monotonic to wall time. */
function nextTry(untils: readonly number[], clock: Clock): string | undefined {
  const now = clock.monotonic();
  const coming = untils.filter((until) => until > now);
  return coming.length === 0 ? undefined : new Date(clock.now() + Math.min(...coming) - now).toISOString();
}

/** A stored object may predate the schema: nothing of it is taken on trust. */
function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
