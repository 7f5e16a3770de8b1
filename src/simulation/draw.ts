/**
 * Draws a plan from a seed. Each kind of trouble is there in some worlds and not in others (swarm testing), for a world
 * in which everything goes wrong at once never gets anywhere.
 *
 * @module
 */
import { ANNOTATION } from "../api/constants.ts";
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import type { CloudSettings } from "../providers/simulated/settings.ts";
import { KIND_CLUSTER, type KubeFaults } from "./kube_port.ts";
import { type Action, type ConsoleChange, type Deed, OUTAGES, type Plan } from "./plan.ts";
import type { Doom } from "./process.ts";
import { drawDoors } from "./draw_doors.ts";
import { drawMore } from "./draw_more.ts";
import { drawBindings } from "./draw_bindings.ts";
import { drawPolicies } from "./draw_policies.ts";
import { Dice } from "./random.ts";

const MINUTE = 60_000;

/** The plan of a seed. */
export function drawPlan(seed: number): Plan {
  const dice = new Dice(seed, "plan");
  const names = [..."abcdefghij"].slice(0, dice.chance(0.4) ? dice.int(1, 2) : dice.int(2, 10));
  const chaosMs = dice.int(1, 10) * MINUTE;
  const replicas = dice.chance(0.3) ? 2 : 1;
  const lease = replicas === 2 || dice.chance(0.15);
  const plan: Plan = {
    seed,
    replicas,
    ...(lease ? { lease } : {}),
    pollMs: dice.pick([30_000, MINUTE, 5 * MINUTE]),
    hibernateAfterMs: dice.pick([60_000, 600_000]),
    concurrency: dice.pick([1, 4, 64]),
    pageSize: dice.pick([2, 500]),
    cloud: drawCloud(dice),
    kube: drawKube(dice),
    chaosMs,
    restartMs: dice.pick([500, 5_000, 60_000]),
    dooms: drawDooms(dice, lease),
    actions: [...drawActions(dice, names, chaosMs, replicas), ...drawRestores(seed, chaosMs)]
      .sort((a, b) => a.at - b.at),
  };
  return drawDoors(drawBindings(drawPolicies(drawMore(plan, names), names), names), names);
}

function drawCloud(dice: Dice): Partial<CloudSettings> {
  const some = (p: number, max: number) => dice.chance(p) ? dice.between(0.01, max) : 0;
  const bound = dice.pick([2_000, 10_000, 30_000]);
  return {
    clientTokens: dice.chance(0.5),
    describesItself: dice.chance(0.95),
    tokenMemoryMs: dice.chance(0.5) ? 0 : bound,
    // What does not describe itself is taken to have 15 s and 30 s.
    readLagMs: dice.pick([0, 1_000, 5_000, 15_000]),
    effectBoundMs: bound,
    latencyMs: dice.pick([5, 50, 500, 2_000]),
    provisionMs: dice.pick([100, 5_000, 60_000]),
    modifyMs: dice.pick([100, 2_000, 30_000]),
    deleteMs: dice.pick([100, 2_000, 30_000]),
    jitter: 0.3,
    ratePerSecond: dice.chance(0.1) ? dice.int(2, 20) : 0,
    loseAnswers: some(0.4, 0.3),
    failBefore: some(0.3, 0.3),
    failAfter: some(0.3, 0.3),
    lateEffects: some(0.4, 0.4),
    provisionFailures: some(0.2, 0.4),
    autogrowAfterMs: dice.chance(0.15) ? dice.int(5, 200) * 1_000 : 0,
    minorUpgradeAfterMs: dice.chance(0.15) ? dice.int(5, 200) * 1_000 : 0,
    engineCase: dice.pick(["as-is", "as-is", "upper", "title"]),
    minorVersion: dice.pick([null, 3]),
    showPending: dice.chance(0.3),
    shiftingPages: dice.chance(0.3),
  };
}

function drawKube(dice: Dice): KubeFaults {
  const some = (p: number, max: number) => dice.chance(p) ? dice.between(0.01, max) : 0;
  return {
    ...KIND_CLUSTER,
    latencyMs: dice.pick([2, 20, 1_000]),
    watchLagMs: dice.pick([10, 200, 5_000, 30_000]),
    failBefore: some(0.3, 0.2),
    failAfter: some(0.3, 0.2),
    timeout: some(0.2, 0.05),
    conflict: some(0.2, 0.2),
    throttle: some(0.2, 0.1),
    staleList: some(0.4, 0.9),
    staleMs: dice.pick([2_000, 30_000, 120_000]),
    silentWatch: some(0.2, 0.5),
  };
}

