/**
 * Draws what readers came upon and no seed had shown: a person edits what a status names, and a resource takes over, with
 * consent, what another has. In some worlds, by dice of its own: the rest of a seed's plan, and all of the other worlds,
 * stay as they were.
 *
 * @module
 */
import type { Action, Plan } from "./plan.ts";
import { Dice } from "./random.ts";

/** Worlds in which they are drawn. */
const SHARE = 0.25;

/** The plan with such deeds in it. */
export function drawDoors(plan: Plan, names: readonly string[]): Plan {
  const dice = new Dice(plan.seed, "doors");
  if (!dice.chance(SHARE)) return plan;
  const actions: Action[] = [];
  const at = () => dice.int(0, plan.chaosMs);
  if (dice.chance(0.6)) {
    for (let n = dice.int(1, 2 * names.length); n > 0; n--) {
      const to = dice.pick(["former", "former", "nowhere", "next"] as const);
      actions.push({ at: at(), do: "editStatus", name: dice.pick(names), to });
    }
  }
  if (dice.chance(0.6)) {
    for (const name of [..."qrst"].slice(0, dice.int(1, 4))) {
      const spec = {
        engine: "postgres",
        version: dice.pick(["14", "14.2", "15"]),
        sizeGb: dice.pick([10, 20]),
        ...(dice.chance(0.3) ? { deletionPolicy: "Delete" as const } : {}),
      };
      actions.push({ at: at(), do: "takeOver", name, nth: dice.int(0, 9), spec });
      if (dice.chance(0.5)) actions.push({ at: at(), do: "delete", name });
    }
  }
  return { ...plan, actions: [...plan.actions, ...actions].sort((a, b) => a.at - b.at) };
}
