/**
 * The article's reconciler in the worlds that the operator lives in: the judges must find what is wrong with it, or
 * they would find nothing wrong with anything.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runArticle, tallyArticle } from "../../src/simulation/article/tally.ts";
import { articlePlan } from "../../src/simulation/article/subject.ts";
import { drawPlan } from "../../src/simulation/draw.ts";
import { PLAIN_PLAN, type Plan } from "../../src/simulation/plan.ts";
import { runPlan } from "../../src/simulation/run.ts";
import { ARTICLE_PROMISES, createArticle, judgeArticle } from "../../src/simulation/article/subject.ts";

const SEEDS = 100;

Deno.test(`S1, S2, L1: seeds 1 to ${SEEDS} find the article's duplicates, orphans and stuck Provisioning, and nothing in the operator in the same worlds`, async (t) => {
  const tally = await tallyArticle(1, SEEDS);
  const broken = (oracle: string) => tally.find((b) => b.oracle === oracle);
  for (
    const [oracle, what] of [
      ["S1", /live databases for/],
      ["S2", /outlives its CR|was made for .* whose CR is gone/],
      ["L1", /is stuck Provisioning, though its database is Available/],
    ] as const
  ) {
    const found = broken(oracle);
    assert(found !== undefined, `${SEEDS} seeds did not break ${oracle}`);
    await t.step(`${oracle}: ${found.seeds.length} of ${SEEDS} seeds, first ${found.seeds[0]}`, () => {
      assertMatch(found.what, what);
    });
  }
  const operator: string[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violation } = await runPlan(articlePlan(drawPlan(seed)));
    if (violation !== undefined) operator.push(`${seed}: ${violation.oracle}: ${violation.what}`);
  }
  assertEquals(operator, []);
});

const SPEC = { engine: "postgres", version: "14.2", sizeGb: 20 };

/** Two resources, one of which is deleted, where nothing goes wrong. */
const CALM: Plan = {
  ...PLAIN_PLAN,
  cloud: { latencyMs: 40, provisionMs: 5_000, deleteMs: 0 },
  chaosMs: 400_000,
  actions: [
    { at: 0, do: "create", name: "a", spec: SPEC },
    { at: 1_000, do: "create", name: "b", spec: SPEC },
    { at: 20_000, do: "delete", name: "b" },
  ],
};

function runCalm(plan: Plan) {
  return runPlan(plan, { subject: createArticle, judge: judgeArticle, promises: ARTICLE_PROMISES });
}

Deno.test("L1: the article's reconciler leaves a resource in Provisioning for ever where nothing at all goes wrong", async () => {
  const { violations } = await runCalm({ ...CALM, chaosMs: 60_000 });
  assertEquals(violations.map((v) => `${v.oracle}: ${v.what}`), [
    "L1: a is stuck Provisioning, though its database is Available",
  ]);
});

Deno.test("The article's reconciler is judged fairly: touched once its cache has expired, and spared every fault, it holds", async () => {
  const { violations } = await runCalm({
    ...CALM,
    actions: [...CALM.actions, { at: 350_000, do: "label", name: "a", value: "look" }],
  });
  assertEquals(violations, []);
});

Deno.test("The article's reconciler gives the same trace for the same seed", async () => {
  const first = await runArticle(4);
  assertEquals((await runArticle(4)).digest, first.digest);
});
