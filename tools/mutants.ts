/**
 * `deno task mutants`: plants bugs into a copy of the operator, and says what catches each.
 *
 * With `--rules` it checks, by what caught them last, that every bug of a rule is still caught, and exits 1 when one is
 * not, or when something is caught though no bug is active. Without flags it hunts anew, in an hour or more, and writes
 * `tools/mutants/known.json` and `docs/mutants.md`.
 *
 * @module
 */
import { Command, InvalidArgumentError } from "commander";
import { huntOperators, huntRules, recheck } from "./mutants/hunt.ts";
import { readKnown, writeKnown } from "./mutants/known.ts";
import { instrument, sample } from "./mutants/operators.ts";
import { writePage } from "./mutants/page.ts";
import { RULE_MUTANTS } from "./mutants/rules/mod.ts";
import { ROOT } from "./mutants/tree.ts";

interface Flags {
  readonly rules?: boolean;
  readonly anew?: boolean;
  readonly page?: boolean;
  readonly only?: string;
  readonly seeds: number;
  readonly operators: number;
  readonly operatorSeeds: number;
  readonly draw: number;
}

const encoder = new TextEncoder();

function say(line: string): void {
  Deno.stdout.writeSync(encoder.encode(`${line}\n`));
}

function whole(text: string): number {
  const n = Number(text);
  if (!Number.isInteger(n) || n < 0) throw new InvalidArgumentError("it must be a whole number from 0.");
  return n;
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
    .option("--seeds <n>", "how many seeds a bug of a rule may survive", whole, 300)
    .option("--operators <n>", "how many operator mutants are drawn", whole, 400)
    .option("--operator-seeds <n>", "how many seeds one of them may survive", whole, 60)
    .option("--draw <seed>", "the number that they are drawn from", whole, 1)
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
    return (error as { readonly exitCode?: number }).exitCode === 0 ? 0 : 2;
  }
  const known = await readKnown();
  if (flags.page) return await writePage(known), 0;
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
  const found = await huntRules(rules, flags.seeds, std, say);
  const missed = found.filter((f) => f.simulation === undefined && f.test === undefined);
  say(`${found.length} planted bugs of rules, ${found.length - missed.length} caught`);
  if (only !== undefined) return missed.length === 0 ? 0 : 1;
  let next = { ...known, rules: found };
  await writeKnown(next);
  if (!flags.rules) {
    const { mutants, files } = await instrument();
    const drawn = sample(mutants, flags.operators, flags.draw);
    const fates = await huntOperators(files, drawn, flags.operatorSeeds, std, say);
    next = { ...next, operators: { seed: flags.draw, all: mutants.length, fates } };
    await writeKnown(next);
  }
  await writePage(next);
  say(`${Math.round((performance.now() - begun) / 1_000)} s; docs/mutants.md is written`);
  return missed.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
