/**
 * The running operator as the HTTP API reads it.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { History } from "../operator/history/history.ts";
import { historyOf } from "../operator/history/words.ts";
import type { Operator } from "../operator/operator.ts";
import type { ProviderSite } from "../operator/site.ts";
import type { Phase } from "../operator/tenure.ts";
import type { AccountSummary, DatabaseDetail, HistoryAnswer } from "../server/api/types.ts";
import type { FleetView, FleetWhole } from "../server/api/view.ts";
import type { FleetRow } from "../server/fleet.ts";
import { detailOf } from "./fleet_detail.ts";
import { fleetRows, orphanRows, toRow, wallTime } from "./fleet_rows.ts";

/** What {@linkcode fleetView} reads. */
export interface FleetViewOptions {
  readonly operator: Operator;
  readonly history: History;
  readonly clock: Clock;
  readonly phase: () => Phase;
}

/** The view of an operator. */
export function fleetView({ operator, history, clock, phase }: FleetViewOptions): FleetView {
  const keeper = (uid: string) => operator.supervisor.keeper(uid);
  const historyAnswer = (uid: string): HistoryAnswer | undefined => {
    const log = history.of(uid);
    return log && historyOf(log);
  };
  return {
    rows: () => fleetRows(operator, clock),
    row(uid): FleetRow | undefined {
      const found = keeper(uid);
      return found && toRow(found, clock);
    },
    find(namespace, name) {
      for (const { object: { metadata } } of operator.supervisor.keepers) {
        if (metadata.name === name && metadata.namespace === namespace) return metadata.uid;
      }
      return undefined;
    },
    detail(uid): DatabaseDetail | undefined {
      const found = keeper(uid);
      if (found === undefined) return undefined;
      const { namespace, name } = found.object.metadata;
      return detailOf(found, historyAnswer(uid) ?? { namespace, name, uid, dropped: 0, entries: [] }, clock);
    },
    history: historyAnswer,
    lastGone(namespace, name) {
      const log = history.lastGone(namespace, name);
      return log && historyOf(log);
    },
    whole(): FleetWhole {
      const { slot } = history;
      return {
        phase: phaseOf(phase(), operator),
        orphans: operator.orphans.orphans.length,
        accounts: [...operator.sites()].filter((site) => site.gateway.name !== "none").map((site) =>
          accountOf(site, history, clock)
        ),
        configurations: history.configurations(),
        flow: [...history.edges()].map((edge) => ({
          from: edge.from,
          to: edge.to,
          total: edge.total,
          lastMinute: edge.lastMinute(slot),
        })),
      };
    },
    orphans: () => orphanRows(operator),
    listen: (listener) => history.listen(listener),
  };
}

function phaseOf(phase: Phase, operator: Operator): FleetWhole["phase"] {
  if (phase !== "working") return phase;
  return operator.reflector.synced ? "leading" : "starting";
}

function accountOf(site: ProviderSite, history: History, clock: Clock): AccountSummary {
  const { scheduler, gateway, account, observer, name } = site;
  const tally = history.tally(name);
  const now = clock.monotonic();
  return {
    class: name,
    provider: gateway.name,
    identity: account.info?.account,
    queue: scheduler.queue,
    running: scheduler.running,
    concurrency: scheduler.concurrency,
    ratePerSecond: scheduler.ratePerSecond,
    callsLastMinute: tally.calls(),
    failuresLastMinute: tally.failures(),
    pausedUntil: scheduler.pausedUntil > now ? wallTime(scheduler.pausedUntil, clock) : undefined,
    lastListAt: observer.roundAt === Number.NEGATIVE_INFINITY ? undefined : wallTime(observer.roundAt, clock),
  };
}
