/**
 * Draws what becomes of databases under the policies of their specs: final snapshots, protection, and resources that only
 * observe. In some worlds, by dice of its own: the rest of a seed's plan, and all of the other worlds, stay as they were.
 *
 * @module
 */
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import type { Action, Deed, Plan } from "./plan.ts";
import { Dice } from "./random.ts";

/** Worlds in which policies are drawn. */
const SHARE = 0.3;

/** The plan with policies in it. */
export function drawPolicies(plan: Plan, names: readonly string[]): Plan {
  const dice = new Dice(plan.seed, "policies");
  if (!dice.chance(SHARE)) return plan;
  const own = [..."uvwxyz"].slice(0, dice.int(1, 6));
  const actions: Action[] = [];
  const at = () => dice.int(0, plan.chaosMs);
  for (const name of own) {
    const observes = dice.chance(0.4);
    const deed: Deed = observes
      ? { do: "observe", name, nth: dice.int(0, 9), spec: drawSpec(dice) }
      : { do: "create", name, spec: { ...drawSpec(dice), ...drawPolicy(dice) } };
    actions.push({ at: dice.int(0, Math.floor(plan.chaosMs / 2)), ...deed });
    if (dice.chance(0.6)) actions.push({ at: at(), do: "delete", name });
    if (dice.chance(0.3)) actions.push({ at: at(), ...deed });
  }
  for (let n = dice.int(0, 3 * own.length); n > 0; n--) {
    const name = dice.pick(dice.chance(0.8) ? own : names);
    actions.push({ at: at(), ...drawDeed(dice, name) });
  }
  return {
    ...plan,
    cloud: {
      ...plan.cloud,
      protectable: dice.chance(0.5),
      // One that does not describe itself would be asked for what it never takes, every ten minutes without end (rule 17).
      snapshots: dice.chance(0.85) || plan.cloud.describesItself === false,
      snapshotFailures: dice.chance(0.4) ? dice.between(0.05, 0.6) : 0,
    },
    actions: [...plan.actions, ...actions].sort((a, b) => a.at - b.at),
  };
}

function drawSpec(dice: Dice): ExternalDatabaseSpec {
  return { engine: "postgres", version: dice.pick(["14", "14.2", "15"]), sizeGb: dice.pick([10, 20]) };
}

function drawPolicy(dice: Dice): Partial<ExternalDatabaseSpec> {
  return {
    ...(dice.chance(0.7) ? { deletionPolicy: "Snapshot" } : {}),
    ...(dice.chance(0.3) ? { deletionProtection: dice.chance(0.7) } : {}),
  };
}

function drawDeed(dice: Dice, name: string): Deed {
  switch (dice.weighted({ observe: 3, full: 3, policy: 3, protection: 3, size: 2, delete: 2 })) {
    case "observe":
      return { do: "manage", name, policy: "ObserveOnly" };
    case "full":
      return { do: "manage", name, policy: "Full" };
    case "policy":
      return {
        do: "edit",
        name,
        change: { deletionPolicy: dice.pick(["Snapshot", "Snapshot", "Delete", "Retain"]) },
      };
    case "protection":
      return { do: "edit", name, change: { deletionProtection: dice.pick([true, false, false]) } };
    case "size":
      return { do: "edit", name, change: { sizeGb: dice.pick([20, 40]) } };
    case "delete":
      return { do: "delete", name };
  }
}