function drawDooms(dice: Dice, lease: boolean): (Doom | null)[] {
  if (dice.chance(0.3)) return [];
  const many = dice.chance(0.2);
  return Array.from(
    { length: dice.int(1, many ? 20 : 4) },
    () =>
      dice.chance(0.15)
        ? null
        : lease && dice.chance(0.15)
        ? { of: "lease", call: dice.int(0, 12), when: dice.pick(MOMENTS) }
        : {
          call: Math.floor(dice.chance(0.6) ? dice.between(2, 25) : dice.between(2, 200)),
          when: dice.pick(MOMENTS),
        },
  );
}

const MOMENTS = ["before", "sent", "answered"] as const;
const SIZES = [10, 20, 20, 40, 80];
const VERSIONS = ["14", "14.2", "15", "15.1", "16"];

function drawSpec(dice: Dice): ExternalDatabaseSpec {
  return {
    engine: dice.pick(["postgres", "mysql"]),
    version: dice.pick(VERSIONS.slice(0, 3)),
    sizeGb: dice.pick(SIZES.slice(0, 3)),
    ...(dice.chance(0.15) ? { deletionPolicy: dice.pick(["Delete", "Retain"] as const) } : {}),
    ...(dice.chance(0.1) ? { driftPolicy: dice.pick(["Repair", "Report"] as const) } : {}),
    ...(dice.chance(0.1) ? { onMissing: dice.pick(["Recreate", "Report"] as const) } : {}),
    ...(dice.chance(0.15) ? { pollInterval: dice.pick(["10s", "30s", "10m"]) } : {}),
    ...(dice.chance(0.05) ? { paused: true } : {}),
  };
}

function drawActions(dice: Dice, names: readonly string[], chaosMs: number, replicas: number): Action[] {
  const actions: Action[] = [];
  const at = () => dice.int(0, chaosMs);
  for (const name of names) {
    // Many at once in some worlds, one by one in others.
    const created = dice.chance(0.5) ? dice.int(0, 2_000) : dice.int(0, Math.floor(chaosMs / 2));
    actions.push({ at: created, ...drawCreate(dice, name) });
  }
  const user = {
    edit: 8,
    delete: dice.pick([2, 8]),
    create: 4,
    annotate: 2,
    abandon: dice.pick([0, 0, 0.5]),
    label: 1,
    stripFinalizers: dice.pick([0, 0, 1]),
    stripStatus: dice.pick([0, 0, 1]),
    adopt: dice.pick([0, 2]),
  };
  for (let n = dice.int(0, 6 * names.length); n > 0; n--) {
    const near = dice.chance(0.3) ? dice.pick(actions).at + dice.int(0, 3_000) : at();
    actions.push({ at: Math.min(near, chaosMs), ...drawUser(dice, dice.pick(names), dice.weighted(user)) });
  }
  const swarm = (p: number, max: number) => dice.chance(p) ? dice.int(1, max) : 0;
  const many = (n: number, deed: () => Deed) => {
    for (; n > 0; n--) actions.push({ at: at(), ...deed() });
  };
  const spell = () =>
    Math.floor(dice.chance(0.7) ? dice.between(500, 30_000) : dice.between(30_000, 4 * MINUTE));
  many(swarm(0.3, 5), () => ({ do: "breakWatches" }));
  many(swarm(0.2, 2), () => ({ do: "silenceWatches" }));
  many(swarm(0.2, 3), () => ({ do: "compact" }));
  many(swarm(0.25, 2), () => ({
    do: "kubeOutage",
    kind: dice.pick(["unavailable", "unavailable", "unauthorised", "forbidden"]),
    ms: spell(),
  }));
  if (dice.chance(0.08)) {
    many(1, () => ({ do: "deleteCrd" }));
    many(1, () => ({ do: "installCrd" }));
  }
  many(swarm(0.4, 4), () => ({ do: "crash", nth: dice.int(0, 1) }));
  many(swarm(replicas === 2 ? 0.6 : 0.2, 3), () => ({ do: "freeze", nth: dice.int(0, 1), ms: spell() }));
  many(swarm(0.2, 2), () => ({ do: "stop", nth: dice.int(0, 1) }));
  many(swarm(0.1, 2), () => ({ do: "skew", nth: dice.int(0, 1), ms: dice.int(-3_600_000, 3_600_000) }));
  many(swarm(0.4, 3), () => ({
    do: "cloudOutage",
    kind: dice.pick(OUTAGES),
    ms: spell(),
    of: dice.pick(["all", "reads", "writes", "lists"]),
  }));
  for (let n = swarm(0.15, 2); n > 0; n--) {
    const then = at();
    actions.push({ at: then, do: "switchAccount", ms: spell() });
    // What is deleted before anybody has noticed.
    if (dice.chance(0.6)) {
      actions.push({ at: then + dice.int(0, 20_000), do: "delete", name: dice.pick(names) });
    }
  }
  many(swarm(0.3, 6), () => ({ do: "console", nth: dice.int(0, 9), change: drawConsole(dice) }));
  many(swarm(0.25, 8), () => ({ do: "vanish", nth: dice.int(0, 9) }));
  many(swarm(0.15, 2), () => ({ do: "foreign", name: dice.pick(names) }));
  many(swarm(0.1, 2), () => ({ do: "duplicate", nth: dice.int(0, 9) }));
  many(swarm(0.1, 2), () => ({ do: "retag", nth: dice.int(0, 9) }));
  return actions.sort((a, b) => a.at - b.at);
}

