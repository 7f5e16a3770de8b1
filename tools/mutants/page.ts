/**
 * `docs/mutants.md`: what was planted, what caught it, what nothing catches and why.
 *
 * @module
 */
import { EXPLAINED, keyOf } from "./explained.ts";
import type { Fate, Known, OperatorFate } from "./known.ts";
import type { RuleMutant } from "./rule.ts";
import { RULE_MUTANTS } from "./rules/mod.ts";
import { ROOT } from "./tree.ts";

/** Writes the page from what is known. */
export async function writePage(known: Known): Promise<void> {
  await Deno.writeTextFile(new URL("docs/mutants.md", ROOT), pageOf(known));
}

/** The page's text. */
export function pageOf({ rules, operators }: Known): string {
  const fates = new Map(rules.map((fate) => [fate.id, fate]));
  const of = (m: RuleMutant) => fates.get(m.id);
  const bySimulation = RULE_MUTANTS.filter((m) => of(m)?.simulation !== undefined);
  const byTest = RULE_MUTANTS.filter((m) => of(m)?.simulation === undefined && of(m)?.test !== undefined);
  const missed = RULE_MUTANTS.filter((m) => of(m)?.simulation === undefined && of(m)?.test === undefined);
  const cap = Math.max(0, ...rules.map((f) => f.seeds));
  return [
    ...INTRODUCTION,
    "## Bugs of rules",
    "",
    `${RULE_MUTANTS.length} bugs, each a rule of [safety.md](safety.md) or a decision of [design.md](design.md) removed or inverted. ` +
    `The simulation catches ${bySimulation.length}, by the seed that is named; a unit test catches ${byTest.length} others, ` +
    `of which up to ${cap} seeds were tried; nothing catches ${missed.length}.`,
    "",
    "| breaks | what was planted | caught by | seeds |",
    "| --- | --- | --- | ---: |",
    ...RULE_MUTANTS.map((m) =>
      `| ${m.breaks} | **${m.id}**: ${cell(m.says)} | ${catcher(of(m))} | ${seedsOf(of(m))} |`
    ),
    "",
    ...missedRules(missed),
    ...operatorPart(operators),
  ].join("\n");
}

const INTRODUCTION = [
  "# Planted bugs",
  "",
  "Whoever says that a simulation would find a bug has to show that it does. So bugs are planted, by a tool and never by hand, into a",
  "copy of the operator, one at a time, and the simulation and the tests are run against each. This page is written by `deno task mutants`.",
  "",
  "- *Bugs of rules* are data in `tools/mutants/rules/`: a file, a function, the one expression or statement in it, and what takes its",
  "  place. The place is found in the syntax tree, and one that is gone or ambiguous fails.",
  "- *Operator mutants* are Stryker's: a comparison turned round, a block emptied, a condition always true, and so on.",
  "",
  "All bugs are in the copy at once, each behind a switch; none is active in the control, which catches nothing in any seed or test that",
  "is used here. *Seeds* is the seed, counted from 1, that caught it. A bug that no seed caught is hunted by the unit tests of its file and",
  "rule. The judges of the simulation ask an unchanged second copy what a resource wants, so that no bug blinds its own judge.",
  "",
  "`deno task mutants --rules` checks in a minute or two that every bug of a rule is still caught, by what caught it last;",
  '`deno task mutants --rules --only "rule 5"` those of one rule; `deno task mutants --survivors` hunts again the operator mutants that',
  "lived and are not explained.",
  "",
];

function catcher(fate: Fate | undefined): string {
  if (fate?.simulation !== undefined) {
    return `simulation, ${fate.simulation.oracle}: ${cell(fate.simulation.what)}`;
  }
  const trial = fate?.test?.trial;
  return trial !== undefined && "test" in trial ? `\`${trial.file}\`: ${cell(trial.test, 150)}` : "nothing";
}

function seedsOf(fate: Fate | undefined): string {
  const trial = fate?.simulation?.trial;
  if (trial !== undefined && "seed" in trial) return String(trial.seed);
  return fate === undefined || fate.seeds === 0 ? "not tried" : `> ${fate.seeds}`;
}

function cell(text: string, most = 90): string {
  const line = text.replace(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(
    "*",
    "\\*",
  );
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

function missedRules(missed: readonly RuleMutant[]): string[] {
  if (missed.length === 0) return [];
  return [
    "Caught by nothing:",
    "",
    ...missed.map((m) => `- **${m.id}** (${m.breaks}): ${EXPLAINED.get(m.id) ?? "not explained yet"}`),
    "",
  ];
}

function operatorPart({ seed, all, drawn, fates }: Known["operators"]): string[] {
  if (fates.length === 0) {
    return [
      "## Operator mutants",
      "",
      "Not hunted since the source changed last; `deno task mutants` does it.",
      "",
    ];
  }
  const simulation = fates.filter((f) => f.simulation !== undefined);
  const test = fates.filter((f) => f.simulation === undefined && f.test !== undefined);
  const left = fates.filter((f) => f.simulation === undefined && f.test === undefined);
  const files = [...new Set(fates.map((f) => f.file))].toSorted();
  return [
    "## Operator mutants",
    "",
    `${drawn} of ${all} mutants, drawn from the number ${seed}; texts are not mutated. ` +
    `${drawn - fates.length} of them are gone with their code. The simulation catches ` +
    `${simulation.length} within ${
      fates[0]?.seeds
    } seeds, unit tests ${test.length} of the others; ${left.length} survive.`,
    "",
    "| file | mutants | simulation | unit tests | survive |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...files.map((file) => {
      const count = (of: readonly OperatorFate[]) => of.filter((f) => f.file === file).length;
      return `| \`${file}\` | ${count(fates)} | ${count(simulation)} | ${count(test)} | ${count(left)} |`;
    }),
    "",
    `By seeds needed: ${histogram(simulation)}.`,
    "",
    ...(left.length === 0 ? [] : ["### Survivors", ""]),
    ...left.map((f) =>
      `- \`${f.file}:${f.line}\` ${f.operator}: ${code(f.was)} became ${code(f.is)}: ${
        EXPLAINED.get(keyOf(f)) ?? "not explained yet"
      }`
    ),
    "",
  ];
}

function histogram(fates: readonly OperatorFate[]): string {
  const steps = [1, 2, 5, 10, 20, 40, 60, 100, 300];
  const within = (n: number) =>
    fates.filter((f) =>
      f.simulation !== undefined && "seed" in f.simulation.trial && f.simulation.trial.seed <= n
    )
      .length;
  const most = Math.max(0, ...fates.map((f) => f.seeds));
  return steps.filter((n) => n <= most).map((n) => `${within(n)} within ${n}`).join(", ");
}

function code(text: string): string {
  return text === "" ? "nothing" : `\`\` ${text.replaceAll("|", "\\|")} \`\``;
}
