/**
 * Draws connection Secrets: resources that ask for one, names that change, rotations, and what people do to Secrets by
 * hand. In some worlds, by dice of its own: the rest of a seed's plan, and all of the other worlds, stay as they were.
 *
 * @module
 */
import { ANNOTATION } from "../api/constants.ts";
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import { type Action, type Deed, type Plan, SECRET_HARMS } from "./plan.ts";
import { Dice } from "./random.ts";

/** Worlds in which Secrets are drawn. */
const SHARE = 0.3;

/** The plan with connection Secrets in it. */
export function drawBindings(plan: Plan, names: readonly string[]): Plan {
  const dice = new Dice(plan.seed, "bindings");
  if (!dice.chance(SHARE)) return plan;
  const own = [..."klmnop"].slice(0, dice.int(1, 6));
  const always = dice.chance(0.25);
  const actions: Action[] = [];
  const at = () => dice.int(0, plan.chaosMs);
  for (const name of own) {
    const adopts = dice.chance(0.15);
    const spec = { ...drawSpec(dice), ...(always && dice.chance(0.7) ? {} : drawRef(dice)) };
    const deed: Deed = adopts
      ? { do: "adopt", name, nth: dice.int(0, 9), spec }
      : { do: "create", name, spec };
    actions.push({ at: dice.int(0, Math.floor(plan.chaosMs / 2)), ...deed });
    if (dice.chance(0.3)) actions.push({ at: at(), do: "delete", name });
    if (dice.chance(0.3)) actions.push({ at: at(), ...deed });
  }
  const harmful = dice.chance(0.7);
  for (let n = dice.int(0, 4 * own.length); n > 0; n--) {
    const name = dice.pick(always && dice.chance(0.3) ? names : own);
    actions.push({ at: at(), ...drawDeed(dice, name, harmful) });
  }
  return {
    ...plan,
    cloud: { ...plan.cloud, ...(always ? { passwords: "always" as const } : {}) },
    actions: [...plan.actions, ...actions].sort((a, b) => a.at - b.at),
  };
}

function drawSpec(dice: Dice): ExternalDatabaseSpec {
  return { engine: "postgres", version: dice.pick(["14", "14.2", "15"]), sizeGb: dice.pick([10, 20]) };
}

function drawRef(dice: Dice): Pick<ExternalDatabaseSpec, "connectionSecretRef"> {
  // Few names, so that two resources may ask for one Secret.
  return {
    connectionSecretRef: dice.chance(0.6) ? {} : { name: dice.pick(["login-1", "login-2", "login-3"]) },
  };
}

function drawDeed(dice: Dice, name: string, harmful: boolean): Deed {
  switch (
    dice.weighted({ rotate: 4, harm: harmful ? 5 : 0, ref: 2, unref: 1, size: 1, policy: 1, delete: 0.5 })
  ) {
    case "rotate":
      return { do: "annotate", name, key: ANNOTATION.rotatePassword, value: String(dice.int(1, 1_000)) };
    case "harm":
      return { do: "secret", name, harm: dice.pick(SECRET_HARMS) };
    case "ref":
      return { do: "edit", name, change: drawRef(dice) };
    case "unref":
      return { do: "edit", name, change: { connectionSecretRef: undefined } };
    case "size":
      return { do: "edit", name, change: { sizeGb: dice.pick([20, 40]) } };
    case "policy":
      return { do: "edit", name, change: { driftPolicy: dice.pick(["Repair", "Report"]) } };
    case "delete":
      return { do: "delete", name };
  }
}
