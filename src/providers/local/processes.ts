/**
 * Processes of the servers' user, known by pid and by what they were started with. None is ever ended on the word of a
 * file alone: its command line must name a data folder of ours.
 *
 * @module
 */
import process from "node:process";
import type { Clock } from "../../core/clock.ts";
import { sleep } from "../../core/wait.ts";

/** `nobody`: initdb and postgres refuse root. */
const NOBODY = 65_534;
/** Time between looks at a process, in milliseconds. */
const LOOK_MS = 20;

/** The user that servers run as where it is not this process's own. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  return Deno.uid() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;
}

/** What a command is run with: as the servers' user, from a folder that this user may be in. */
export function asServer(): Pick<Deno.CommandOptions, "uid" | "gid" | "cwd" | "env" | "stdin"> {
  const user = serverUser();
  return { ...user, ...(user === undefined ? {} : { cwd: "/" }), env: { LC_ALL: "C" }, stdin: "null" };
}

/** Gives a file or folder to the servers' user. */
export async function giveToServer(path: string): Promise<void> {
  const user = serverUser();
  if (user !== undefined) await Deno.chown(path, user.uid, user.gid);
}

/** Whether there is a process of this pid; also while nobody has asked for the exit code of one that ended. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/** Whether the process lives and is a PostgreSQL that was started on the data folder `data`. */
export async function isOurs(pid: number, data: string): Promise<boolean> {
  if (!exists(pid)) return false;
  if (Deno.build.os === "linux") {
    // Of a process that ended and was not reaped it is empty.
    const line = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
    const [command = "", option, folder] = line.split("\0");
    return COMMAND.test(command) && option === "-D" && folder === data;
  }
  const { stdout } = await new Deno.Command("ps", { args: ["-ww", "-o", "command=", "-p", `${pid}`] })
    .output();
  const line = new TextDecoder().decode(stdout);
  return COMMAND.test(line.slice(0, line.indexOf(" -D "))) && line.includes(` -D ${data} -`);
}

/** What is started with `-D` and the data folder as its first words. */
const COMMAND = /\/bin\/(postgres|initdb)$/;

/** Pids of all PostgreSQL processes that were started on the data folder `data`. */
export async function processesOf(data: string): Promise<number[]> {
  const pids: number[] = [];
  if (Deno.build.os === "linux") {
    for await (const { name } of Deno.readDir("/proc")) if (/^\d+$/.test(name)) pids.push(Number(name));
  } else {
    const { stdout } = await new Deno.Command("ps", { args: ["-axo", "pid="] }).output();
    pids.push(...new TextDecoder().decode(stdout).trim().split(/\s+/).map(Number));
  }
  const found: number[] = [];
  for (const pid of pids) if (await isOurs(pid, data)) found.push(pid);
  return found;
}

/** Sends a signal to a process that is ours; one that has ended is none any more. */
export async function signalOurs(pid: number, data: string, signal: Deno.Signal): Promise<void> {
  if (!await isOurs(pid, data)) return;
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it ended in between
  }
}

/** Waits until a process of ours has ended; false when it has not after `ms` milliseconds. */
export async function endedWithin(clock: Clock, pid: number, data: string, ms: number): Promise<boolean> {
  const end = clock.monotonic() + ms;
  while (await isOurs(pid, data)) {
    if (clock.monotonic() > end) return false;
    await sleep(clock, LOOK_MS);
  }
  return true;
}
