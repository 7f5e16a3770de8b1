/**
 * Runs one command: parses, loads the command's own code alone, and turns what happens into an exit code.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { noTracing, type Tracing } from "../core/tracing.ts";
import { createLogger, stdoutWriter } from "../server/logger.ts";
import { loadTracing } from "../server/tracing.ts";
import { describeFailure } from "./failure.ts";
import type { Invocation } from "./flags.ts";
import { EXIT_USAGE, parseCommandLine } from "./flags.ts";
import type { LogOptions } from "./options.ts";
import { OF_A_TERMINAL, untilSignal } from "./signals.ts";

/** Exit code of a command that failed. */
export const EXIT_FAILED = 1;

/**
 * Runs what `args` ask for and resolves with the exit code: 0, 1 (failed) or 2 (wrong command line). Of `plan`, 2 means
 * that something would be done, and a wrong command line is a failure.
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const inPod = Deno.env.get("KUBERNETES_SERVICE_HOST") !== undefined;
    const invocation = await parseCommandLine(args, { inPod, version: project.version });
    if (invocation.command === "usage") {
      await print(Deno.stderr, invocation.text);
      return args[0] === "plan" ? EXIT_FAILED : EXIT_USAGE;
    }
    return await dispatch(invocation) ?? 0;
  } catch (error) {
    await print(Deno.stderr, `error: ${describeFailure(error)}\n`);
    return EXIT_FAILED;
  }
}

/** Commands are imported when they run: `statechart` does not pay for the Kubernetes client. */
async function dispatch(invocation: Exclude<Invocation, { command: "usage" }>): Promise<number | void> {
  switch (invocation.command) {
    case "help":
      return await print(Deno.stdout, invocation.text);
    case "plan": {
      const { runPlan } = await import("./plan.ts");
      const say = (text: string) => print(Deno.stdout, text);
      const terminal = Deno.stdout.isTerminal() && !Deno.env.get("NO_COLOR");
      let code: number | undefined;
      await untilSignal(AMBIENT.clock, async (signal) => {
        code = await runPlan(invocation.options, { ...AMBIENT, signal, say, terminal });
      });
      return code ?? EXIT_FAILED;
    }
    case "statechart": {
      const { of } = invocation.options;
      if (of !== undefined) {
        const { showStatechart } = await import("./statechart_of.ts");
        return await print(Deno.stdout, await showStatechart(of, { clock: AMBIENT.clock, fetch }));
      }
      const { drawStatechart } = await import("./statechart.ts");
      return await print(Deno.stdout, await drawStatechart(invocation.options));
    }
    case "start": {
      const { runStart } = await import("./start.ts");
      const tracing = await loadTracing(project.version);
      const log = logger(invocation.options, tracing);
      return await untilSignal(
        AMBIENT.clock,
        (signal) => runStart(invocation.options, { ...AMBIENT, log, signal, tracing }),
      );
    }
    case "demo": {
      const { runDemo } = await import("./demo.ts");
      const tracing = await loadTracing(project.version);
      const log = logger(invocation.options, tracing);
      const say = (text: string) => print(Deno.stdout, text);
      return await untilSignal(
        AMBIENT.clock,
        (signal) => runDemo(invocation.options, { ...AMBIENT, log, signal, say, tracing }),
        OF_A_TERMINAL,
      );
    }
    case "cloud": {
      const { runCloud } = await import("./cloud.ts");
      const log = logger({ logFormat: "text", logLevel: "info" });
      return await untilSignal(
        AMBIENT.clock,
        (signal) => runCloud(invocation.options, { ...AMBIENT, log, signal }),
        OF_A_TERMINAL,
      );
    }
  }
}

const AMBIENT = { clock: systemClock, random: systemRandom } as const;

function logger(options: LogOptions, tracing: Tracing = noTracing) {
  return createLogger({
    format: options.logFormat,
    level: options.logLevel,
    clock: systemClock,
    context: tracing.on ? tracing.ids : undefined,
    write: stdoutWriter(),
  });
}

/** Writes all of `text`; a reader that has gone (`| head`) is no failure. */
async function print(to: typeof Deno.stdout | typeof Deno.stderr, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
