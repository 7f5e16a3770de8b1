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
/** Time between looks at a process of others, in milliseconds, and how many of them go without a look at what it is. */
const LOOK_MS = 200;
const VERIFY_LOOKS = 10;

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
    // By a command: Deno itself reads /proc only where everything is allowed. Of a zombie it is empty.
    const [command = "", option, folder] = (await said("cat", [`/proc/${pid}/cmdline`])).split("\0");
    return COMMAND.test(command) && option === "-D" && folder === data;
  }
  const line = await said("ps", ["-ww", "-o", "command=", "-p", `${pid}`]);
  return COMMAND.test(line.slice(0, line.indexOf(" -D "))) && line.includes(` -D ${data} -`);
}

/** What is started with `-D` and the data folder as its first words. */
const COMMAND = /\/bin\/(postgres|initdb)$/;

/** Pids of all PostgreSQL processes that were started on the data folder `data`. */
export async function processesOf(data: string): Promise<number[]> {
  const pids = Deno.build.os === "linux"
    ? (await said("sh", ["-c", 'grep -alsF -- "$1" /proc/[0-9]*/cmdline', "sh", data])).match(/\d+/g) ?? []
    : (await said("ps", ["-axo", "pid="])).trim().split(/\s+/);
  const found: number[] = [];
  for (const pid of pids.map(Number)) if (await isOurs(pid, data)) found.push(pid);
  return found;
}

/** The standard output of a command, whatever its exit code. */
async function said(command: string, args: string[]): Promise<string> {
  const options = { args, stdin: "null", stderr: "null" } as const;
  return new TextDecoder().decode((await new Deno.Command(command, options).output()).stdout);
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

/** Resolves once a process has ended that another process started. */
export async function untilEnded(
  clock: Clock,
  pid: number,
  data: string,
  signal?: AbortSignal,
): Promise<void> {
  for (let looks = 0; exists(pid); looks++) {
    // The pid may be another's by now, or nobody asks for the exit code of what ended.
    if (looks % VERIFY_LOOKS === 0 && !await isOurs(pid, data)) return;
    await sleep(clock, LOOK_MS, signal);
  }
}
