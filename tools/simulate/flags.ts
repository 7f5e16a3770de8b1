/**
 * The flags of `deno task simulate`.
 *
 * @module
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../../src/api/duration.ts";
import { parsePin, type Pins } from "../../src/simulation/pins.ts";
import { whole } from "../flags.ts";

/** What was asked for. */
export interface Flags {
  readonly seeds: number;
  readonly from: number;
  readonly seed?: number;
  readonly plan?: string;
  readonly workers: number;
  readonly shrink?: boolean;
  readonly exhaustive?: boolean;
  readonly sample: number;
  readonly coverage?: boolean;
  readonly strict?: boolean;
  readonly digests?: boolean;
  readonly pins: Pins;
  readonly subject: "operator" | "article";
}

/** Passes what `parse` throws on as a wrong flag. */
function parsed<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };
}

/** Reads the flags. Throws commander's errors, which carry an exit code. */
export function parseFlags(args: readonly string[]): Flags {
  const program = new Command("deno task simulate")
    .description("Runs the whole operator in simulated worlds of faults, and judges every step.")
    .option("--seeds <n>", "how many seeds to run", whole(1), 1_000)
    .option("--from <seed>", "the first of them", whole(0), 1)
    .option("--seed <seed>", "run one seed and print everything that happened", whole(0))
    .option("--plan <file>", "run one plan from a JSON file, - for stdin, and print everything that happened")
    .addOption(
      new Option("--tokens <yes|no|drawn>", "whether the provider honours client tokens")
        .choices(["yes", "no", "drawn"]).default("drawn"),
    )
    .option("--read-lag <duration>", "how long its lists may miss a new database", parsed(parseDuration))
    .option(
      "--pin <setting=value>",
      "any other setting of the simulated cloud, in place of what the seed draws (again for more)",
      (text: string, pins: Pins) => ({ ...pins, ...parsed(parsePin)(text) }),
      {},
    )
    .addOption(
      new Option(
        "--subject <operator|article>",
        "what is run: the article's is the reconciler known to be bad",
      )
        .choices(["operator", "article"]).default("operator"),
    )
    .option("--workers <n>", "how many threads run seeds", whole(1), navigator.hardwareConcurrency)
    .option("--shrink", "with --seed: find a smaller plan that breaks the same promise, and print it")
    .option("--exhaustive", "every crash point of short scripts × another fault, in place of seeds")
    .option("--sample <n>", "with --exhaustive: about one schedule in n", whole(1), 1)
    .option("--coverage", "print which fault struck in which state, and the transitions")
    .option(
      "--strict",
      "fail too when a fault met a state that is excused from it, or one did not that is not",
    )
    .option("--digests", "print a hash of everything that happened for each seed")
    .exitOverride();
  const { tokens, readLag, pin, ...rest } = program.parse([...args], { from: "user" })
    .opts<Omit<Flags, "pins"> & { tokens: string; readLag?: number; pin: Pins }>();
  const pins: Pins = {
    ...(tokens === "drawn" ? {} : { clientTokens: tokens === "yes" }),
    ...(readLag === undefined ? {} : { readLagMs: readLag }),
    ...pin,
  };
  if (rest.exhaustive && Object.keys(pins).length > 0) {
    program.error("error: --exhaustive tries tokens and read lags of its own; it takes no pins");
  }
  return { ...rest, pins };
}
