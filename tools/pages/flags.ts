/**
 * docs/reference/flags.md: every command with its flags, from the tables that commander is given.
 *
 * @module
 */
import { cloudFlags } from "../../src/cli/cloud.ts";
import { envName, type Flag } from "../../src/cli/flag.ts";
import { EXIT_USAGE, parseCommandLine } from "../../src/cli/flags.ts";
import { DEMO_FLAGS, START_FLAGS } from "../../src/cli/options.ts";
import { STATECHART_FLAGS } from "../../src/cli/statechart_options.ts";
import { PLAN_FLAGS } from "../../src/cli/plan_options.ts";
import { code, codes, generatedFrom, page, table } from "./markdown.ts";

/** The flags of each command. */
export const COMMAND_FLAGS: Readonly<Record<string, readonly Flag[]>> = {
  start: START_FLAGS,
  demo: DEMO_FLAGS,
  plan: PLAN_FLAGS,
  statechart: STATECHART_FLAGS,
  cloud: cloudFlags,
};

/** What `--help` says: of the program, or of a command. */
export async function helpOf(...command: readonly string[]): Promise<string> {
  const help = await parseCommandLine([...command, "--help"], { inPod: false, version: "0.0.0" });
  if (help.command !== "help") throw new Error(`"${command.join(" ")} --help" says no help`);
  return help.text;
}

/** The page about the commands. */
export async function flagsPage(): Promise<string> {
  const sections = await Promise.all(
    Object.entries(COMMAND_FLAGS).map(async ([name, flags]) => {
      const about = /^Usage: .*\n\n([^]*?)\n\n/.exec(await helpOf(name))?.[1] ?? "";
      return [
        `## ${name}`,
        `\`deno task ${name}\`: ${about.replaceAll("\n", " ")}.`,
        table(["flag", "variable", "default", "meaning"], flags.map(row)),
      ];
    }),
  );
  return page(
    generatedFrom(
      "src/cli/options.ts, src/cli/plan_options.ts, src/cli/statechart_options.ts and src/cli/cloud.ts",
    ),
    "# Commands and flags",
    "`deno task NAME` runs `main.ts NAME`; `--help` after it says what is said here. Every flag has an environment variable, and " +
      `the flag goes first. Durations are written ${
        codes(["30s", "5m", "1h30m"])
      }. Exit codes: 0 well, 1 failed, ${EXIT_USAGE} wrong ` +
      "command line (the message names the flag); [those of `plan`](../plan.md) are its own. A switch is turned off by " +
      "`--no-NAME` or `--NAME=false`.",
    ...sections.flat(),
  );
}

function row(flag: Flag): string[] {
  const value = flag.value === undefined ? "" : ` ${flag.choices?.join("|") ?? flag.value.toUpperCase()}`;
  const short = flag.short === undefined ? "" : `${code(`-${flag.short}`)}, `;
  // A default that depends on something else is told in words, at the end of the description.
  const [all = "", more, told] = / \(([^()]*; else )?default: ([^()]*)\)$/.exec(flag.description) ?? [];
  const meaning = more === undefined && all !== ""
    ? flag.description.slice(0, -all.length)
    : flag.description;
  return [
    `${short}${code(`--${flag.name}${value}`)}`,
    code(envName(flag.name)),
    flag.default === undefined ? told ?? "" : code(flag.default),
    `${meaning}${flag.repeatable && !meaning.includes("repeat it") ? ". May be given more than once" : ""}`,
  ];
}
