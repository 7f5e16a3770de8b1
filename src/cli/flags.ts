/**
 * The command line: `start`, `demo`, `cloud`, `plan` and `statechart`, parsed to typed options or to a text and an exit code.
 *
 * Nothing here prints, exits or loads a command: `main.ts` does that with the {@linkcode Invocation} it gets.
 *
 * @module
 */
import { Command, CommanderError } from "commander";
import { messageOf } from "../core/text.ts";
import { maskUrls } from "../server/mask.ts";
import type { CloudOptions } from "./cloud.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { addFlags, readFlags } from "./flag.ts";
import type { DemoOptions, StartOptions } from "./options.ts";
import { PLAN_FLAGS, type PlanOptions, toPlanOptions } from "./plan_options.ts";
import { DEMO_FLAGS, START_FLAGS, toDemoOptions, toStartOptions } from "./options.ts";
import { STATECHART_FLAGS, type StatechartOptions, toStatechartOptions } from "./statechart_options.ts";

/** Exit code of a command line that is wrong. */
export const EXIT_USAGE = 2;

/** What the command line asks for. */
export type Invocation =
  | { readonly command: "start"; readonly options: StartOptions }
  | { readonly command: "demo"; readonly options: DemoOptions }
  | { readonly command: "cloud"; readonly options: CloudOptions }
  | { readonly command: "plan"; readonly options: PlanOptions }
  | { readonly command: "statechart"; readonly options: StatechartOptions }
  /** `--help` and `--version`: `text` belongs on stdout, exit 0. */
  | { readonly command: "help"; readonly text: string }
  /** A wrong command line: `text` belongs on stderr, exit {@linkcode EXIT_USAGE}. */
  | { readonly command: "usage"; readonly text: string };

/** What {@linkcode parseCommandLine} takes besides the arguments. */
export interface CommandLineOptions {
  /** Whether the process runs in a cluster: `start` then insists on `--provider`. */
  readonly inPod: boolean;
  /** Shown by `--version`. */
  readonly version: string;
}

/** Parses `args` (without the program's name) and the `EDB_…` variables. Never rejects for a wrong command line. */
export async function parseCommandLine(
  args: readonly string[],
  options: CommandLineOptions,
): Promise<Invocation> {
  let out = "";
  let result: Invocation | undefined;
  const program = new Command("externaldatabase-operator")
    .description(
      "Keeps one external database in step with each ExternalDatabase resource of a Kubernetes cluster.",
    )
    .version(options.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => out += text,
      writeErr: (text) => out += text,
      getOutHelpWidth: () => 110,
      getErrHelpWidth: () => 110,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError("Run it with --help to see the commands and flags.");

  const define = (
    name: string,
    description: string,
    flags: readonly Flag[],
    toInvocation: (values: FlagValues) => Invocation,
  ) => {
    const command = program.command(name).description(description).helpOption("-h, --help", "print this help")
      .showHelpAfterError(`Run ${name} --help to see the flags.`)
      .action(() => {
        try {
          result = toInvocation(readFlags(command, flags));
        } catch (error) {
          command.error(`error: ${messageOf(error)}`);
        }
      });
    addFlags(command, flags);
  };

  define("start", "run the operator against a cluster", START_FLAGS, (values) => ({
    command: "start",
    options: toStartOptions(values, options.inPod),
  }));
  define(
    "demo",
    "run a whole world on this machine: Kubernetes API, cloud, operator, samples",
    DEMO_FLAGS,
    (values) => ({
      command: "demo",
      options: toDemoOptions(values),
    }),
  );
  // Loaded only for its own command, so that no other one pays for the cloud's server.
  const cloud = args[0] === "cloud" ? await import("./cloud.ts") : undefined;
  define("cloud", "serve the simulated cloud over HTTP", cloud?.cloudFlags ?? [], (values) => {
    if (!cloud) throw new Error("Give the flags after the command: cloud --flag value");
    return { command: "cloud", options: cloud.toCloudOptions(values) };
  });
  define("plan", "say what the operator would do now, without doing it", PLAN_FLAGS, (values) => ({
    command: "plan",
    options: toPlanOptions(values),
  }));
  define("statechart", "print the statechart that the operator runs", STATECHART_FLAGS, (values) => ({
    command: "statechart",
    options: toStatechartOptions(values),
  }));

  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0
      ? { command: "help", text: out }
      // A value may be a URL with a password in it, given to the wrong flag.
      : { command: "usage", text: maskUrls(out) };
  }
  return result ?? { command: "usage", text: out };
}
