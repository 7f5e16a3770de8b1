/**
 * The hunts: which seed or test catches each planted bug.
 *
 * @module
 */
import { Hunter } from "./hunter.ts";
import { type Fate, type OperatorFate, trialsOf } from "./known.ts";
import { type OperatorMutant } from "./operators.ts";
import { plantAll } from "./plant.ts";
import { nameOf, type Trial } from "./protocol.ts";
import type { RuleMutant } from "./rule.ts";
import { growTree, readSource, ROOT } from "./tree.ts";

/** Who is told how it goes. */
export type Tell = (line: string) => void;

/** Folders whose tests may catch what the simulation does not. */
const TESTED = ["tests/statechart/", "tests/operator/", "tests/kube/"];

/** Seeds from 1. */
function seeds(count: number): Trial[] {
  return Array.from({ length: count }, (_, n) => ({ seed: n + 1 }));
}

/** Catches each bug by what caught it last time, else by the seeds up to `cap`; and nothing without a bug. */
export async function recheck(
  mutants: readonly RuleMutant[],
  known: ReadonlyMap<string, Fate>,
  cap: number,
  flags: readonly string[],
  tell: Tell,
): Promise<{ readonly fates: readonly Fate[]; readonly control: string | undefined }> {
  await using grown = await planted(mutants, flags);
  const { hunter } = grown;
  const wanted = new Map<string, Trial>();
  for (const { id } of mutants) for (const t of trialsOf(known.get(id)).slice(0, 1)) wanted.set(nameOf(t), t);
  const control = await hunter.hunt(undefined, [...wanted.values()]);
  const fates: Fate[] = [];
  for (const { id, atLoad } of mutants) {
    const first = trialsOf(known.get(id));
    let caught = await hunter.hunt(id, first, atLoad);
    if (caught === undefined) {
      if (first.length > 0) tell(`${id}: ${first.map(nameOf).join(", ")} does not catch it any more`);
      caught = await hunter.hunt(id, seeds(cap), atLoad);
    }
    const by = caught === undefined ? "NOT CAUGHT" : `${nameOf(caught.trial)}, ${caught.oracle}`;
    tell(`${id}: ${by}`);
    const isSeed = caught !== undefined && "seed" in caught.trial;
    fates.push({ id, seeds: cap, ...(caught && (isSeed ? { simulation: caught } : { test: caught })) });
  }
  return { fates, control: control && `${nameOf(control.trial)}: ${control.oracle}: ${control.what}` };
}

/** A copy with planted bugs, and who hunts there; both are gone at the end. */
async function planted(mutants: readonly RuleMutant[], flags: readonly string[]) {
  return await ground(await plantAll(mutants, readSource), flags);
}

async function ground(files: ReadonlyMap<string, string>, flags: readonly string[]) {
  const tree = await growTree(files);
  const hunter = new Hunter(tree, flags);
  return {
    hunter,
    [Symbol.asyncDispose]: async () => {
      await hunter[Symbol.asyncDispose]();
      await Deno.remove(tree, { recursive: true });
    },
  };
}

/** The first seed that catches each bug of a rule; a unit test where no seed up to `cap` does. */
export async function huntRules(
  mutants: readonly RuleMutant[],
  cap: number,
  flags: readonly string[],
  tell: Tell,
): Promise<readonly Fate[]> {
  await using grown = await planted(mutants, flags);
  const atLoad = new Set(mutants.filter((m) => m.atLoad).map((m) => m.id));
  return await hunt(grown.hunter, mutants.map((m) => m.id), atLoad, cap, tell);
}

/** The same for operator mutants. */
export async function huntOperators(
  files: ReadonlyMap<string, string>,
  mutants: readonly OperatorMutant[],
  cap: number,
  flags: readonly string[],
  tell: Tell,
): Promise<readonly OperatorFate[]> {
  await using grown = await ground(files, flags);
  const fates = await hunt(grown.hunter, mutants.map((m) => m.id), new Set(), cap, tell);
  const places = new Map(mutants.map((m) => [m.id, m]));
  return fates.map((fate) => ({ ...fate, ...places.get(fate.id) as OperatorMutant }));
}

async function hunt(
  hunter: Hunter,
  ids: readonly string[],
  atLoad: Set<string>,
  cap: number,
  tell: Tell,
): Promise<readonly Fate[]> {
  const bySeeds = await reachOf(hunter, seeds(cap), atLoad, tell);
  const fates = new Map<string, Fate>();
  for (const id of ids) {
    const trials = atLoad.has(id) ? seeds(cap) : bySeeds.get(id) ?? [];
    const simulation = await hunter.hunt(id, trials, atLoad.has(id));
    fates.set(id, { id, seeds: cap, ...(simulation && { simulation }) });
    tell(
      `${id}: ${
        simulation
          ? `${nameOf(simulation.trial)}, ${simulation.oracle}: ${simulation.what}`
          : "survives the seeds"
      }`,
    );
  }
  const left = ids.filter((id) => fates.get(id)?.simulation === undefined);
  if (left.length === 0) return [...fates.values()];
  const tests = await hunter.tests(testFiles());
  const byTests = await reachOf(hunter, tests, atLoad, tell);
  const sound = new Set([...byTests.values()].flat());
  for (const id of left) {
    const trials = atLoad.has(id) ? tests.filter((t) => sound.has(t)) : byTests.get(id) ?? [];
    const test = await hunter.hunt(id, trials, atLoad.has(id));
    tell(`${id}: ${test ? `${nameOf(test.trial)}: ${test.what}` : `SURVIVES ${trials.length} tests too`}`);
    if (test) fates.set(id, { id, seeds: cap, test });
  }
  return [...fates.values()];
}

/** The trials that reach each place; trials that fail without a bug are left out, and module code goes to `atLoad`. */
async function reachOf(
  hunter: Hunter,
  trials: readonly Trial[],
  atLoad: Set<string>,
  tell: Tell,
): Promise<ReadonlyMap<string, Trial[]>> {
  const byId = new Map<string, Trial[]>();
  let bad = 0;
  for (const { trial, ids, failed } of await hunter.reach(trials)) {
    if ("seed" in trial && trial.seed < 0) {
      for (const id of ids) atLoad.add(id);
    } else if (failed !== undefined) {
      if ("seed" in trial) throw new Error(`Without a bug, ${nameOf(trial)}: ${failed}`);
      bad++;
      tell(`left out, for it fails without a bug: ${nameOf(trial)}: ${failed}`);
    } else {
      const same = trials.find((t) => nameOf(t) === nameOf(trial)) as Trial;
      for (const id of ids) {
        const known = byId.get(id);
        if (known === undefined) byId.set(id, [same]);
        else known.push(same);
      }
    }
  }
  tell(`control: ${trials.length - bad} of ${trials.length} trials catch nothing where no bug is active`);
  return byId;
}

function testFiles(): string[] {
  const files: string[] = [];
  for (const folder of TESTED) {
    try {
      for (const { name } of Deno.readDirSync(new URL(folder, ROOT))) {
        if (name.endsWith("_test.ts")) files.push(folder + name);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return files.toSorted();
}
