/**
 * Runs the commands of a document as they are written, all of them in one shell.
 *
 * @module
 */
import { commandBlocks, outputPattern } from "./commands.ts";

/** What {@linkcode runDocument} takes. */
export interface RunOptions {
  /** Where the commands run. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Notes whose blocks are left out. */
  readonly without?: readonly string[];
  /** How long one block may take, in milliseconds. @default 240000 */
  readonly limitMs?: number;
}

/** Runs a document's blocks; returns how many. Throws an Error that names the line where one fails, takes too long or prints something else. */
export async function runDocument(name: string, markdown: string, options: RunOptions): Promise<number> {
  const { directory, env, without = [], limitMs = 240_000 } = options;
  const shell = new Shell(directory, env);
  let stand = ""; // for what is missing: said in both terminals
  let ran = 0;
  try {
    for (const { line, commands, output, note } of commandBlocks(markdown)) {
      if (note !== undefined && (without.includes(note) || note.startsWith("not run"))) continue;
      const at = `${name}:${line}`;
      const wanted = output === undefined ? undefined : outputPattern(output);
      if (note?.startsWith("without")) stand += commands;
      const printed = note?.startsWith("terminal")
        ? await shell.leave(stand + commands, wanted ?? /^/, limitMs, at)
        : await shell.run(commands, limitMs, at);
      ran++;
      if (wanted?.test(printed) === false) {
        throw new Error(`${at} printed:\n${printed}\nand not:\n${output}`);
      }
    }
    return ran;
  } finally {
    await shell.end();
  }
}

/** One bash that reads block after block, and what was left running beside it. */
class Shell {
  readonly #bash: Running;
  readonly #left: Running[] = [];
  #number = 0;

  constructor(private readonly directory: string, private readonly env: Readonly<Record<string, string>>) {
    this.#bash = new Running(["bash", "--noprofile", "--norc"], directory, env);
  }

  async run(commands: string, limitMs: number, at: string): Promise<string> {
    const file = await Deno.makeTempFile({ suffix: ".sh" });
    await Deno.writeTextFile(file, commands);
    const end = `end of block ${++this.#number}`;
    const from = this.#bash.out.length;
    // In the same shell, so that functions and variables last; nothing eats the lines that follow.
    await this.#bash.write(`set -e; . ${file} < /dev/null; set +e; printf '\\n%s\\n' "${end}"\n`);
    try {
      await this.#bash.until((out) => out.includes(`\n${end}\n`, from), limitMs, at);
    } finally {
      await Deno.remove(file);
    }
    return `${this.#bash.out.slice(from, this.#bash.out.indexOf(`\n${end}\n`, from))}\n`;
  }

  /** Runs it in a terminal of its own until it has printed what is wanted. */
  async leave(commands: string, wanted: RegExp, limitMs: number, at: string): Promise<string> {
    const terminal = ["setsid", "bash", "--noprofile", "--norc", "-c", commands];
    const process = new Running(terminal, this.directory, this.env);
    this.#left.push(process);
    await process.until((out) => wanted.test(out), limitMs, at);
    return process.out;
  }

  async end(): Promise<void> {
    await this.#bash.end("KILL", false);
    for (const process of this.#left) await process.end("INT", true);
  }
}

/** A process with what it printed so far. */
class Running {
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<unknown>;
  #ended = false;
  #wake: () => void = () => {};
  out = "";

  constructor(
    [command = "", ...args]: readonly string[],
    cwd: string,
    env: Readonly<Record<string, string>>,
  ) {
    this.#process = new Deno.Command(command, {
      args,
      cwd,
      env: { ...env },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#reading = Promise.all([this.#read(this.#process.stdout), this.#read(this.#process.stderr)])
      .finally(() => {
        this.#ended = true;
        this.#wake();
      });
  }

  async write(text: string): Promise<void> {
    const writer = this.#process.stdin.getWriter();
    try {
      await writer.write(new TextEncoder().encode(text));
    } finally {
      writer.releaseLock();
    }
  }

  async until(holds: (out: string) => boolean, limitMs: number, at: string): Promise<void> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#wake();
    }, limitMs);
    try {
      while (!holds(this.out)) {
        if (this.#ended || late) {
          const what = late ? `took longer than ${limitMs} ms` : "failed";
          throw new Error(`${at} ${what}; it printed:\n${this.out}`);
        }
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it, with all that it started where it has a group of its own. */
  async end(signal: "INT" | "KILL", group: boolean): Promise<void> {
    const { pid, status, stdin } = this.#process;
    const kill = (name: string) =>
      new Deno.Command("sh", {
        args: ["-c", `kill -s ${name} -- ${group ? -pid : pid} 2> /dev/null || true`],
      })
        .output();
    await kill(signal);
    let late: Promise<unknown> = Promise.resolve();
    const timer = setTimeout(() => late = kill("KILL"), 15_000);
    await status;
    clearTimeout(timer);
    await late;
    await stdin.close().catch(() => {}); // broken where it has ended
    await this.#reading;
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      this.out += text;
      this.#wake();
    }
  }
}

/** The demo with a simulated cloud, and how to end it. */
export async function startDemo(
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<{ end(): Promise<void> }> {
  const command = ["setsid", "deno", "task", "demo", "--cloud", "simulated"];
  const demo = new Running(command, directory, env);
  try {
    await demo.until((out) => out.includes("All 3 are Ready"), 120_000, "deno task demo");
  } catch (error) {
    await demo.end("KILL", true);
    throw error;
  }
  return { end: () => demo.end("INT", true) };
}

const ROOT = new URL("../../", import.meta.url);
const PARTS = ["main.ts", "deno.json", "deno.lock", "npm.import_map.json", "src", "tools", "crds", "deploy"];

/** What a person has who has this repository: its program, in a directory of its own. */
export async function checkOut(): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "docs-" });
  for (const name of PARTS) await copy(new URL(name, ROOT).pathname, `${directory}/${name}`);
  return directory;
}

async function copy(from: string, to: string): Promise<void> {
  if (!(await Deno.stat(from)).isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

/** The variables of a shell that has Deno on its path, and the programs of `folders` before it. */
export function shellEnv(...folders: readonly string[]): Record<string, string> {
  const kept = ["HOME", "DENO_DIR", "TMPDIR"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const deno = Deno.execPath().replace(/\/[^/]*$/, "");
  return {
    ...Object.fromEntries(kept),
    NO_COLOR: "1",
    PATH: [...folders, deno, Deno.env.get("PATH") ?? ""].join(":"),
    EDB_LISTEN: "127.0.0.1:0", // the port that a document speaks of may be taken here
  };
}
