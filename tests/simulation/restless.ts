/**
 * Restless worlds: few resources, slow calls, late events, lists in quick succession, and users who do everything at
 * any time. Drawn apart from `drawPlan`, so that what campaigns find and what paths reach do not change each other.
 *
 * @module
 */
import { ANNOTATION } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { KIND_CLUSTER } from "../../src/simulation/kube_port.ts";
import type { Action, Deed, Plan } from "../../src/simulation/plan.ts";
import { Dice } from "../../src/simulation/random.ts";

const MINUTE = 60_000;
const NAMES = ["a", "b", "c", "d"];

/** The restless plan of a seed. */
export function drawRestless(seed: number): Plan {
  const dice = new Dice(seed, "restless");
  const chaosMs = dice.int(4, 10) * MINUTE;
  const some = (p: number, max: number) => dice.chance(p) ? dice.between(0.05, max) : 0;
  const actions = drawActions(dice, chaosMs);
  return {
    seed,
    replicas: 1,
    pollMs: dice.pick([2_000, 10_000]),
    hibernateAfterMs: 60_000,
    concurrency: dice.pick([1, 8]),
    pageSize: 500,
    cloud: {
      clientTokens: dice.chance(0.7),
      tokenMemoryMs: dice.pick([0, 30_000]),
      readLagMs: dice.pick([0, 5_000]),
      effectBoundMs: dice.pick([5_000, 30_000]),
      latencyMs: dice.pick([200, 2_000, 8_000]),
      provisionMs: dice.pick([100, 10_000, 60_000]),
      modifyMs: dice.pick([100, 10_000, 60_000]),
      deleteMs: dice.pick([100, 10_000, 60_000]),
      jitter: 0.3,
      loseAnswers: some(0.3, 0.2),
      failBefore: some(0.3, 0.3),
      failAfter: some(0.2, 0.2),
      lateEffects: some(0.2, 0.3),
      provisionFailures: some(0.3, 0.7),
      minorUpgradeAfterMs: 0,
      showPending: dice.chance(0.3),
    },
    kube: {
      ...KIND_CLUSTER,
      latencyMs: dice.pick([20, 2_000, 8_000]),
      watchLagMs: dice.pick([50, 20_000, 90_000]),
      failBefore: some(0.3, 0.3),
      failAfter: some(0.2, 0.2),
      conflict: some(0.2, 0.2),
      staleList: some(0.2, 0.5),
      staleMs: 30_000,
    },
    chaosMs,
    restartMs: 1_000,
    dooms: [],
    actions: withSecrets(seed, actions, chaosMs),
  };
}

/** Connection Secrets in half of the resources, what becomes of them, and a resource that only observes; by dice of their own. */
function withSecrets(seed: number, actions: readonly Action[], chaosMs: number): Action[] {
  const dice = new Dice(seed, "restless Secrets");
  const asking = actions.map((a): Action =>
    (a.do === "create" || a.do === "adopt") && dice.chance(0.5)
      ? { ...a, spec: { ...a.spec, connectionSecretRef: {} } }
      : a
  );
  const more = Array.from({ length: dice.int(4, 16) }, (): Action => {
    const at = dice.int(0, chaosMs);
    const name = dice.pick(NAMES);
    switch (dice.weighted({ rotate: 3, harm: 4, ref: 2, unref: 1 })) {
      case "rotate":
        return {
          at,
          do: "annotate",
          name,
          key: ANNOTATION.rotatePassword,
          value: String(dice.int(1, 1_000)),
        };
      case "harm":
        return { at, do: "secret", name, harm: dice.pick(["delete", "password", "key", "label"]) };
      case "ref":
        return { at, do: "edit", name, change: { connectionSecretRef: {} } };
      case "unref":
        return { at, do: "edit", name, change: { connectionSecretRef: undefined } };
    }
  });
  const observers = Array.from({ length: dice.int(0, 6) }, (): Action => ({
    at: dice.int(0, chaosMs),
    ...dice.pick<Deed>([
      { do: "observe", name: "e", nth: dice.int(0, 3), spec: drawSpec(dice) },
      { do: "delete", name: "e" },
      { do: "manage", name: "e", policy: "Full" },
      { do: "manage", name: "e", policy: "ObserveOnly" },
    ]),
  }));
  return [...asking, ...more, ...observers].sort((a, b) => a.at - b.at);
}

