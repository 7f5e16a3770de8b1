/**
 * The process in which planted bugs are active, one at a time: runs seeds of the simulation and unit tests of the copied
 * tree that it is given, and says what caught the bug.
 *
 * `deno run … worker.ts TREE [MUTANT]`; a bug that acts when its module is loaded is named on the command line.
 *
 * @module
 */
import { TextLineStream } from "./lines.ts";
import type { Job, Trial, Word } from "./protocol.ts";

/** What the switches ask, and what they tell. */
interface Planted {
  __planted: (id: string) => boolean;
  __tries: number;
  __stryker__: {
    activeMutant?: string;
    currentTestId?: string | undefined;
    mutantCoverage: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
  };
}

const scope = globalThis as unknown as Planted;
const [treeText = "", atLoad] = Deno.args;
const tree = new URL(treeText);
let active: string | undefined = atLoad;
let reached: Set<string> | undefined;
scope.__planted = (id) => {
  reached?.add(id);
  return id === active;
};
scope.__stryker__ = { mutantCoverage: { static: {}, perTest: {} } };
activate(atLoad);

/** A test that lasts longer, in milliseconds, hangs. */
const TEST_MS = 20_000;

interface Test {
  readonly name: string;
  readonly fn: (t: unknown) => unknown;
}

/** What the tree's simulation exports. */
interface Simulation {
  drawPlan(seed: number): unknown;
  runPlan(
    plan: unknown,
  ): Promise<{ readonly violation?: { readonly oracle: string; readonly what: string } | undefined }>;
}

const tests = new Map<string, Map<string, Test>>();
let loading: Map<string, Test> | undefined;
let stray: unknown;

/** `Deno.test` gathers, and the steps of a test run in order. */
function gatherTests(): void {
  const gather = (...args: unknown[]) => {
    const objects = args.filter((a): a is Partial<Test> & { ignore?: boolean } =>
      typeof a === "object" && a !== null
    );
    const fn = args.find((a) => typeof a === "function") ?? objects.find((o) => o.fn !== undefined)?.fn;
    const name = args.find((a) => typeof a === "string") ?? objects.find((o) => o.name !== undefined)?.name ??
      (fn as { name: string }).name;
    if (objects.some((o) => o.ignore)) return;
    loading?.set(name as string, { name: name as string, fn: fn as Test["fn"] });
  };
  Object.defineProperty(Deno, "test", { value: Object.assign(gather, { ignore: () => {}, only: gather }) });
}

function steps(): unknown {
  const step = async (...args: unknown[]) => {
    const fn = args.find((a) => typeof a === "function") ??
      args.map((a) => (a as Partial<Test> | undefined)?.fn).find((f) => f !== undefined);
    await (fn as (t: unknown) => unknown)({ step });
    return true;
  };
  return { step };
}

async function testsOf(file: string): Promise<Map<string, Test>> {
  let known = tests.get(file);
  if (known === undefined) {
    loading = known = new Map();
    await import(new URL(file, tree).href);
    loading = undefined;
    tests.set(file, known);
  }
  return known;
}

function say(word: Word): void {
  const bytes = new TextEncoder().encode(`\u0000${JSON.stringify(word)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function activate(id: string | undefined): void {
  active = id;
  scope.__tries = 0;
  if (id === undefined) delete scope.__stryker__.activeMutant;
  else scope.__stryker__.activeMutant = id;
}

/** The simulation's modules, or the test's. */
function load(trial: { readonly seed: number }): Promise<Simulation>;
function load(trial: Trial): Promise<unknown>;
async function load(trial: Trial): Promise<unknown> {
  if (!("seed" in trial)) return await testsOf(trial.file);
  const { drawPlan } = await import(new URL("src/simulation/draw.ts", tree).href);
  const { runPlan } = await import(new URL("src/simulation/run.ts", tree).href);
  return { drawPlan, runPlan };
}

/** Why the trial failed, if it did. */
async function attempt(
  trial: Trial,
): Promise<{ readonly oracle: string; readonly what: string } | undefined> {
  stray = undefined;
  try {
    if ("seed" in trial) {
      const { drawPlan, runPlan } = await load(trial);
      const { violation } = await runPlan(drawPlan(trial.seed));
      if (violation !== undefined) return { oracle: violation.oracle, what: violation.what };
    } else await runTest(trial);
  } catch (error) {
    return { oracle: "seed" in trial ? "crash" : "test", what: textOf(error) };
  }
  return stray === undefined
    ? undefined
    : { oracle: "seed" in trial ? "crash" : "test", what: textOf(stray) };
}

async function runTest({ file, test }: { readonly file: string; readonly test: string }): Promise<void> {
  const found = (await testsOf(file)).get(test);
  if (found === undefined) throw new Error(`There is no test "${test}" in ${file}`);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The test did not end within ${TEST_MS} ms`)), TEST_MS);
  });
  try {
    await Promise.race([found.fn(steps()), late]);
    await new Promise((resolve) => setTimeout(resolve, 0)); // an unhandled rejection shows now
  } finally {
    clearTimeout(timer);
  }
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // deno-lint-ignore no-control-regex
  return text.replace(/\u001b\[[0-9;]*m/g, "").replace(/\s+/g, " ").slice(0, 300);
}

async function work(job: Job): Promise<void> {
  const begun = performance.now();
  if (job.do === "hunt") {
    await hunt(job.mutant, job.trials, begun + (job.limitMs ?? Number.POSITIVE_INFINITY));
  } else if (job.do === "reach") await reach(job.trials);
  else {
    const all: { file: string; test: string }[] = [];
    for (const file of job.files) {
      say({ say: "begin", trial: { file, test: "" } });
      try {
        for (const test of (await testsOf(file)).keys()) all.push({ file, test });
      } catch {
        tests.set(file, new Map()); // it needs what the copy does not hold
      }
    }
    say({ say: "tests", tests: all });
  }
  say({ say: "done", ms: performance.now() - begun });
}

async function hunt(mutant: string | undefined, trials: readonly Trial[], until: number): Promise<void> {
  for (const trial of trials) {
    if (performance.now() > until) return;
    say({ say: "begin", trial });
    if (atLoad === undefined) activate(mutant);
    const failed = await attempt(trial);
    if (atLoad === undefined) activate(undefined);
    if (failed === undefined) continue;
    return say({ say: "caught", caught: { trial, ...failed } });
  }
}

async function reach(trials: readonly Trial[]): Promise<void> {
  const { mutantCoverage } = scope.__stryker__;
  for (const trial of trials) await load(trial); // what runs while modules are loaded belongs to no trial
  for (const trial of trials) {
    say({ say: "begin", trial });
    reached = new Set();
    scope.__stryker__.currentTestId = "trial";
    delete mutantCoverage.perTest["trial"];
    const failed = await attempt(trial);
    const ids = [...reached, ...Object.keys(mutantCoverage.perTest["trial"] ?? {})];
    reached = undefined;
    scope.__stryker__.currentTestId = undefined;
    say({ say: "reached", trial, ids, ...(failed === undefined ? {} : { failed: failed.what }) });
  }
  if (Object.keys(mutantCoverage.static).length > 0) {
    // What ran while modules were loaded.
    say({ say: "reached", trial: { seed: -1 }, ids: Object.keys(mutantCoverage.static) });
  }
}

gatherTests();
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  stray = event.reason;
});
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  stray = event.error;
});
for await (
  const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
) {
  await work(JSON.parse(line));
}
