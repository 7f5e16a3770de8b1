/**
 * The hunts: which seed or test catches each planted bug.
 *
 * @module
 */
import { Hunter } from "./hunter.ts";
import { type Fate, type OperatorFate, trialsOf } from "./known.ts";
import { type OperatorMutant } from "./operators.ts";
import { plantAll } from "./plant.ts";
import { type Catch, nameOf, type TestTrial, type Trial } from "./protocol.ts";
import type { RuleMutant } from "./rule.ts";
import { likelyTests, testFiles } from "./tests.ts";
import { growTree, readSource } from "./tree.ts";

/** Who is told how it goes. */
export type Tell = (line: string) => void;

/** Tests that fail without a bug: under load some do not end in time. */
const UNSOUND = new Set<string>();

/** How long the tests hunt one bug, in milliseconds; it counts as uncaught then. */
const TESTS_MS = Number(Deno.env.get("MUTANTS_TESTS_MS") ?? 600_000);

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

/** A bug to be hunted. */
interface Prey {
  readonly id: string;
  readonly atLoad: boolean;
  /** Tests that are likely to catch it. */
  readonly likely: (tests: readonly TestTrial[]) => readonly TestTrial[];
}

/** The first seed that catches each bug of a rule; a unit test where no seed up to `cap` does. */
export async function huntRules(
  mutants: readonly RuleMutant[],
  cap: number,
  flags: readonly string[],
  tell: Tell,
  keep: (fate: Fate) => Promise<void>,
): Promise<void> {
  await using grown = await planted(mutants, flags);
  const prey = mutants.map(({ id, atLoad = false, breaks, edits }): Prey => ({
    ...{ id, atLoad },
    likely: (tests) => likelyTests(tests, edits.map((e) => e.file), breaks),
  }));
  await hunt(grown.hunter, prey, cap, tell, keep);
}

/** The same for operator mutants. */
export async function huntOperators(
  files: ReadonlyMap<string, string>,
  mutants: readonly OperatorMutant[],
  cap: number,
  flags: readonly string[],
  tell: Tell,
  keep: (fate: OperatorFate) => Promise<void>,
): Promise<void> {
  await using grown = await ground(files, flags);
  const prey = mutants.map(({ id, file }): Prey => ({
    ...{ id, atLoad: false },
    likely: (tests) => likelyTests(tests, [file]),
  }));
  const places = new Map(mutants.map((m) => [m.id, m]));
  await hunt(
    grown.hunter,
    prey,
    cap,
    tell,
    (fate) => keep({ ...fate, ...places.get(fate.id) as OperatorMutant }),
  );
}

async function hunt(
  hunter: Hunter,
  prey: readonly Prey[],
  cap: number,
  tell: Tell,
  keep: (fate: Fate) => Promise<void>,
): Promise<void> {
  const atLoad = new Set(prey.filter((p) => p.atLoad).map((p) => p.id));
  const bySeeds = await reachOf(hunter, seeds(cap), atLoad, tell);
  const tests = await hunter.tests(testFiles());
  for (const { id, likely } of prey) {
    const alone = atLoad.has(id);
    const simulation = await hunter.hunt(id, alone ? seeds(cap) : bySeeds.get(id) ?? [], alone);
    const trials = simulation === undefined ? likely(tests) : [];
    const test = await huntByTests(hunter, id, alone, trials, tell);
    const caught = simulation ?? test;
    tell(
      caught === undefined
        ? `${id}: SURVIVES ${cap} seeds and ${trials.length} tests`
        : `${id}: ${nameOf(caught.trial)}, ${caught.oracle}: ${caught.what}`,
    );
    await keep({ id, seeds: cap, ...(simulation && { simulation }), ...(test && { test }) });
  }
}

/** The first test that fails with the bug, and does not without. */
async function huntByTests(
  hunter: Hunter,
  id: string,
  alone: boolean,
  trials: readonly TestTrial[],
  tell: Tell,
): Promise<Catch | undefined> {
  for (let left = trials.filter((t) => !UNSOUND.has(nameOf(t))); left.length > 0;) {
    const caught = await hunter.hunt(id, left, alone, TESTS_MS);
    if (caught === undefined) return undefined;
    const without = await hunter.hunt(undefined, [caught.trial]);
    if (without === undefined) return caught;
    tell(`left out, for it fails without a bug: ${nameOf(caught.trial)}: ${without.what}`);
    UNSOUND.add(nameOf(caught.trial));
    left = left.slice(left.findIndex((t) => nameOf(t) === nameOf(caught.trial)) + 1);
  }
  return undefined;
}

/** The seeds that reach each place; module code goes to `atLoad`. Throws when one catches something without a bug. */
async function reachOf(
  hunter: Hunter,
  trials: readonly Trial[],
  atLoad: Set<string>,
  tell: Tell,
): Promise<ReadonlyMap<string, Trial[]>> {
  const byId = new Map<string, Trial[]>();
  for (const { trial, ids, failed } of await hunter.reach(trials)) {
    if (failed !== undefined) throw new Error(`Without a bug, ${nameOf(trial)}: ${failed}`);
    const isModule = "seed" in trial && trial.seed < 0;
    for (const id of ids) {
      if (isModule) atLoad.add(id);
      else byId.set(id, [...byId.get(id) ?? [], trial]);
    }
  }
  tell(`control: ${trials.length} seeds catch nothing where no bug is active`);
  return byId;
}
