/**
 * Paths through the simulated world: the whole operator takes every transition of the statechart, in worlds that are
 * drawn and, for what those do not reach, in worlds where somebody strikes at the right moment.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { databaseMachine } from "../../src/statechart/machine.ts";
import type { Plan } from "../../src/simulation/plan.ts";
import { runPlan } from "../../src/simulation/run.ts";
import { leavesOf, Taken, transitionsOf } from "../statechart/transitions.ts";
import { RARE } from "./paths_excuses.ts";
import { drawRestless } from "./restless.ts";
import { Striker } from "./striker.ts";

/** Worlds that are left to themselves. */
const PLAIN = 40;
/** Worlds at most, those with a striker among them: about 120 are enough, and the rest are there for changes to come. */
const MAX = 300;

const ALL = transitionsOf(databaseMachine);
const WANTED = ALL.filter((name) => !(name in RARE));

/** What must hold even here. A striker does more than the operator promises to bear, so that little is left. */
const PROMISES = {
  plain: new Set(["S1", "S2", "S4", "S6", "S7", "F4"]),
  struck: new Set(["S7", "F4"]),
};

/** Short calls, quick lists and a long settle window: a striker makes slow what it strikes. */
function forStriker(plan: Plan): Plan {
  const cloud = {
    clientTokens: true,
    tokenMemoryMs: 0,
    effectBoundMs: 30_000,
    latencyMs: 200,
    provisionFailures: plan.seed % 3 === 0 ? 0.7 : 0,
  };
  return {
    ...plan,
    pollMs: 2_000,
    cloud: { ...plan.cloud, ...cloud },
    kube: { ...plan.kube, watchLagMs: 50, latencyMs: 20 },
  };
}

async function campaign() {
  const taken = new Taken();
  const broken: string[] = [];
  let seed = 0;
  while (seed < MAX && (seed < PLAIN || WANTED.some((name) => !taken.transitions.has(name)))) {
    const plain = seed++ < PLAIN;
    const plan = drawRestless(seed);
    let striker: Striker | undefined;
    const { violations } = await runPlan(plain ? plan : forStriker(plan), {
      deps: { inspect: (inspection) => striker?.inspect(inspection) },
      onWorld: (world) => striker = new Striker(world, taken, plain ? [] : WANTED),
      promises: plain ? PROMISES.plain : PROMISES.struck,
      judge: () => [],
      digest: false,
    });
    broken.push(...violations.map((v) => `${seed}: ${v.oracle}: ${v.what}`));
  }
  return { taken, broken, worlds: seed };
}

Deno.test("Paths: every state and every transition of the statechart is taken in the simulated world, or excused", async (t) => {
  const { taken, broken, worlds } = await campaign();
  await t.step(`in ${worlds} worlds nothing else broke`, () => assertEquals(broken, []));
  await t.step("every transition", () => {
    assertEquals(WANTED.filter((name) => !taken.transitions.has(name)), [], "no world takes them");
  });
  await t.step("every state", () => {
    const entered = new Set([...taken.transitions.keys()].map((name) => name.slice(name.indexOf("→ ") + 2)));
    const places = leavesOf(databaseMachine).filter((leaf) => !leaf.endsWith(".deciding"));
    assertEquals(places.filter((leaf) => !entered.has(leaf)), [], "no world enters them");
  });
  await t.step(
    "what is excused is in the definition",
    () => assertEquals(Object.keys(RARE).filter((name) => !ALL.includes(name)), []),
  );
});
