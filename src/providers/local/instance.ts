/**
 * One database: its record, its server, and the loop that brings the second to what the first says.
 *
 * The record is the truth. A call changes it and is answered; the loop does the rest, begins anew from the record after
 * every failure and every death of the process, and no step of it does harm when it is done twice.
 *
 * @module
 */
import { backoffMs } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/log.ts";
import type { Random } from "../../core/random.ts";
import { messageOf } from "../../core/text.ts";
import { sleep } from "../../core/wait.ts";
import type { Database } from "../port.ts";
import type { LocalFolder } from "./folder.ts";
import type { LocalRecord } from "./record.ts";
import { LocalServer, type RunningServer } from "./server.ts";
import { changePassword, setUp } from "./sql.ts";
import { databaseOf } from "./view.ts";

/** Waits between tries of a step, and between restarts of a server that goes on ending, in milliseconds. */
const RETRY = { baseMs: 500, capMs: 30_000 };
/** A server that has run for as long has recovered, in milliseconds. */
const HEALTHY_MS = 60_000;
/** After as many failures in a row the database is `Failed`; it is tried again all the same. */
const HOPELESS = 5;

/** What an {@linkcode Instance} works with. */
export interface InstanceOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly folder: LocalFolder;
  /** The folder that holds `bin` of a version. */
  readonly binaries: (version: string) => Promise<string>;
  /** Runs what is heavy, such as initdb: a few at a time. */
  readonly heavy: <T>(work: () => Promise<T>) => Promise<T>;
  /** Ports of all the databases of the folder. */
  readonly ports: () => ReadonlySet<number>;
}

/** One database. */
export class Instance {
  #record: LocalRecord;
  #running: RunningServer | undefined;
  #failures = 0;
  /** Wakes the loop. */
  #wake: () => void = () => {};
  #awake = false;
  #writing: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  readonly #server: LocalServer;
  readonly #loop: Promise<void>;

