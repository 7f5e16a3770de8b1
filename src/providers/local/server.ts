/**
 * One PostgreSQL server on this machine: its folder is made, and its process started, found again, watched and ended.
 *
 * The process is detached: neither a Ctrl-C that is meant for the operator nor a kill -9 of it ends a database that is
 * at work. The next operator finds it by postmaster.pid and takes it over.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import type { Random } from "../../core/random.ts";
import { DeadlineError, sleep, withDeadline } from "../../core/wait.ts";
import { asServer, giveToServer, isOurs, processesOf, signalOurs, untilEnded } from "./processes.ts";
import { SUPERUSER } from "./sql.ts";

/** Longest time of a start, of a fast shutdown, and of an immediate one, in milliseconds. */
const START_MS = 60_000;
const FAST_MS = 10_000;
const IMMEDIATE_MS = 5_000;
/** Time between looks at a server that starts, in milliseconds. */
const LOOK_MS = 20;
/** Ports are taken from here, below those that systems give to outgoing connections. */
const PORTS = { from: 20_000, count: 12_000 };

/** What each server is started with: small, for many of them on one machine, and reached over loopback alone. */
const SETTINGS: Readonly<Record<string, string | number>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  password_encryption: "scram-sha-256",
  shared_buffers: "16MB",
  max_connections: 50,
  wal_level: "minimal",
  max_wal_senders: 0,
  min_wal_size: "32MB",
  max_wal_size: "256MB",
  jit: "off",
  dynamic_shared_memory_type: "mmap", // in the data folder, and so removed with it
  logging_collector: "on",
  log_filename: "postgres-%a.log", // at most a week of them
  log_truncate_on_rotation: "on",
  log_rotation_size: 0,
};

/** What a {@linkcode LocalServer} is made of. */
export interface LocalServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Its folder, known to it alone; made by {@linkcode LocalServer.initialise}. */
  readonly folder: string;
  /** Folder of its major's `bin`. */
  readonly binaries: () => Promise<string>;
}

/** A server's process. */
export interface RunningServer {
  readonly pid: number;
  readonly port: number;
  /** Resolves once the process is gone, for whatever reason. */
  readonly ended: Promise<void>;
}

/** One server. Its methods are called one at a time. */
export class LocalServer {
  readonly #data: string;
  /** The process that runs, as far as is known. */
  #running: Omit<RunningServer, "port"> | undefined;

  constructor(private readonly options: LocalServerOptions) {
    this.#data = `${options.folder}/data`;
  }

