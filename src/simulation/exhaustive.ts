/**
 * Every crash point of short scripts with one resource: each call × before, after and at its answer × one other fault ×
 * client tokens × read lag.
 *
 * @module
 */
import { KIND_CLUSTER } from "./kube_port.ts";
import type { Action, Plan } from "./plan.ts";
import type { Doom } from "./process.ts";
import { runPlan } from "./run.ts";

const SPEC = { engine: "postgres", version: "14.2", sizeGb: 20 };
const create = (at: number): Action => ({ at, do: "create", name: "a", spec: SPEC });
const grow = (at: number): Action => ({ at, do: "edit", name: "a", change: { sizeGb: 40 } });
const remove = (at: number): Action => ({ at, do: "delete", name: "a" });
const retain: Action = { at: 1, do: "edit", name: "a", change: { deletionPolicy: "Retain" } };

/** The scripts, by name. Times in milliseconds; a database takes 500 to become available. */
export const SCRIPTS: Readonly<Record<string, readonly Action[]>> = {
  "create": [create(0)],
  "create, edited at once": [create(0), grow(60)],
  "create, edited when available": [create(0), grow(3_000)],
  "create, deleted at once": [create(0), remove(60)],
  "create, deleted while provisioning": [create(0), remove(300)],
  "create, deleted when available": [create(0), remove(3_000)],
  "create, deleted, made again": [create(0), remove(3_000), create(20_000)],
  "create, retained and deleted": [create(0), retain, remove(3_000)],
  "create, lost at the cloud": [create(0), { at: 3_000, do: "vanish", nth: 0 }],
};

/** Faults beside the crash, by name. */
const FAULTS: Readonly<Record<string, (plan: Plan) => Plan>> = {
  "none": (p) => p,
  "answers lost": (p) => ({ ...p, cloud: { ...p.cloud, loseAnswers: 0.5 } }),
  "late effects": (p) => ({ ...p, cloud: { ...p.cloud, lateEffects: 1 } }),
  "stale lists": (p) => ({ ...p, kube: { ...p.kube, staleList: 1, staleMs: 3_000 } }),
  "late events": (p) => ({ ...p, kube: { ...p.kube, watchLagMs: 3_000 } }),
  "cluster answers lost": (p) => ({ ...p, kube: { ...p.kube, failAfter: 0.4 } }),
};

const WHENS: readonly Doom["when"][] = ["before", "sent", "answered"];

/** One schedule. */
export interface Schedule {
  readonly name: string;
  readonly plan: Plan;
}

/** All schedules; the calls of each script are counted by a run without a crash. */
export async function* schedules(): AsyncGenerator<Schedule> {
  for (const [script, actions] of Object.entries(SCRIPTS)) {
    for (const clientTokens of [true, false]) {
      for (const readLagMs of [0, 2_000]) {
        for (const [fault, change] of Object.entries(FAULTS)) {
          const plan = change(basePlan(actions, clientTokens, readLagMs));
          const name = `${script}; ${clientTokens ? "tokens" : "no tokens"}; lag ${readLagMs} ms; ${fault}`;
          yield { name, plan };
          const { calls } = await runPlan(plan);
          for (let call = 0; call < calls; call++) {
            for (const when of WHENS) {
              yield {
                name: `${name}; dies ${when} call ${call}`,
                plan: { ...plan, dooms: [{ call, when }] },
              };
            }
          }
        }
      }
    }
  }
}

function basePlan(actions: readonly Action[], clientTokens: boolean, readLagMs: number): Plan {
  return {
    seed: 1,
    replicas: 1,
    pollMs: 30_000,
    hibernateAfterMs: 600_000,
    concurrency: 64,
    pageSize: 500,
    cloud: {
      clientTokens,
      readLagMs,
      tokenMemoryMs: 3_000,
      effectBoundMs: 3_000,
      latencyMs: 40,
      provisionMs: 500,
      modifyMs: 300,
      deleteMs: 300,
    },
    kube: { ...KIND_CLUSTER },
    chaosMs: 30_000,
    restartMs: 200,
    dooms: [],
    actions,
  };
}