function drawActions(dice: Dice, chaosMs: number): Action[] {
  const actions: Action[] = [];
  const at = () => dice.int(0, chaosMs);
  for (const name of NAMES) {
    actions.push({ at: dice.int(0, 2_000), do: "create", name, spec: drawSpec(dice) });
    for (let n = dice.int(10, 25); n > 0; n--) {
      const then = at();
      drawDeeds(dice, name).forEach((deed, i) => {
        actions.push({ at: then + i * dice.pick([5, 5_000]), ...deed });
      });
    }
  }
  for (let n = dice.int(0, 4); n > 0; n--) {
    const of = dice.pick(["all", "reads", "writes", "lists", "lists", "lists"] as const);
    const kind = dice.pick(["unavailable", "throttled", "forbidden", "lost"] as const);
    actions.push({ at: at(), do: "cloudOutage", kind, of, ms: dice.int(5_000, 60_000) });
  }
  if (dice.chance(0.4)) actions.push({ at: at(), do: "switchAccount", ms: dice.int(5_000, 60_000) });
  if (dice.chance(0.3)) {
    actions.push({ at: at(), do: "kubeOutage", kind: "unavailable", ms: dice.int(5_000, 60_000) });
  }
  // Soon after a start nothing is sure, and a create may be under way: the settle window is where most can happen.
  for (let n = dice.int(0, 3); n > 0; n--) {
    const then = at();
    actions.push({ at: then, do: "crash", nth: 0 });
    const wiped = drawUnsure(dice, dice.pick(NAMES));
    wiped.forEach((deed, i) => actions.push({ at: then + 3_000 + i * 500, ...deed }));
  }
  // What a process has heard falls behind what its actors know by their own reads and writes.
  for (let n = dice.chance(0.6) ? dice.int(1, 4) : 0; n > 0; n--) {
    actions.push({ at: at(), do: "silenceWatches" });
  }
  for (let n = dice.chance(0.3) ? 2 : 0; n > 0; n--) {
    actions.push({ at: at(), do: "restore", ms: dice.int(5_000, 60_000), bump: dice.pick([0, 1_000]) });
  }
  return actions.filter((a) => a.at <= chaosMs).sort((a, b) => a.at - b.at);
}

/** A resource whose status is wiped while its database differs from what was recorded, so that its actor writes and sees. */
function drawUnsure(dice: Dice, name: string): Deed[] {
  const nth = dice.int(0, 3);
  const differs: Deed[] = dice.pick<Deed[]>([
    [{ do: "retag", nth }],
    [{ do: "vanish", nth }],
    [{ do: "retag", nth }, { do: "console", nth, change: { kind: "grow", by: 5 } }],
    [],
  ]);
  return [...differs, dice.pick<Deed>([{ do: "stripStatus", name }, { do: "stripFinalizers", name }])];
}

function drawSpec(dice: Dice): ExternalDatabaseSpec {
  return {
    engine: "postgres",
    version: "14.2",
    sizeGb: 20,
    ...(dice.chance(0.2) ? { deletionPolicy: "Retain" } : {}),
    ...(dice.chance(0.3) ? { pollInterval: "10s" } : {}),
  };
}

/** What somebody does: mostly one thing, sometimes one after the other. */
function drawDeeds(dice: Dice, name: string): Deed[] {
  const edit = (change: Partial<ExternalDatabaseSpec>): Deed => ({ do: "edit", name, change });
  const nth = dice.int(0, 3);
  switch (
    dice.weighted({
      grow: 6,
      pause: 2,
      policy: 2,
      delete: 6,
      again: 4,
      force: 5,
      wipe: 3,
      adopt: 3,
      ask: 3,
      vanish: 3,
      retag: 3,
      fail: 2,
      shrink: 4,
      duplicate: 1,
    })
  ) {
    case "grow":
      return [edit({ sizeGb: dice.pick([20, 40, 80]) })];
    case "pause":
      return [edit({ paused: true }), edit({ paused: false })];
    case "policy":
      return [edit(
        dice.pick([
          { driftPolicy: "Report" },
          { driftPolicy: "Repair" },
          { onMissing: "Recreate" },
          { deletionPolicy: "Retain" },
          { deletionPolicy: "Delete" },
        ]),
      )];
    case "delete":
      return [{ do: "delete", name }, { do: "create", name, spec: drawSpec(dice) }];
    case "again":
      return [{ do: "create", name, spec: drawSpec(dice) }];
    case "force":
      return [{ do: "delete", name }, { do: "stripFinalizers", name }, { do: "delete", name }, {
        do: "create",
        name,
        spec: drawSpec(dice),
      }];
    case "wipe":
      return [dice.pick([{ do: "stripStatus", name }, { do: "stripFinalizers", name }])];
    case "adopt":
      return [{ do: "adopt", name: dice.pick(NAMES), nth, spec: drawSpec(dice) }];
    case "ask":
      return [{ do: "annotate", name, key: ANNOTATION.reconcile, value: String(dice.int(1, 1_000)) }];
    case "vanish":
      return [{ do: "vanish", nth }];
    case "retag":
      return [{ do: "retag", nth }];
    case "fail":
      return [{ do: "console", nth, change: { kind: "fail" } }];
    case "shrink":
      return [{ do: "console", nth, change: { kind: "shrink", by: 5 } }];
    case "duplicate":
      return [{ do: "duplicate", nth }];
  }
}
