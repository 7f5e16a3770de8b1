/**
 * `deno task simulate`: the whole operator in simulated worlds, each drawn from one number.
 *
 * Exits 1 on a violation, with the command that replays it, and 2 on bad flags.
 *
 * @module
 */
import { type Batch, Tally } from "../src/simulation/campaign.ts";
import { runAndCompare } from "../src/simulation/compare.ts";
import { drawPlan } from "../src/simulation/draw.ts";
import { sampledGroups } from "../src/simulation/exhaustive.ts";
import { pinFlags, pinned } from "../src/simulation/pins.ts";
import type { Plan } from "../src/simulation/plan.ts";
import { shrink } from "../src/simulation/shrink.ts";
import { article } from "./simulate/article.ts";
import { exitCodeOf } from "./flags.ts";
import { say } from "./say.ts";
import { type Flags, parseFlags } from "./simulate/flags.ts";
import type { Job } from "./simulate/job.ts";
import { runJobs } from "./simulate/pool.ts";
import { Progress } from "./simulate/progress.ts";
import { coverageProblems, report } from "./simulate/report.ts";

/** Seeds that a worker runs between two reports. */
const BATCH = 5;
/** Failures shown in full. */
const SHOWN = 20;

async function main(args: readonly string[]): Promise<number> {
  let flags: Flags;
  try {
    flags = parseFlags(args);
  } catch (error) {
    return exitCodeOf(error);
  }
  if (flags.subject === "article") return await article(flags);
  const { plan, seed, pins } = flags;
  if (plan !== undefined) return await replay(pinned(JSON.parse(await readPlan(plan)), pins), flags);
  if (seed !== undefined) return await replay(pinned(drawPlan(seed), pins), flags);
  return await campaign(flags);
}

function readPlan(file: string): Promise<string> {
  return file === "-" ? new Response(Deno.stdin.readable).text() : Deno.readTextFile(file);
}

async function replay(plan: Plan, flags: Flags): Promise<number> {
  let shown = plan;
  if (flags.shrink) {
    const { violation } = await runAndCompare(plan, { digest: false });
    if (violation === undefined) say("Nothing breaks; there is nothing to shrink");
    else shown = await shrink(plan, violation.oracle);
  }
  const result = await runAndCompare(shown, { trace: true });
  for (const line of result.trace) say(line);
  say(JSON.stringify(shown));
  say(`digest ${result.digest}, ${result.steps} steps, ${Math.round(result.ms / 1_000)} s of virtual time`);
  if (result.violation === undefined) return 0;
  say(`VIOLATION of ${result.violation.oracle}: ${result.violation.what}`);
  if (flags.seed !== undefined) say(`  deno task simulate --seed ${flags.seed}${pinFlags(flags.pins)}`);
  return 1;
}

/** All of a campaign, in pieces. */
function jobsOf({ exhaustive, sample, seeds, from, pins, digests = false }: Flags): Job[] {
  if (exhaustive) return sampledGroups(sample).map((group) => ({ kind: "schedules", group, sample }));
  return Array.from({ length: Math.ceil(seeds / BATCH) }, (_, n) => ({
    kind: "seeds",
    from: from + n * BATCH,
    count: Math.min(BATCH, seeds - n * BATCH),
    pins,
    digests,
  }));
}

async function campaign(flags: Flags): Promise<number> {
  const begun = performance.now();
  const jobs = jobsOf(flags);
  const progress = flags.exhaustive
    ? new Progress(jobs.length, "groups of schedules")
    : new Progress(flags.seeds, "seeds");
  const tally = new Tally();
  let broken = 0;
  const take = (batch: Batch) => {
    tally.add(batch);
    for (const { name, violation, replay } of batch.failures) {
      if (++broken > SHOWN) continue;
      progress.clear();
      say(`${name}: ${violation.oracle}: ${violation.what} (at ${Math.round(violation.at / 1_000)} s)`);
      say(`  ${replay}`);
    }
    progress.add(flags.exhaustive ? 1 : batch.count, broken);
  };
  try {
    await runJobs(jobs, flags, take);
  } catch (error) {
    progress.clear();
    say(error instanceof Error ? error.message : String(error));
    return 1;
  }
  progress.clear();
  const { batch } = tally;
  const digests = Object.entries(batch.digests).toSorted(([a], [b]) =>
    a.localeCompare(b, "en", { numeric: true })
  );
  for (const [name, digest] of digests) say(`${name} ${digest}`);
  const uncovered = flags.strict ? coverageProblems(batch.coverage, batch.count) : [];
  report(batch, {
    seconds: (performance.now() - begun) / 1_000,
    what: flags.exhaustive ? "schedules" : "seeds",
    coverage: flags.coverage === true,
    uncovered,
  });
  return broken === 0 && uncovered.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
