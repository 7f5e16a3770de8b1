/**
 * Processes that tests start: in the background, with a log file and a pid file, ended by pid alone.
 *
 * A process belongs to the whole test process, not to one test: it is started detached, so that neither the test
 * runner's resource checks nor the end of one test file ends it. {@linkcode guard} ends it however the test process ends.
 *
 * @module
 */

/** What a finished command said. */
export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of {@linkcode run}. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Text for its standard input. */
  readonly stdin?: string;
  /** @default 60000 */
  readonly timeoutMs?: number;
}

/** Runs a command to its end. Throws when it cannot be started; a time-out kills it and throws. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Output> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(command, {
      args: [...args],
      stdin: options.stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: options.env }),
    }).spawn();
  } catch (cause) {
    throw new Error(`Starting "${command}" failed: is it installed and on PATH?`, { cause });
  }
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  try {
    const fed = options.stdin === undefined ? undefined : feed(child, options.stdin);
    const output = await child.output();
    await fed;
    if (late) throw new Error(`Running "${command} ${args.join(" ")}" took longer than ${timeoutMs} ms`);
    const text = new TextDecoder();
    return { code: output.code, stdout: text.decode(output.stdout), stderr: text.decode(output.stderr) };
  } finally {
    clearTimeout(timer);
  }
}

async function feed(child: Deno.ChildProcess, text: string): Promise<void> {
  const writer = child.stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch (error) {
    // The command ended without reading all of it: its own code and output say why.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** Runs a command and throws, with what it said, unless it ends with 0. Returns its standard output. */
export async function must(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const output = await run(command, args, options);
  if (output.code !== 0) {
    throw new Error(
      `Running "${command} ${args.join(" ")}" ended with ${output.code}: ${
        (output.stderr || output.stdout).trim()
      }`,
    );
  }
  return output.stdout;
}

/** A process to be started in the background. */
export interface BackgroundCommand {
  /** Names its files: `<dir>/<name>.log` and `<dir>/<name>.pid`. */
  readonly name: string;
  readonly dir: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** Starts a process detached from this one, its output appended to its log. Returns its pid. */
export async function startBackground(process: BackgroundCommand): Promise<number> {
  const { dir, name, command, args } = process;
  const script = 'log=$1; shift; "$@" >> "$log" 2>&1 < /dev/null & echo $!';
  const pid = Number(
    (await must("sh", ["-c", script, "sh", `${dir}/${name}.log`, command, ...args], { cwd: dir })).trim(),
  );
  await Deno.writeTextFile(`${dir}/${name}.pid`, `${pid}\n`);
  return pid;
}

/** Pid of a process started by {@linkcode startBackground}, or undefined when it was never started or has been ended. */
export async function backgroundPid(dir: string, name: string): Promise<number | undefined> {
  try {
    return Number((await Deno.readTextFile(`${dir}/${name}.pid`)).trim());
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * True while a process runs; a dead one that nobody has reaped yet counts as ended, once the last of its threads is
 * gone too: until then it holds its ports.
 */
export async function alive(pid: number): Promise<boolean> {
  const probe = await run("sh", [
    "-c",
    'kill -0 "$1" 2> /dev/null || exit 1; ls "/proc/$1/task" 2> /dev/null | wc -l; cat "/proc/$1/stat" 2> /dev/null || true',
    "sh",
    `${pid}`,
  ]);
  if (probe.code !== 0) return false;
  const [, threads, dead] = /^\s*(\d+)\s+\d+ \(.*\) ([ZX])? ?/s.exec(probe.stdout) ?? [];
  return dead === undefined || Number(threads) > 1;
}

/** Ends a background process and waits until it is gone: the given signal, then SIGKILL after 10 s. */
export async function endBackground(
  dir: string,
  name: string,
  signal: Deno.Signal = "SIGKILL",
): Promise<void> {
  const pid = await backgroundPid(dir, name);
  if (pid === undefined) return;
  kill(pid, signal);
  if (!await gone(pid, 10_000)) {
    kill(pid, "SIGKILL");
    if (!await gone(pid, 10_000)) throw new Error(`Ending ${name} (pid ${pid}) failed: it outlived SIGKILL`);
  }
  await Deno.remove(`${dir}/${name}.pid`);
}

async function gone(pid: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (await alive(pid)) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

function kill(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it ended by itself in between
  }
}

/**
 * Ends every process that has a pid file in `dir` and removes `dir`, as soon as this process is gone, whatever ended
 * it (SIGKILL included). The guard ends by itself when `dir` is removed.
 */
export async function guard(dir: string): Promise<void> {
  const script = `( while kill -0 "$1" 2> /dev/null && [ -d "$2" ]; do sleep 1; done
    for f in "$2"/*.pid; do [ -f "$f" ] && kill -9 "$(cat "$f")"; done; rm -rf "$2" ) > /dev/null 2>&1 < /dev/null &`;
  await must("sh", ["-c", script, "sh", `${Deno.pid}`, dir]);
}

/** `count` loopback ports that nothing listens on, below the range that outgoing connections use. */
export function freePorts(count: number): number[] {
  const held: Deno.Listener[] = [];
  try {
    for (let tries = 0; held.length < count; tries++) {
      if (tries > 1_000) throw new Error(`Finding ${count} free ports failed after ${tries} tries`);
      try {
        held.push(Deno.listen({ hostname: "127.0.0.1", port: 20_000 + Math.floor(Math.random() * 12_000) }));
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      }
    }
    return held.map((listener) => (listener.addr as Deno.NetAddr).port);
  } finally {
    for (const listener of held) listener.close();
  }
}