/** A cluster restored from a backup, with its version raised as Kubernetes advises, or not. By dice of its own: other seeds stay as they were. */
function drawRestores(seed: number, chaosMs: number): Action[] {
  const dice = new Dice(seed, "restores");
  if (!dice.chance(0.15)) return [];
  return Array.from({ length: dice.int(1, 2) }, () => ({
    at: dice.int(1_000, chaosMs),
    do: "restore" as const,
    ms: Math.floor(dice.between(100, 2 * MINUTE)),
    bump: dice.pick([0, 0, 1_000, 1_000_000]),
  }));
}

function drawCreate(dice: Dice, name: string): Deed {
  return {
    do: "create",
    name,
    spec: drawSpec(dice),
    ...(dice.chance(0.05) ? { foreignFinalizer: true } : {}),
  };
}

function drawUser(dice: Dice, name: string, what: string): Deed {
  switch (what) {
    case "edit":
      return { do: "edit", name, change: drawEdit(dice) };
    case "create":
      return drawCreate(dice, name);
    case "annotate":
      return {
        do: "annotate",
        name,
        key: dice.pick([ANNOTATION.reconcile, ANNOTATION.reconcile, ANNOTATION.confirmAbsence]),
        value: String(dice.int(1, 1_000)),
      };
    case "label":
      return { do: "label", name, value: String(dice.int(1, 1_000)) };
    case "adopt":
      return { do: "adopt", name, nth: dice.int(0, 9), spec: drawSpec(dice) };
    default:
      return { do: what as "delete" | "abandon" | "stripFinalizers" | "stripStatus", name };
  }
}

function drawEdit(dice: Dice): Partial<ExternalDatabaseSpec> {
  switch (
    dice.weighted({
      size: 5,
      version: 3,
      pause: 1.5,
      resume: 2,
      deletion: 1,
      drift: 0.5,
      missing: 0.5,
      poll: 0.5,
    })
  ) {
    case "size":
      return { sizeGb: dice.pick(SIZES) };
    case "version":
      return { version: dice.pick(VERSIONS) };
    case "pause":
      return { paused: true };
    case "resume":
      return { paused: false };
    case "deletion":
      return { deletionPolicy: dice.pick(["Delete", "Delete", "Retain"]) };
    case "drift":
      return { driftPolicy: dice.pick(["Repair", "Report"]) };
    case "missing":
      return { onMissing: dice.pick(["Recreate", "Report"]) };
    case "poll":
      return { pollInterval: dice.pick(["10s", "1m", "5m"]) };
  }
}

function drawConsole(dice: Dice): ConsoleChange {
  switch (dice.weighted({ grow: 3, shrink: 2, version: 2, fail: 1, protect: 1 })) {
    case "grow":
      return { kind: "grow", by: dice.int(1, 50) };
    case "shrink":
      return { kind: "shrink", by: dice.int(1, 10) };
    case "version":
      return { kind: "version", version: dice.pick(["13.9", "14.0", "14.9", "17.1"]) };
    case "fail":
      return { kind: "fail" };
    case "protect":
      return { kind: "protect", on: dice.chance(0.5) };
  }
}
