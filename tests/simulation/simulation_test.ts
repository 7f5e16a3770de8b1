/**
 * The whole operator in simulated worlds: some hundred seeds in every test run, and proof that the judges can judge.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { DatabaseProvider, ProviderInfo } from "../../src/providers/port.ts";
import { runSeeds } from "../../src/simulation/campaign.ts";
import { drawPlan } from "../../src/simulation/draw.ts";
import { schedules } from "../../src/simulation/exhaustive.ts";
import type { Plan } from "../../src/simulation/plan.ts";
import { type RunOptions, runPlan } from "../../src/simulation/run.ts";
import { shrink } from "../../src/simulation/shrink.ts";

/** How long the seeds may take, in milliseconds. */
const SEEDS_MS = 20_000;
/** How long the schedules may take, in milliseconds. */
const SCHEDULES_MS = 10_000;

Deno.test("Seeds 1 to 400, or as many as there is time for: no promise is broken and every world settles", async () => {
  const end = performance.now() + SEEDS_MS;
  const { count, failures, coverage } = await runSeeds(1, 400, { stop: () => performance.now() > end });
  assertEquals(failures.map((f) => `deno task simulate --seed ${f.seed}: ${f.violation.what}`), []);
  assert(count >= 10, `only ${count} seeds in ${SEEDS_MS} ms`);
  assert(Object.keys(coverage.transition).length >= 10, "hardly anything happened");
});

Deno.test("Every 61st crash point of the short scripts, or as many as there is time for: no promise is broken", async () => {
  const end = performance.now() + SCHEDULES_MS;
  const broken: string[] = [];
  let n = 0;
  let run = 0;
  for await (const { name, plan } of schedules()) {
    if (n++ % 61 !== 0) continue;
    const { violation } = await runPlan(plan);
    if (violation !== undefined) broken.push(`${name}: ${violation.what}`);
    run++;
    if (performance.now() > end) break;
  }
  assertEquals(broken, []);
  assert(run >= 5, `only ${run} schedules in ${SCHEDULES_MS} ms`);
});

Deno.test("The same seed gives the same trace, twice and with either way of draining microtasks", async () => {
  for (const seed of [3, 77, 2_490]) {
    const first = await runPlan(drawPlan(seed), { trace: true });
    const second = await runPlan(drawPlan(seed), { trace: true });
    assertEquals(second.trace, first.trace);
    const slow = await runPlan(drawPlan(seed), { fast: false });
    assertEquals(slow.digest, first.digest, "the public way of draining gives another trace");
  }
});

Deno.test("The same seed gives the same trace in another process", async () => {
  const here = await runPlan(drawPlan(5));
  const script = `import { drawPlan } from "${new URL("../../src/simulation/draw.ts", import.meta.url)}";
    import { runPlan } from "${new URL("../../src/simulation/run.ts", import.meta.url)}";
    await Deno.stdout.write(new TextEncoder().encode((await runPlan(drawPlan(5))).digest));`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, script);
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--allow-env", "--allow-read", "--no-lock", "--config", config, file],
      stdin: "null",
    }).output();
    assertEquals(new TextDecoder().decode(stdout), here.digest, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(file);
  }
});

/** A provider that promises what its cloud does not keep. */
function boasting(promises: Partial<ProviderInfo>): RunOptions["wrapProvider"] {
  return (provider): DatabaseProvider => ({
    ...provider,
    info: async (options) => ({ ...await provider.info(options), ...promises }),
  });
}

/** The first seed up to `limit` that breaks one of `oracles`. */
async function firstBroken(
  limit: number,
  options: RunOptions,
  oracles: readonly string[],
): Promise<{ readonly plan: Plan; readonly oracle: string } | undefined> {
  for (let seed = 1; seed <= limit; seed++) {
    const plan = drawPlan(seed);
    const { violation } = await runPlan(plan, options);
    if (violation !== undefined && oracles.includes(violation.oracle)) {
      return { plan, oracle: violation.oracle };
    }
  }
  return undefined;
}

Deno.test("A cloud without the read lag and effect bound that it promises is caught (S1, S2, S4), and the plan shrinks", async () => {
  const options = { wrapProvider: boasting({ readLagSeconds: 0, effectBoundSeconds: 0 }) };
  const found = await firstBroken(150, options, ["S1", "S2", "S4"]);
  assert(found !== undefined, "150 seeds did not find a duplicate or an orphan");
  const small = await shrink(found.plan, found.oracle, options);
  assert(small.actions.length < found.plan.actions.length, "nothing was left out");
  assertEquals((await runPlan(small, options)).violation?.oracle, found.oracle);
});

Deno.test("A provider that changes twice what it was asked for once is caught in flight", async () => {
  const wrapProvider = (provider: DatabaseProvider): DatabaseProvider => ({
    ...provider,
    create: async (request, options) => {
      await provider.create({ ...request, clientToken: `${request.clientToken}-again` }, options);
      return await provider.create(request, options);
    },
  });
  assertEquals((await firstBroken(5, { wrapProvider }, ["in-flight"]))?.oracle, "in-flight");
});
