/**
 * The hunter's side of a worker: gives it jobs, hears what it says, and ends it when it hangs.
 *
 * @module
 */
import { TextLineStream } from "./lines.ts";
import { type Catch, type Job, nameOf, type TestTrial, type Trial, type Word } from "./protocol.ts";
import { ROOT } from "./tree.ts";

/** A worker that says nothing for so long, in milliseconds, hangs. */
const SILENCE_MS = 120_000;
/** Some test files work for long while they are loaded, longer on a machine that is busy. */
const LOADING_MS = 600_000;

/** What a trial without a bug reached; module code is trial `seed -1`. */
export interface Reach {
  readonly trial: Trial;
  readonly ids: readonly string[];
  readonly failed?: string | undefined;
}

/** Runs jobs in a worker process, which begins anew after it hung or died. */
export class Hunter implements AsyncDisposable {
  readonly #tree: URL;
  readonly #flags: readonly string[];
  #process: Deno.ChildProcess | undefined;
  #words: ReadableStreamDefaultReader<string> | undefined;
  #mutant: string | undefined;

  /** `flags` are those of tools/std.ts. */
  constructor(tree: URL, flags: readonly string[]) {
    this.#tree = tree;
    this.#flags = flags;
  }

  /** What catches a bug first, of `trials` in order. */
  async hunt(
    mutant: string | undefined,
    trials: readonly Trial[],
    atLoad = false,
    limitMs?: number,
  ): Promise<Catch | undefined> {
    if (atLoad || this.#mutant !== undefined) await this.#end();
    if (atLoad) this.#mutant = mutant;
    let caught: Catch | undefined;
    const end = await this.#run(
      { do: "hunt", mutant, trials, ...(limitMs === undefined ? {} : { limitMs }) },
      (word) => {
        if (word.say === "caught") caught = word.caught;
      },
    );
    return caught ?? end;
  }

  /** Which places each trial reaches when no bug is active. */
  async reach(trials: readonly Trial[]): Promise<readonly Reach[]> {
    const reached: Reach[] = [];
    const end = await this.#run({ do: "reach", trials }, (word) => {
      if (word.say === "reached") reached.push(word);
    });
    if (end !== undefined) throw new Error(`Without a bug, ${nameOf(end.trial)}: ${end.what}`);
    return reached;
  }

  /** The tests of some files. */
  async tests(files: readonly string[]): Promise<readonly TestTrial[]> {
    let tests: readonly TestTrial[] = [];
    const end = await this.#run({ do: "tests", files }, (word) => {
      if (word.say === "tests") tests = word.tests;
    }, LOADING_MS);
    if (end !== undefined) throw new Error(`Gathering the tests of ${nameOf(end.trial)}: ${end.what}`);
    return tests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  /** Runs a job; what ended the worker instead counts as a catch. */
  async #run(job: Job, hear: (word: Word) => void, limitMs = SILENCE_MS): Promise<Catch | undefined> {
    const { process, words } = this.#start();
    const writer = process.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify(job)}\n`)).catch(() => {}); // its end is heard below
    writer.releaseLock();
    let trial: Trial = { seed: 0 };
    while (true) {
      const next = await this.#next(words, limitMs);
      if (next === "silence" || next === undefined) {
        await this.#end();
        return next === "silence"
          ? { trial, oracle: "time-out", what: `it does not end within ${limitMs / 1_000} s` }
          : { trial, oracle: "crash", what: "the process dies" };
      }
      if (!next.startsWith("\u0000")) continue; // what a test prints
      const word = JSON.parse(next.slice(1)) as Word;
      if (word.say === "begin") trial = word.trial;
      if (word.say === "done") return undefined;
      hear(word);
    }
  }

  async #next(
    words: ReadableStreamDefaultReader<string>,
    limitMs: number,
  ): Promise<string | "silence" | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<"silence">((resolve) =>
      timer = setTimeout(() => resolve("silence"), limitMs)
    );
    try {
      return await Promise.race([words.read().then(({ value }) => value), silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  #start() {
    if (this.#process === undefined || this.#words === undefined) {
      const worker = new URL("tools/mutants/worker.ts", ROOT).pathname;
      this.#process = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "--no-check", "--no-lock", "-A", ...this.#flags],
          ...["--config", new URL("deno.json", ROOT).pathname, worker, this.#tree.href],
          ...(this.#mutant === undefined ? [] : [this.#mutant]),
        ],
        stdin: "piped",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      this.#words = this.#process.stdout.pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream()).getReader();
    }
    return { process: this.#process, words: this.#words };
  }

  async #end(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    this.#mutant = undefined;
    if (process === undefined) return;
    await this.#words?.cancel().catch(() => {}); // it may be at its end already
    try {
      process.kill("SIGKILL");
    } catch {
      // dead already
    }
    await process.stdin.close().catch(() => {}); // broken with the process
    await process.status;
  }
}
