/**
 * `deno task simulate`: pins, replays, workers that die, figures.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { drawPlan } from "../../src/simulation/draw.ts";
import { parsePin, pinFlags, pinned, type Pins } from "../../src/simulation/pins.ts";
import { runPlan } from "../../src/simulation/run.ts";
import type { World } from "../../src/simulation/world.ts";
import { coverageProblems } from "../../src/simulation/coverage_table.ts";
import { Coverage } from "../../src/simulation/coverage.ts";
import { TOP_STATES } from "../../src/statechart/vocabulary.ts";
import { EXCUSES, RARE, RARE_SEEDS } from "../../src/simulation/excuses.ts";
import { FAULTS } from "../../src/simulation/faults.ts";
import { parseFlags } from "../../tools/simulate/flags.ts";
import type { Job } from "../../tools/simulate/job.ts";
import { runJobs } from "../../tools/simulate/pool.ts";
import { progressLine } from "../../tools/simulate/progress.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Runs the command; `code`, and the lines of both streams. */
async function simulate(...args: readonly string[]): Promise<{ code: number; lines: string[] }> {
  const std = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--allow-net=jsr.io", "tools/std.ts"],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const shims = new TextDecoder().decode(std.stdout).split(/\s+/).filter((w) => w !== "");
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--no-lock",
      "--allow-env",
      "--allow-read",
      ...shims,
      "tools/simulate.ts",
      ...args,
    ],
    cwd: ROOT,
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, lines: `${decoder.decode(stdout)}${decoder.decode(stderr)}`.split("\n") };
}

Deno.test("The same seeds give the same digests, byte for byte, twice and with one, two and three workers", async () => {
  const runs: string[][] = [];
  for (const workers of ["1", "1", "2", "3"]) {
    const { code, lines } = await simulate(
      "--seeds",
      "7",
      "--from",
      "4000",
      "--digests",
      "--workers",
      workers,
    );
    assertEquals(code, 0, lines.join("\n"));
    runs.push(lines.filter((l) => /^seed \d+ [0-9a-f]{16}$/.test(l)));
  }
  assertEquals(runs[0]?.length, 7);
  for (const run of runs.slice(1)) assertEquals(run, runs[0]);
});

Deno.test("A replay prints a trace with who did what when and the statechart's transitions, the same every time", async () => {
  const args = ["--seed", "4000", "--tokens", "no", "--read-lag", "20s"];
  const first = await simulate(...args);
  assertEquals(first.code, 0);
  assert(first.lines.some((l) => /^ +\d+\.\d{3} p\d+ +\w+: \w+ ⇒ \w+ \(/.test(l)), "no transition is shown");
  assert(first.lines.some((l) => /^ +\d+\.\d{3} p\d+ +→ cloud create /.test(l)), "no call is shown");
  assert(first.lines.some((l) => l.includes('"clientTokens":false') && l.includes('"readLagMs":20000')));
  assertEquals((await simulate(...args)).lines, first.lines);
});

Deno.test("A wrong flag ends with 2 and says what is wrong", async () => {
  for (
    const [args, words] of [
      [["--pin", "nosuch=1"], 'the setting "nosuch" does not exist'],
      [["--pin", "latencyMs=soon"], "must be a number"],
      [["--read-lag", "long"], '"long" is not a duration'],
      [["--exhaustive", "--tokens", "no"], "takes no pins"],
      [["--seeds", "0"], "it must be a whole number from 1"],
    ] as const
  ) {
    const { code, lines } = await simulate(...args);
    assertEquals(code, 2, args.join(" "));
    assert(lines.join("\n").includes(words), lines.join("\n"));
  }
});

Deno.test("The flags of a replay pin what was pinned", () => {
  const pins: Pins = { clientTokens: false, readLagMs: 20_000, engineCase: "upper", stubborn: ["sizeGb"] };
  const words = pinFlags(pins).trim().split(" ").map((w) => w.replaceAll("'", ""));
  assertEquals(parseFlags(["--seed", "1", ...words]).pins, pins);
  assertEquals(parsePin("account=other"), { account: "other" });
});

Deno.test("A pinned cloud keeps its promises: it describes a lag that nobody would take it to have, and remembers tokens for the effect bound", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const { cloud } = pinned(drawPlan(seed), { readLagMs: 20_000, effectBoundMs: 40_000 });
    assertEquals([cloud.describesItself, cloud.readLagMs, cloud.effectBoundMs], [true, 20_000, 40_000]);
    assert(cloud.tokenMemoryMs === 0 || (cloud.tokenMemoryMs ?? 0) >= 40_000);
  }
  assertEquals(pinned(drawPlan(3), {}), drawPlan(3));
});

