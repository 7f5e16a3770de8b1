/** Runs the program itself, with the permissions that its task gives it and no more. @module */

/** What a run left behind. */
export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const ROOT = new URL("../../", import.meta.url).pathname;

/** The import map that this test process runs under, if any, so that the child needs no look-up of its own. */
export function mapFlags(): string[] {
  return import.meta.resolve("@std/assert").startsWith("file:")
    ? [`--import-map=${ROOT}npm.import_map.json`]
    : [];
}

/**
 * Arguments of `deno` before the program, under `permissions`; quiet, for on a new machine Deno tells on stderr what it
 * downloads, and what is read there is to be the program's own.
 */
export function denoFlags(permissions: readonly string[]): string[] {
  return ["run", "--quiet", "--no-prompt", "--no-check", ...permissions, ...mapFlags()];
}

/** Arguments of `deno` for `main.ts args…` under `permissions`. */
export function denoArgs(args: readonly string[], permissions: readonly string[]): string[] {
  return [...denoFlags(permissions), `${ROOT}main.ts`, ...args];
}

/** Variables of a child that must see none of this machine's own settings. */
export function cleanEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = ["PATH", "HOME", "DENO_DIR", "TMPDIR"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), NO_COLOR: "1", ...extra };
}

/** Runs `main.ts args…` to its end. */
export async function main(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  permissions: readonly string[] = ["--allow-env", "--allow-read"],
): Promise<Run> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: denoArgs(args, permissions),
    env: cleanEnv(env),
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, out: text(output.stdout), err: text(output.stderr) };
}

/** How long a child may take for what is awaited, in milliseconds: a busy machine is not what is tried. */
const CHILD_LIMIT_MS = 90_000;

/** A running `main.ts args…`. {@linkcode Child.end} must be called in any case. */
export class Child {
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<unknown>;
  readonly #decoder = [new TextDecoder(), new TextDecoder()] as const;
  #waiters: (() => void)[] = [];
  #ended = false;
  /** What it wrote so far. */
  out = "";
  err = "";

  constructor(
    args: readonly string[],
    permissions: readonly string[],
    options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
  ) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: denoArgs(args, permissions),
      env: cleanEnv(options.env),
      clearEnv: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#reading = Promise.all([
      this.#read(this.#process.stdout, (text) => this.out += text, 0),
      this.#read(this.#process.stderr, (text) => this.err += text, 1),
    ]).finally(() => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** The first line of standard output that `wanted` accepts. Rejects when it ends or takes too long before. */
  async line(wanted: (line: string) => boolean): Promise<string> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#wake();
    }, CHILD_LIMIT_MS);
    try {
      while (true) {
        const found = this.out.split("\n").slice(0, -1).find(wanted);
        if (found !== undefined) return found;
        if (this.#ended || late) throw new Error(`No such line; it wrote:\n${this.out}\n${this.err}`);
        await new Promise<void>((resolve) => this.#waiters.push(resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends it a signal. */
  kill(signal: Deno.Signal): void {
    this.#process.kill(signal);
  }

  /** Its exit code, once it ended and all that it wrote was read. */
  async code(): Promise<number> {
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), CHILD_LIMIT_MS);
    const { code } = await this.#process.status;
    clearTimeout(timer);
    await this.#reading;
    return code;
  }

  /** Ends it if it still runs. */
  async end(): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended by itself
    }
    await this.#process.status;
    await this.#reading;
  }

  async #read(stream: ReadableStream<Uint8Array>, add: (text: string) => void, which: 0 | 1): Promise<void> {
    for await (const bytes of stream) {
      add(this.#decoder[which].decode(bytes, { stream: true }));
      this.#wake();
    }
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}