  /** Makes an empty cluster; what an earlier try left is ended and removed. */
  async initialise(superuserPassword: string): Promise<void> {
    await this.remove();
    const { folder, binaries } = this.options;
    const bin = await binaries();
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    const passwordFile = `${folder}/password`;
    await Deno.writeTextFile(passwordFile, superuserPassword, { mode: 0o600 });
    await giveToServer(passwordFile);
    await giveToServer(folder);
    const output = await new Deno.Command(`${bin}/initdb`, {
      args: [
        ...["-D", this.#data, "-U", SUPERUSER, "-A", "scram-sha-256", `--pwfile=${passwordFile}`],
        ...["--no-locale", "-E", "UTF8", "--no-sync", "--no-instructions"],
      ],
      ...asServer(),
    }).output();
    if (!output.success) {
      const why = new TextDecoder().decode(output.stderr).trim().slice(-400);
      throw new Error(`Making a PostgreSQL cluster ended with ${output.code}: ${why}`);
    }
    await Deno.remove(passwordFile);
  }

  /** The process that an operator before this one started, if it lives and takes connections or is about to. */
  async adopt(signal: AbortSignal): Promise<RunningServer | undefined> {
    const { pid } = await this.#pidFile();
    if (pid === undefined || !await isOurs(pid, this.#data)) return undefined;
    const running = this.#note({ pid, ended: untilEnded(this.options.clock, pid, this.#data) });
    const port = await this.#ready(running, signal);
    return port === undefined ? undefined : { ...running, port };
  }

  /** Starts the process and waits until it takes connections. Rejects, with what it said, when it does not. */
  async start(port: number, signal: AbortSignal): Promise<RunningServer> {
    const bin = await this.options.binaries();
    const settings = Object.entries({ ...SETTINGS, port });
    const child = new Deno.Command(`${bin}/postgres`, {
      args: ["-D", this.#data, ...settings.flatMap(([key, value]) => ["-c", `${key}=${value}`])],
      ...asServer(),
      stdout: "null",
      stderr: "piped", // until its own collector takes over
      detached: true,
    }).spawn();
    const words = new FirstWords(child.stderr);
    const running = this.#note({ pid: child.pid, ended: child.status.then(() => {}) });
    const ready = await this.#ready(running, signal) !== undefined;
    if (!ready) await this.#end(running);
    await words.stop();
    if (!ready) {
      signal.throwIfAborted();
      throw new Error(
        `Starting PostgreSQL on port ${port} failed: ${words.text.trim().slice(-400) || "no word"}`,
      );
    }
    return { ...running, port };
  }

  /** Ends the process, if there is one: sessions are broken off, data are safe. */
  async stop(): Promise<void> {
    if (this.#running !== undefined) return await this.#end(this.#running);
    const { pid } = await this.#pidFile();
    if (pid !== undefined) await this.#endStranger(pid);
  }

  /** Ends whatever works on its folder, and removes that. */
  async remove(): Promise<void> {
    await this.stop();
    if (!await isThere(this.options.folder)) return;
    // An initdb of an operator that was killed, or a server that has not written its pid yet.
    for (const pid of await processesOf(this.#data)) await this.#endStranger(pid, "SIGKILL");
    await Deno.remove(this.options.folder, { recursive: true });
  }

  /** A port of loopback that nobody listens on and that is not in `taken`. */
  freePort(taken: ReadonlySet<number>): number {
    for (let tries = 0; tries < 1_000; tries++) {
      const port = PORTS.from + Math.floor(this.options.random.next() * PORTS.count);
      if (taken.has(port)) continue;
      try {
        Deno.listen({ hostname: "127.0.0.1", port }).close();
        return port;
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      }
    }
    throw new Error("Finding a free port failed after 1000 tries");
  }

  #note(running: Omit<RunningServer, "port">): Omit<RunningServer, "port"> {
    this.#running = running;
    running.ended.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  /** Ends a process that this one did not start. */
  async #endStranger(pid: number, first?: Deno.Signal): Promise<void> {
    const over = new AbortController();
    const ended = untilEnded(this.options.clock, pid, this.#data, over.signal);
    ended.catch(() => {}); // given up below
    try {
      await this.#end({ pid, ended }, first);
    } finally {
      over.abort();
    }
  }

  async #end({ pid, ended }: Omit<RunningServer, "port">, first: Deno.Signal = "SIGINT"): Promise<void> {
    const { clock } = this.options;
    const steps = [[first, FAST_MS], ["SIGQUIT", IMMEDIATE_MS], ["SIGKILL", IMMEDIATE_MS]] as const;
    const action = `Ending PostgreSQL (pid ${pid})`;
    for (const [signal, ms] of steps) {
      await signalOurs(pid, this.#data, signal);
      const over = withDeadline({ clock, ms, action }, () => ended).then(() => true, (error: unknown) => {
        if (error instanceof DeadlineError) return false;
        throw error;
      });
      if (await over) return;
    }
    throw new Error(`${action} failed: it outlived SIGKILL`);
  }

  /** Waits until the process takes connections; resolves with its port, or nothing when it ends or takes too long. */
  async #ready(
    { pid, ended }: Omit<RunningServer, "port">,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { clock } = this.options;
    const end = clock.monotonic() + START_MS;
    let over = false;
    ended.then(() => {
      over = true;
    });
    while (clock.monotonic() < end && !over && !signal.aborted) {
      const file = await this.#pidFile();
      if (file.pid === pid && file.status === "ready") return file.port;
      await sleep(clock, LOOK_MS);
    }
    return undefined;
  }

  /** postmaster.pid: pid, data folder, start, port, sockets, address, memory, status. */
  async #pidFile(): Promise<{ pid?: number; port?: number; status?: string }> {
    let text: string;
    try {
      text = await Deno.readTextFile(`${this.#data}/postmaster.pid`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return {};
      throw error;
    }
    const [pid, _data, _start, port, _sockets, _address, _memory, status] = text.split("\n");
    if (!/^\d+$/.test(pid ?? "")) return {};
    return { pid: Number(pid), port: Number(port), status: status?.trim() ?? "" };
  }
}

/** What a process says at first; it is bounded, and ends with {@linkcode FirstWords.stop}. */
class FirstWords {
  text = "";
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #reading: Promise<void>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
    this.#reading = this.#read().catch(() => {}); // nothing more is said
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    while (this.text.length < 10_000) {
      const { value, done } = await this.#reader.read();
      if (done) return;
      this.text += decoder.decode(value, { stream: true });
    }
  }

  /** Reads no more: whoever goes on writes into nothing. */
  async stop(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    await this.#reading;
  }
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, (error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  });
}