for (const [lag, least] of [[1_000, 11_000], [20_000, 30_000]] as const) {
  Deno.test(`The settle window follows a read lag pinned to ${lag} ms: a create of unknown outcome is not repeated before ${least} ms`, async () => {
    const base = drawPlan(1);
    const plan = pinned({
      ...base,
      replicas: 1,
      chaosMs: 300_000,
      dooms: [],
      cloud: { latencyMs: 5, provisionMs: 100, effectBoundMs: 10_000, jitter: 0 },
      kube: { ...base.kube, ...{ failBefore: 0, failAfter: 0, timeout: 0, conflict: 0, throttle: 0 } },
      actions: [{
        at: 60_000, // after the window of the process's own start
        do: "create",
        name: "a",
        spec: { engine: "postgres", version: "14", sizeGb: 20 },
      }],
    }, { clientTokens: false, readLagMs: lag });
    let seen: World | undefined;
    const { violation } = await runPlan(plan, {
      onWorld: (world) => {
        seen = world;
        world.cloud.faults.refuse("create", REFUSALS.internalError);
      },
    });
    assertEquals(violation, undefined);
    const [first, second, ...more] = seen?.cloud.ledger.calls({ verb: "create" }) ?? [];
    assert(first !== undefined && second !== undefined);
    assertEquals(more.length, 0);
    assert(second.at - first.at >= least, `sent again after ${second.at - first.at} ms`);
    assert(second.at - first.at < least + 30_000, `sent again only after ${second.at - first.at} ms`);
  });
}

const JOBS: readonly Job[] = [1, 2].map((from) => ({
  kind: "seeds",
  from,
  count: 1,
  pins: {},
  digests: false,
}));

for (
  const [how, code, words] of [
    ["throws", "onmessage = () => { throw new Error('planted') }", "planted"],
    ["ends itself", "onmessage = () => close()", "no answer within 2 s"],
    ["rejects", "onmessage = () => Promise.reject(new Error('planted'))", "planted"],
  ] as const
) {
  Deno.test(`A worker that ${how} is a failure that names its seeds, not a hang`, async () => {
    const module = new URL(`data:application/javascript,${encodeURIComponent(code)}`);
    const error = await assertRejects(() =>
      runJobs(JOBS, { workers: 2, module, deadlineMs: 2_000 }, () => {})
    );
    const { message } = error as Error;
    assert(/^A worker died at seeds [12] to [12]: /.test(message) && message.includes(words), message);
  });
}

Deno.test("The bar says how far it is, how fast, and how long it takes", () => {
  assertEquals(
    progressLine(250, 1_000, 10, "seeds", 0),
    `${"█".repeat(6)}${"░".repeat(18)} 250 of 1000 seeds (25 %), 25.0/s, 30 s left, no violation`,
  );
  assert(progressLine(0, 10, 0, "seeds", 0).includes("? left"));
});

Deno.test("A cell of the coverage that is neither reached nor excused is a problem, and so is one that is both", () => {
  const all = new Coverage();
  const cells = Object.keys(FAULTS).flatMap((f) => TOP_STATES.map((s) => `${f}|${s}`));
  const excused = new Map([["killed|Pending", "nobody is killed so young"]]);
  for (const cell of cells) if (!excused.has(cell)) all.add("strike", cell);
  assertEquals(coverageProblems(all.counts, 1, excused, new Set()), []);
  const other = new Coverage();
  other.merge(all.counts);
  other.add("strike", "killed|Pending");
  delete other.counts.strike["freeze|Drifted"];
  assertEquals(coverageProblems(other.counts, 1, excused, new Set()), [
    '"killed" struck in Pending, which is excused: nobody is killed so young',
    '"freeze" never struck in Drifted, and no excuse says why',
  ]);
  const rare = new Set(["freeze|Drifted"]);
  assertEquals(coverageProblems(other.counts, RARE_SEEDS - 1, new Map(), rare), []);
  assertEquals(coverageProblems(other.counts, RARE_SEEDS, new Map(), rare).length, 1);
});

Deno.test("No cell is excused twice, nor both excused and rare, and every excuse is a sentence", () => {
  const cells = EXCUSES.flatMap(({ faults, states }) =>
    faults.flatMap((f) => states.map((s) => `${f}|${s}`))
  );
  const rare = RARE.flatMap(({ fault, states }) => states.map((state) => `${fault}|${state}`));
  assertEquals([...cells, ...rare].length, new Set([...cells, ...rare]).size, "named twice");
  for (const { why } of EXCUSES) assert(why.length > 30 && why.includes(" "), why);
});
