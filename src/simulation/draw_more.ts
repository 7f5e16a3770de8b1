/**
 * Draws the rarer troubles, by dice of their own: whatever is added here, the rest of a seed's plan stays as it was.
 *
 * Not drawn, for they cannot be: an answer that comes twice (a request has one; what is sent twice is a write, drawn as
 * `replay`), watch events out of order (an API server sends one object's in order; a watch that begins again from an
 * older version repeats some, which broken watches do here), and a create that a proxy sends twice to a cloud without
 * client tokens (nothing could tell the two apart). Answers of calls that run beside each other do overtake one another.
 * A half-open stream is a watch that falls silent.
 *
 * @module
 */
import type { CloudSettings } from "../providers/simulated/settings.ts";
import type { KubeFaults } from "./kube_port.ts";
import type { Action, Deed, Plan } from "./plan.ts";
import { Dice } from "./random.ts";

const MINUTE = 60_000;

/** The plan with the rarer troubles in it. */
export function drawMore(plan: Plan, names: readonly string[]): Plan {
  const dice = new Dice(plan.seed, "more");
  return {
    ...plan,
    kube: { ...plan.kube, ...drawKube(dice) },
    cloud: { ...plan.cloud, ...drawCloud(dice) },
    ...drawSkews(dice),
    actions: [...plan.actions, ...drawActions(dice, names, plan.chaosMs)].sort((a, b) => a.at - b.at),
  };
}

function drawKube(dice: Dice): Partial<KubeFaults> {
  const some = (p: number, max: number) => dice.chance(p) ? dice.between(0.01, max) : 0;
  return {
    late: some(0.15, 0.1),
    replay: some(0.15, 0.2),
    invalid: some(0.15, 0.2),
    expired: some(0.15, 0.3),
    retryAfterMs: dice.pick([5_000, 5_000, 2 * MINUTE]),
  };
}

function drawCloud(dice: Dice): Partial<CloudSettings> {
  return dice.chance(0.07) ? { deletionProtection: true } : {};
}

function drawSkews(dice: Dice): Partial<Plan> {
  if (!dice.chance(0.15)) return {};
  return { skews: Array.from({ length: 6 }, () => dice.chance(0.5) ? dice.int(-3_600_000, 3_600_000) : 0) };
}

function drawActions(dice: Dice, names: readonly string[], chaosMs: number): Action[] {
  const actions: Action[] = [];
  const at = () => dice.int(0, chaosMs);
  const spell = () => dice.int(500, dice.chance(0.7) ? 30_000 : 4 * MINUTE);
  const many = (p: number, max: number, deed: () => Deed) => {
    if (!dice.chance(p)) return;
    for (let n = dice.int(1, max); n > 0; n--) actions.push({ at: at(), ...deed() });
  };
  many(0.2, 3, () => ({
    do: "kubeDenied",
    verb: dice.pick(["get", "list", "watch", "patch", "patchStatus", "crdState", "lease"]),
    kind: dice.pick(["unauthorised", "forbidden"]),
    ms: spell(),
  }));
  many(0.2, 3, () => ({
    do: "cloudOutage",
    kind: dice.pick(["unauthenticated", "forbidden", "throttled"]),
    ms: spell(),
    of: dice.pick(["get", "list", "info", "create", "modify", "delete"]),
    retryAfterS: dice.pick([1, 30, 600]),
  }));
  many(0.15, 2, () => ({ do: "cloudOutage", kind: "slow", ms: spell(), of: "all" }));
  many(
    0.15,
    3,
    () => ({ do: "cloudOutage", kind: "busy", ms: spell(), of: dice.pick(["modify", "delete"]) }),
  );
  many(0.15, 3, () => ({ do: "console", nth: dice.int(0, 9), change: { kind: "full" } }));
  if (dice.chance(0.2)) {
    // Right after a create: before the finalizer, if there is luck.
    const name = dice.pick(names);
    const then = at();
    const spec = { engine: "postgres", version: "14", sizeGb: 10 };
    actions.push({ at: then, do: "create", name, spec });
    actions.push({ at: then + dice.int(1, 40), do: "crossDelete", name, ms: dice.int(100, 5_000) });
  }
  return actions;
}
