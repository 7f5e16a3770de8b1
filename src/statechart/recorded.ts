/**
 * The status that records a database's id (rule 6): everything that is known is said in that one write.
 *
 * @module
 */
import type { Decision } from "./decision.ts";
import { plan } from "./decide.ts";
import { TAG } from "../api/constants.ts";
import { incarnationOf, isObserveOnly, wasAdopted } from "./facts.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { statusOf, type TimelessStatus } from "./status.ts";
import type { View } from "./view.ts";

/** The status once `database` is recorded as this CR's, and the decision it speaks for. */
export function recordedStatus(
  k: Knowledge,
  database: ExternalState,
  view: View,
): { readonly status: TimelessStatus; readonly decision: Decision } {
  const { object } = k;
  const { adopted: _, observeOnly: __, ...status } = object.status ?? {};
  const recorded: Knowledge = {
    ...k,
    failure: undefined,
    observation: {
      kind: "present",
      database,
      sentAt: k.observation?.kind === "present" && k.observation.database.id === database.id
        ? k.observation.sentAt
        : view.now,
    },
    object: {
      ...object,
      status: {
        ...status,
        providerId: database.id,
        incarnation: incarnationOf(object),
        ...(view.provider?.account === undefined ? {} : { account: view.provider.account }),
        ...(wasAdopted(object, database) ? { adopted: true } : {}),
        ...(isObserveOnly(object) && database.tags[TAG.uid] !== object.metadata.uid
          ? { observeOnly: true }
          : {}),
      },
    },
  };
  const decision = plan(recorded, view);
  return { status: statusOf(recorded, decision), decision };
}
