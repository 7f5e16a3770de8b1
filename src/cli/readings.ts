/**
 * What the metrics read of a running operator.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Keeper } from "../operator/keeper.ts";
import type { Operator } from "../operator/operator.ts";
import type { ProviderSite } from "../operator/site.ts";
import type { Phase } from "../operator/tenure.ts";
import type { AccountReading, ActorReading, Readings } from "../server/readings.ts";
import { sayingMost, waitsForPerson } from "../statechart/attention.ts";
import { stateOf, verdictOf } from "./fleet_rows.ts";

/** The operator as it is now. */
export function readOperator(
  operator: Pick<Operator, "reflector" | "supervisor" | "sites">,
  phase: Phase,
  clock: Clock,
): Readings {
  const wall = (monotonic: number) => clock.now() - (clock.monotonic() - monotonic);
  const leading = phase === "working";
  const accounts: AccountReading[] = [];
  for (const site of operator.sites()) {
    const { since } = site.observer;
    if (leading && since !== undefined) accounts.push(readAccount(site, since, wall, clock.monotonic()));
  }
  const { lastContact, synced } = operator.reflector;
  return {
    leading,
    actors: readActors(operator.supervisor.keepers, clock.now()),
    accounts,
    // One that stands by makes no contact that the reflector could tell of.
    kubernetesAt: leading ? wall(lastContact) : undefined,
    synced,
  };
}

function readAccount(
  site: ProviderSite,
  since: number,
  wall: (monotonic: number) => number,
  now: number,
): AccountReading {
  const { scheduler, observer, absences, orphans } = site;
  return {
    databaseClass: site.name,
    provider: site.gateway.name,
    queue: scheduler.queue,
    running: scheduler.running,
    throttled: scheduler.pausedUntil > now,
    throttledMs: scheduler.pausedMs,
    listedAt: wall(Math.max(observer.roundAt, since)),
    periodMs: site.periodMs,
    massAbsent: absences.held,
    orphans: orphans.orphans.length,
  };
}

function* readActors(keepers: Iterable<Keeper>, now: number): Iterable<ActorReading> {
  for (const keeper of keepers) {
    const { object: { metadata, status }, hibernating } = keeper;
    const state = stateOf(keeper);
    const reason = sayingMost(verdictOf(keeper, "Ready"), verdictOf(keeper, "Synced"))?.reason || "Pending";
    const waits = (state === "Pending" || state === "Creating") && status?.losses === undefined &&
      metadata.deletionTimestamp === undefined && reason !== "Paused" && !waitsForPerson(reason);
    const age = waits ? (now - Date.parse(metadata.creationTimestamp ?? "")) / 1_000 : NaN;
    yield { state, reason, asleep: hibernating, ...(age > 0 ? { newForSeconds: age } : {}) };
  }
}
