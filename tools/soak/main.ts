/**
 * `deno task soak`: the operator on real parts, all of them killed at random under load, then judged.
 *
 * Exits 1 on a violation and 2 on bad flags. The seed decides which faults and deeds come in which order, not when
 * they meet: real processes have their own time.
 *
 * @module
 */
import { Command, InvalidArgumentError } from "commander";
import { exitCodeOf } from "../flags.ts";
import { say } from "../say.ts";
import { runSoak, type SoakReport } from "./soak.ts";

function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const n = Number(text);
    if (text.trim() === "" || !(n >= min && n <= max)) {
      throw new InvalidArgumentError(`it must be a number from ${min} to ${max}.`);
    }
    return n;
  };
}

interface Flags {
  readonly minutes: number;
  readonly databases: number;
  readonly rate: number;
  readonly seed?: number;
  readonly clientTokens: boolean;
}

function parseFlags(args: readonly string[]): Flags {
  const program = new Command("deno task soak")
    .description("Kills the operator, a real API server, etcd and a cloud at random under load, then judges.")
    .option("--minutes <n>", "how long faults happen", number(0.1, 10_000), 5)
    .option("--databases <n>", "how many resources there are", number(1, 20_000), 1_000)
    .option("--rate <n>", "what users do in a second", number(0.1, 500), 20)
    .option(
      "--seed <n>",
      "decides which faults and deeds come (default: another each time)",
      number(0, 2 ** 31),
    )
    .option("--no-client-tokens", "a cloud that knows none");
  program.exitOverride();
  try {
    return program.parse([...args], { from: "user" }).opts<Flags>();
  } catch (error) {
    Deno.exit(exitCodeOf(error));
  }
}

/** The figures of a run, for people. */
export function reportLines({ figures, ...r }: SoakReport): string[] {
  const { hits } = figures;
  return [
    `resources ${r.resources}, databases ${r.databases} (more than resources: kept by deletionPolicy Retain)`,
    `reported as left behind, for the API server removed the resource under the operator's finalizer: ${r.left}`,
    `faults (${figures.faults.total}): ${figures.faults}`,
    `kills of the operator: ${hits.kills}, ${hits.withCalls} with mutating calls in flight (${hits.callsInFlight} calls)`,
    `deeds of users (${figures.deeds.total}): ${figures.deeds}`,
    `answers of the API server (0: none): ${figures.answers}`,
    `calls to the cloud, as far as seen (${figures.calls.total}): ${figures.calls}`,
    `effects in the cloud, as far as seen (${figures.effects.total}): ${figures.effects}`,
    `settled ${r.settledAfter === undefined ? "never" : `${r.settledAfter.toFixed(1)} s`} after the faults`,
    `memory of the operator: ${r.peakMiB.toFixed(0)} MiB at most, ${r.endMiB.toFixed(0)} MiB at the end`,
    `lines in its log at warn: ${r.warnings}`,
  ];
}

if (import.meta.main) {
  const { minutes, databases, rate, clientTokens, seed = Math.floor(Math.random() * 2 ** 31) } = parseFlags(
    Deno.args,
  );
  const stop = new AbortController();
  const onSignal = () => {
    say("stopping");
    stop.abort(new Error("Interrupted"));
  };
  Deno.addSignalListener("SIGINT", onSignal);
  Deno.addSignalListener("SIGTERM", onSignal);
  say(`seed ${seed}: ${minutes} minutes, ${databases} resources`);
  const report = await runSoak({
    ...{ minutes, databases, rate, seed, clientTokens, say, signal: stop.signal },
  });
  for (const line of reportLines(report)) say(line);
  for (const violation of report.violations) say(`VIOLATION ${violation}`);
  say(
    stop.signal.aborted
      ? "interrupted: nothing was judged"
      : report.violations.length === 0
      ? "0 violations"
      : `${report.violations.length} violations; again with: deno task soak --minutes ${minutes} --databases ${databases} --seed ${seed}`,
  );
  Deno.exit(report.violations.length > 0 || stop.signal.aborted ? 1 : 0);
}