  /** `record` is on disk. `onGone` is told when the database is deleted. */
  constructor(record: LocalRecord, private readonly options: InstanceOptions, onGone: () => void) {
    this.#record = record;
    const { clock, random, folder, binaries } = options;
    this.#server = new LocalServer({
      clock,
      random,
      folder: folder.serverFolder(record.id),
      binaries: () => binaries(record.version),
    });
    this.#loop = this.#run().then((gone) => {
      if (gone) onGone();
    });
  }

  /** As it is on disk. */
  get record(): LocalRecord {
    return this.#record;
  }

  /** Pid of the server, while it runs. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  /** The database as the port shows it. */
  get database(): Database {
    return databaseOf(this.#record, this.#state());
  }

  #state(): Pick<Database, "state" | "providerState" | "unknownState"> {
    const { phase, stale } = this.#record;
    const hopeless = this.#failures >= HOPELESS;
    if (phase === "deleting") return { state: "Deleting", providerState: "Deleting" };
    if (phase !== "ready") {
      return hopeless
        ? { state: "Failed", providerState: "CreateFailed" }
        : { state: "Provisioning", providerState: "Provisioning" };
    }
    if (this.#running === undefined) {
      return hopeless
        ? { state: "Failed", providerState: "CrashLoop" }
        : { state: "Modifying", providerState: "Restarting", unknownState: true };
    }
    const state = stale === true ? "Modifying" : "Available";
    return { state, providerState: state };
  }

  /**
   * Changes the record: `decide` gives the next one, or nothing where all stays, and is called in the tick in which the
   * write is handed over. Resolves once that is on disk.
   */
  async update(decide: (record: LocalRecord) => LocalRecord | undefined): Promise<void> {
    await this.#save(decide);
    this.#awake = true;
    this.#wake();
  }

  #save(decide: (record: LocalRecord) => LocalRecord | undefined): Promise<void> {
    const turn = this.#writing.then(async () => {
      const next = decide(this.#record);
      if (next === undefined) return;
      await this.options.folder.save(next);
      this.#record = next;
    });
    this.#writing = turn.catch(() => {}); // told to who asked for it
    return turn;
  }

  /** Ends the loop and the server. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("The provider ends"));
    this.#wake();
    await this.#loop;
    await this.#server.stop();
    this.#running = undefined;
  }

  /** Resolves with true once the database is gone, with false when the provider ends. */
  async #run(): Promise<boolean> {
    const { signal } = this.#closing;
    const { random, log } = this.options;
    while (!signal.aborted) {
      this.#awake = false;
      try {
        if (await this.#step()) return true;
      } catch (error) {
        if (signal.aborted) return false;
        const why = messageOf(error);
        log.log("warn", "Working on a local database failed; it is tried again", {
          id: this.#record.id,
          error: why,
        });
        await this.#pause(backoffMs(RETRY, this.#failures++, random));
      }
    }
    return false;
  }

  /** Does what the record says next; resolves with true once the database is gone. */
  async #step(): Promise<boolean> {
    const { folder, heavy, log } = this.options;
    const { id, phase, superuserPassword, username, verifier, database } = this.#record;
    switch (phase) {
      case "deleting":
        await this.#server.remove();
        this.#running = undefined;
        await folder.forget(id);
        log.log("info", "A local database is deleted", { id });
        return true;
      case "new":
        await heavy(() => this.#server.initialise(superuserPassword));
        await this.#advance("new", { phase: "initialised" });
        return false;
      case "initialised": {
        const { port } = await this.#start();
        await setUp({ port, password: superuserPassword }, { database, username, verifier });
        this.#failures = 0;
        await this.#advance("initialised", { phase: "ready" });
        return false;
      }
      case "ready": {
        const running = await this.#start();
        await this.#renewPassword(running.port);
        await this.#untilNews(running);
        return false;
      }
    }
  }

  /** Writes the end of a phase, unless a delete came in between. */
  async #advance(from: LocalRecord["phase"], change: Partial<LocalRecord>): Promise<void> {
    await this.#save((record) => record.phase === from ? { ...record, ...change } : undefined);
  }

  /** The server's process: the one that runs, one of an operator before, or a new one. */
  async #start(): Promise<RunningServer> {
    if (this.#running !== undefined) return this.#running;
    const { heavy, log, ports } = this.options;
    const { id, version } = this.#record;
    const { signal } = this.#closing;
    const adopted = await this.#server.adopt(signal);
    const running = adopted ?? await heavy(() => {
      const { port } = this.#record;
      // Somebody else may have taken the port: a second try takes another.
      const wanted = port === undefined || this.#failures > 0 && isTaken(port)
        ? this.#server.freePort(ports())
        : port;
      return this.#server.start(wanted, signal);
    });
    const { clock } = this.options;
    const since = clock.monotonic();
    this.#running = running;
    running.ended.then(() => {
      this.#running = undefined;
      if (clock.monotonic() - since > HEALTHY_MS) this.#failures = 0;
    });
    if (this.#record.port !== running.port) await this.#save((record) => ({ ...record, port: running.port }));
    log.log(
      "info",
      adopted === undefined ? "A local database's server runs" : "A local database's server was found",
      {
        ...{ id, version, port: running.port, pid: running.pid },
      },
    );
    return running;
  }

  async #renewPassword(port: number): Promise<void> {
    const { stale, verifier, username, superuserPassword } = this.#record;
    if (stale !== true || verifier === undefined) return;
    await changePassword({ port, password: superuserPassword }, username, verifier);
    await this.#save(({ stale: _done, ...record }) => record);
  }

  /** Waits until the record changes or the provider ends. Rejects when the server ended by itself. */
  async #untilNews(running: RunningServer): Promise<void> {
    const ended = running.ended.then(() => true);
    const awake = this.#waiting().then(() => false);
    if (!await Promise.race([ended, awake])) return;
    throw new Error(`its server (pid ${running.pid}) ended by itself`);
  }

  /** Resolves when the loop is woken, at once where it was since it began its step, or when the provider ends. */
  #waiting(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#awake || this.#closing.signal.aborted) return resolve();
      this.#wake = resolve;
    });
  }

  async #pause(ms: number): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, over.signal]);
    try {
      // A call that changed the record is not kept waiting.
      await Promise.race([sleep(this.options.clock, ms, signal).catch(() => {}), this.#waiting()]);
    } finally {
      over.abort();
    }
  }
}

function isTaken(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return false;
  } catch {
    return true;
  }
}
