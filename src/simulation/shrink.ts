/**
 * Makes a plan smaller as long as the same oracle still fails: fewer deeds, fewer deaths, fewer kinds of faults.
 *
 * @module
 */
import { KIND_CLUSTER, type KubeFaults } from "./kube_port.ts";
import type { Plan } from "./plan.ts";
import { runAndCompare } from "./compare.ts";
import type { RunOptions } from "./run.ts";

/** Runs that a shrink may take. */
const MAX_RUNS = 600;

/** The smallest plan found that fails the same oracle as `plan` does. */
export async function shrink(plan: Plan, oracle: string, options: RunOptions = {}): Promise<Plan> {
  let best = plan;
  let runs = 0;
  const tryPlan = async (candidate: Plan): Promise<boolean> => {
    if (runs >= MAX_RUNS) return false;
    runs++;
    const { violation } = await runAndCompare(candidate, { ...options, trace: false, digest: false });
    if (violation?.oracle !== oracle) return false;
    best = candidate;
    return true;
  };
  let before: Plan | undefined;
  while (before !== best && runs < MAX_RUNS) {
    before = best;
    await dropActions(() => best, tryPlan);
    for (const candidate of simplerWorlds(best)) await tryPlan({ ...best, ...candidate(best) });
  }
  return best;
}

async function dropActions(best: () => Plan, tryPlan: (plan: Plan) => Promise<boolean>): Promise<void> {
  for (
    let size = Math.ceil(best().actions.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let i = 0; i < best().actions.length;) {
      const actions = best().actions.filter((_, n) => n < i || n >= i + size);
      if (!await tryPlan({ ...best(), actions })) i += size;
    }
  }
}

type Simpler = (plan: Plan) => Partial<Plan>;

function simplerWorlds(plan: Plan): Simpler[] {
  const simpler: Simpler[] = [];
  if (plan.replicas === 2) simpler.push(() => ({ replicas: 1 }));
  if (plan.dooms.length > 0) simpler.push(() => ({ dooms: [] }));
  plan.dooms.forEach((doom, i) => {
    if (doom !== null) simpler.push((p) => ({ dooms: p.dooms.map((d, n) => n === i ? null : d) }));
  });
  for (const key of Object.keys(plan.kube) as (keyof KubeFaults)[]) {
    if (plan.kube[key] !== KIND_CLUSTER[key]) {
      simpler.push((p) => ({ kube: { ...p.kube, [key]: KIND_CLUSTER[key] } }));
    }
  }
  for (const key of CLOUD_FAULTS) {
    if (plan.cloud[key] !== 0) simpler.push((p) => ({ cloud: { ...p.cloud, [key]: 0 } }));
  }
  if (plan.concurrency !== 64) simpler.push(() => ({ concurrency: 64 }));
  const last = plan.actions.at(-1)?.at ?? 0;
  if (plan.chaosMs > last + 60_000) simpler.push(() => ({ chaosMs: last + 60_000 }));
  return simpler;
}

const CLOUD_FAULTS = [
  "loseAnswers",
  "failBefore",
  "failAfter",
  "lateEffects",
  "provisionFailures",
  "autogrowAfterMs",
  "minorUpgradeAfterMs",
  "ratePerSecond",
  "tokenMemoryMs",
  "readLagMs",
] as const;
