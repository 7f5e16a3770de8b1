/**
 * The parts of a soak, each a process of its own that may be killed: the operator and the cloud. The cluster's are in
 * tests-real/support/kube.ts.
 *
 * @module
 */
import { usageOf } from "../../bench/process.ts";
import { denoArgs } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { endBackground, startBackground } from "../../tests-real/support/process.ts";

/** Whether a process runs; a dead one that nobody has reaped does not. */
export function runs(pid: number): boolean {
  try {
    if (!/^\d+ \(.*\) [ZX] /s.test(Deno.readTextFileSync(`/proc/${pid}/stat`))) return true;
    return [...Deno.readDirSync(`/proc/${pid}/task`)].length > 1; // its last threads still hold its ports
  } catch {
    return false; // it has no entry any more
  }
}

/** What a {@linkcode Part} runs. */
export interface PartOptions {
  readonly name: string;
  /** Holds its log and pid files. */
  readonly dir: string;
  /** Arguments of `main.ts`, asked at each start with the number of starts before. */
  readonly args: (starts: number) => readonly string[];
  readonly permissions: readonly string[];
  /** Resolves with true once it serves. */
  readonly ready: () => Promise<boolean>;
}

/** A process of `main.ts` that is killed and started again. */
export class Part {
  #pid: number | undefined;
  #starts = 0;
  /** The highest memory that one of its processes had, in MiB. */
  peakMiB = 0;

  constructor(private readonly options: PartOptions) {}

  get starts(): number {
    return this.#starts;
  }

  /** Starts it and waits until it serves. */
  async start(): Promise<void> {
    const { name, dir, args, permissions, ready } = this.options;
    this.#pid = await startBackground({
      name,
      dir,
      command: Deno.execPath(),
      args: denoArgs(args(this.#starts++), permissions),
    });
    await eventually(
      `the ${name} serves`,
      async () => {
        if (!this.alive) throw new Error(`Starting the ${name} failed: ${await this.tail()}`);
        return await ready().catch(() => false);
      },
      60_000,
      50,
    );
  }

  /** Whether its process runs. */
  get alive(): boolean {
    return this.#pid !== undefined && runs(this.#pid);
  }

  /** Looks at its memory; in MiB, 0 when it does not run. */
  measure(): number {
    if (this.#pid === undefined || !this.alive) return 0;
    try {
      const usage = usageOf(this.#pid);
      if (usage.peakMiB > this.peakMiB) this.peakMiB = usage.peakMiB;
      return usage.rssMiB;
    } catch {
      return 0; // it ended in between
    }
  }

  /** SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    this.measure();
    this.#pid = undefined;
    await endBackground(this.options.dir, this.options.name);
  }

  /** Freezes or wakes it. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (this.#pid !== undefined && this.alive) Deno.kill(this.#pid, signal);
  }

  /** The end of its log. */
  async tail(lines = 10): Promise<string> {
    const log = await Deno.readTextFile(`${this.options.dir}/${this.options.name}.log`).catch(() => "");
    return log.trimEnd().split("\n").slice(-lines).join("\n");
  }
}
