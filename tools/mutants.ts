/**
 * `deno task mutants`: plants bugs into a copy of the operator, and says what catches each.
 *
 * With `--rules` it checks, by what caught them last, that every bug of a rule is still caught, and exits 1 when one is
 * not, or when something is caught though no bug is active. Without flags it hunts anew, in an hour or more, and writes
 * `tools/mutants/known.json` and `docs/mutants.md`. With `--survivors` it hunts again the operator mutants that lived, for
 * whoever wrote a test or changed the code.
 *
 * @module
 */
import { Command } from "commander";
import { exitCodeOf, whole } from "./flags.ts";
import { EXPLAINED, keyOf } from "./mutants/explained.ts";
import { huntOperators, huntRules, recheck } from "./mutants/hunt.ts";
import { isCaught, type Known, type OperatorFate, readKnown, writeKnown } from "./mutants/known.ts";
import { instrument, sample } from "./mutants/operators.ts";
import { writePage } from "./mutants/page.ts";
import { AnchorError, plantAll } from "./mutants/plant.ts";
import type { RuleMutant } from "./mutants/rule.ts";
import { RULE_MUTANTS } from "./mutants/rules/mod.ts";
import { readSource, ROOT } from "./mutants/tree.ts";
import { say } from "./say.ts";

interface Flags {
  readonly rules?: boolean;
  readonly anew?: boolean;
  readonly page?: boolean;
  readonly anchors?: boolean;
  readonly missing?: boolean;
  readonly survivors?: boolean;
  readonly only?: string;
  readonly seeds: number;
  readonly operators: number;
  readonly operatorSeeds: number;
  readonly draw: number;
}

function parseFlags(args: readonly string[]): Flags {
  return new Command("deno task mutants")
    .description("Plants bugs into a copy of the operator, and says what catches each.")
    .option("--rules", "only the bugs of rules: by what caught them last, unless --anew")
    .option("--anew", "with --rules: look for the first seed again, and write what is found")
    .option("--page", "only write docs/mutants.md from what is known")
    .option(
      "--only <words>",
      "only bugs of rules whose name or rule contains these words; nothing is written",
    )
    .option("--seeds <n>", "how many seeds a bug of a rule may survive", whole(0), 300)
    .option("--operators <n>", "how many operator mutants are drawn", whole(0), 400)
    .option("--operator-seeds <n>", "how many seeds one of them may survive", whole(0), 60)
    .option("--draw <seed>", "the number that they are drawn from", whole(0), 1)
    .option("--missing", "only bugs of rules that nothing has caught so far")
    .option("--survivors", "only operator mutants that survived so far and are not explained")
    .option("--anchors", "only see whether every bug of a rule finds its place")
    .exitOverride()
    .parse([...args], { from: "user" }).opts<Flags>();
}

/** The flags that the tasks give, for the worker. */
async function stdFlags(): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net=jsr.io", new URL("tools/std.ts", ROOT).pathname],
    stdin: "null",
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).split(" ").filter((flag) => flag !== "");
}

async function main(args: readonly string[]): Promise<number> {
  let flags: Flags;
  try {
    flags = parseFlags(args);
  } catch (error) {
    return exitCodeOf(error);
  }
  const known = await readKnown();
  if (flags.page) return await writePage(known), 0;
  if (flags.anchors) return await seeAnchors();
  const { only } = flags;
  const rules = RULE_MUTANTS.filter((m) =>
    only === undefined || m.id.includes(only) || m.breaks.includes(only)
  );
  const std = await stdFlags();
  const begun = performance.now();
  if (flags.rules && !flags.anew) {
    const byId = new Map(known.rules.map((fate) => [fate.id, fate]));
    const { fates, control } = await recheck(rules, byId, flags.seeds, std, say);
    const missed = fates.filter((f) => f.simulation === undefined && f.test === undefined);
    if (control !== undefined) say(`CAUGHT THOUGH NO BUG IS ACTIVE: ${control}`);
    const seconds = Math.round((performance.now() - begun) / 1_000);
    say(`${fates.length} planted bugs of rules, ${fates.length - missed.length} caught in ${seconds} s`);
    return missed.length === 0 && control === undefined ? 0 : 1;
  }
  if (flags.survivors) return await huntSurvivors(known, flags.operatorSeeds, std);
  let next = known;
  const fateOf = (m: RuleMutant) => next.rules.find((f) => f.id === m.id);
  await huntRules(
    rules.filter((m) => !flags.missing || !isCaught(fateOf(m))),
    flags.seeds,
    std,
    say,
    async (fate) => {
      next = { ...next, rules: [...next.rules.filter((f) => f.id !== fate.id), fate] };
      await writeKnown(next);
    },
  );
  const missed = rules.filter((m) => !isCaught(fateOf(m)));
  say(`${rules.length} planted bugs of rules, ${rules.length - missed.length} caught`);
  if (!flags.rules) {
    const { mutants, files } = await instrument();
    const drawn = sample(mutants, flags.operators, flags.draw);
    next = { ...next, operators: { seed: flags.draw, all: mutants.length, drawn: drawn.length, fates: [] } };
    await huntOperators(files, drawn, flags.operatorSeeds, std, say, async (fate) => {
      next = { ...next, operators: { ...next.operators, fates: [...next.operators.fates, fate] } };
      await writeKnown(next);
    });
  }
  await writePage(next);
  say(`${Math.round((performance.now() - begun) / 1_000)} s; docs/mutants.md is written`);
  return missed.length === 0 ? 0 : 1;
}

/** Hunts again what lived, where the source still has its place; what has none any more is dropped. */
async function huntSurvivors(known: Known, seeds: number, std: readonly string[]): Promise<number> {
  const { mutants, files } = await instrument();
  let { fates } = known.operators;
  const keep = async (changed: readonly OperatorFate[]) => {
    fates = changed;
    await writeKnown({ ...known, operators: { ...known.operators, all: mutants.length, fates } });
  };
  const places = new Map(mutants.map((m) => [keyOf(m), m]));
  await keep(fates.flatMap((fate) => {
    const place = places.get(keyOf(fate));
    if (place === undefined) say(`gone with its code: ${keyOf(fate)}`);
    return place === undefined ? [] : [{ ...fate, ...place }];
  }));
  const left = fates.filter((f) => !isCaught(f) && !EXPLAINED.has(keyOf(f)));
  await huntOperators(files, left, seeds, std, say, async (fate) => {
    const tried = (f: OperatorFate) => Math.max(f.seeds, fate.seeds);
    await keep(fates.map((f) => f.id === fate.id ? { ...fate, seeds: tried(f) } : f));
  });
  await writePage(await readKnown());
  const lived = fates.filter((f) => !isCaught(f) && !EXPLAINED.has(keyOf(f))).length;
  say(`${left.length} operator mutants hunted again, ${lived} live and are not explained`);
  return lived === 0 ? 0 : 1;
}

/** Each bug alone, so that all that do not fit are named. */
async function seeAnchors(): Promise<number> {
  let lost = 0;
  for (const mutant of RULE_MUTANTS) {
    try {
      await plantAll([mutant], readSource);
    } catch (error) {
      if (!(error instanceof AnchorError)) throw error;
      lost++;
      say(error.message);
    }
  }
  say(`${RULE_MUTANTS.length - lost} of ${RULE_MUTANTS.length} planted bugs find their places`);
  return lost === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
