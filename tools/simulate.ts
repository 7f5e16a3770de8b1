/**
 * `deno task simulate`: the whole operator in simulated worlds, each drawn from one number.
 *
 * Exits 1 on a violation, with the command that replays it, and 2 on bad flags.
 *
 * @module
 */
import { Command, InvalidArgumentError } from "commander";
import { type Batch, runSeeds } from "../src/simulation/campaign.ts";
import { Coverage } from "../src/simulation/coverage.ts";
import { drawPlan } from "../src/simulation/draw.ts";
import { schedules } from "../src/simulation/exhaustive.ts";
import type { Plan } from "../src/simulation/plan.ts";
import { runPlan } from "../src/simulation/run.ts";
import { shrink } from "../src/simulation/shrink.ts";

interface Flags {
  readonly seeds: number;
  readonly from: number;
  readonly seed?: number;
  readonly plan?: string;
  readonly workers: number;
  readonly shrink?: boolean;
  readonly exhaustive?: boolean;
  readonly sample: number;
  readonly coverage?: boolean;
}

/** Seeds that a worker runs between two reports. */
const BATCH = 20;
/** Failures shown in full. */
const SHOWN = 20;

const encoder = new TextEncoder();

function say(line: string): void {
  Deno.stdout.writeSync(encoder.encode(`${line}\n`));
}

function whole(min: number): (text: string) => number {
  return (text) => {
    const n = Number(text);
    if (!Number.isInteger(n) || n < min) {
      throw new InvalidArgumentError(`it must be a whole number from ${min}.`);
    }
    return n;
  };
}

function parseFlags(args: readonly string[]): Flags {
  const program = new Command("deno task simulate")
    .description("Runs the whole operator in simulated worlds of faults, and judges every step.")
    .option("--seeds <n>", "how many seeds to run", whole(1), 1_000)
    .option("--from <seed>", "the first of them", whole(0), 1)
    .option("--seed <seed>", "run one seed and print everything that happened", whole(0))
    .option("--plan <file>", "run one plan from a JSON file, - for stdin, and print everything that happened")
    .option("--workers <n>", "how many threads run seeds", whole(1), 1)
    .option("--shrink", "with --seed: find a smaller plan that breaks the same promise, and print it")
    .option("--exhaustive", "every crash point of short scripts with one resource, in place of seeds")
    .option("--sample <n>", "with --exhaustive: only every n-th schedule", whole(1), 1)
    .option("--coverage", "print what was met: deeds, deaths, transitions, failures")
    .exitOverride();
  return program.parse([...args], { from: "user" }).opts<Flags>();
}

async function main(args: readonly string[]): Promise<number> {
  let flags: Flags;
  try {
    flags = parseFlags(args);
  } catch (error) {
    return (error as { readonly exitCode?: number }).exitCode === 0 ? 0 : 2;
  }
  if (flags.plan !== undefined) return await replay(JSON.parse(await readPlan(flags.plan)), flags);
  if (flags.seed !== undefined) return await replay(drawPlan(flags.seed), flags);
  return flags.exhaustive ? await exhaust(flags.sample) : await campaign(flags);
}

function readPlan(file: string): Promise<string> {
  return file === "-" ? new Response(Deno.stdin.readable).text() : Deno.readTextFile(file);
}

async function replay(plan: Plan, flags: Flags): Promise<number> {
  let shown = plan;
  if (flags.shrink) {
    const { violation } = await runPlan(plan);
    if (violation === undefined) say("Nothing breaks; there is nothing to shrink");
    else shown = await shrink(plan, violation.oracle);
  }
  const result = await runPlan(shown, { trace: true });
  for (const line of result.trace) say(line);
  say(JSON.stringify(shown));
  say(`digest ${result.digest}, ${result.steps} steps, ${Math.round(result.ms / 1_000)} s of virtual time`);
  if (result.violation === undefined) return 0;
  say(`VIOLATION of ${result.violation.oracle}: ${result.violation.what}`);
  return 1;
}

async function campaign(flags: Flags): Promise<number> {
  const begun = performance.now();
  const coverage = new Coverage();
  let failed = 0;
  let done = 0;
  let settledAfterMs = 0;
  let virtualMs = 0;
  const take = (batch: Batch) => {
    done += batch.count;
    settledAfterMs = Math.max(settledAfterMs, batch.settledAfterMs);
    virtualMs += batch.virtualMs;
    coverage.merge(batch.coverage);
    for (const { seed, violation } of batch.failures) {
      if (++failed > SHOWN) continue;
      say(`seed ${seed}: ${violation.oracle}: ${violation.what} (at ${Math.round(violation.at / 1_000)} s)`);
      say(`  deno task simulate --seed ${seed} --shrink`);
    }
    if (Deno.stderr.isTerminal()) {
      Deno.stderr.writeSync(encoder.encode(`\r${done} of ${flags.seeds} seeds, ${failed} broken `));
    }
  };
  await (flags.workers === 1 ? alone(flags, take) : together(flags, take));
  const seconds = (performance.now() - begun) / 1_000;
  if (flags.coverage) { for (const line of coverage.lines()) say(line); }
  say(
    `${done} seeds in ${seconds.toFixed(1)} s (${(done / seconds).toFixed(1)} seeds/s, ${
      Math.round(virtualMs / 3_600_000)
    } h of virtual time), slowest to settle ${Math.round(settledAfterMs / 1_000)} s: ${
      failed === 0 ? "no violation" : `${failed} violations`
    }`,
  );
  return failed === 0 ? 0 : 1;
}

async function alone({ from, seeds }: Flags, take: (batch: Batch) => void): Promise<void> {
  for (let done = 0; done < seeds; done += BATCH) {
    take(await runSeeds(from + done, Math.min(BATCH, seeds - done)));
  }
}

/** Each worker takes the next batch when it has done its last. */
async function together({ from, seeds, workers }: Flags, take: (batch: Batch) => void): Promise<void> {
  let next = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL("./simulate_worker.ts", import.meta.url), { type: "module" });
      const feed = () => {
        if (next >= seeds) {
          worker.terminate();
          return resolve();
        }
        const count = Math.min(BATCH, seeds - next);
        worker.postMessage({ from: from + next, count });
        next += count;
      };
      worker.onmessage = ({ data }: MessageEvent<Batch>) => {
        take(data);
        feed();
      };
      worker.onerror = (event) => {
        event.preventDefault();
        worker.terminate();
        reject(new Error(`Running seeds failed: ${event.message}`));
      };
      feed();
    });
  await Promise.all(Array.from({ length: workers }, one));
}

async function exhaust(sample: number): Promise<number> {
  const begun = performance.now();
  let count = 0;
  let failed = 0;
  let n = 0;
  for await (const { name, plan } of schedules()) {
    if (n++ % sample !== 0) continue;
    const { violation } = await runPlan(plan);
    count++;
    if (violation === undefined || ++failed > SHOWN) continue;
    say(`${name}: ${violation.oracle}: ${violation.what} (at ${Math.round(violation.at / 1_000)} s)`);
    say(`  echo '${JSON.stringify(plan)}' | deno task simulate --plan -`);
  }
  const seconds = (performance.now() - begun) / 1_000;
  say(
    `${count} schedules in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)}/s): ${
      failed === 0 ? "no violation" : `${failed} violations`
    }`,
  );
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
