/**
 * The simulated cloud's state in a file.
 *
 * Promised: the file is always whole, since it is written beside and renamed; what {@linkcode StateFile.durable} has
 * resolved for outlives a process that is killed at any instruction. A server that awaits it before each answer
 * therefore never forgets what it has told anyone; calls that were not answered may or may not have taken effect.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { sleep } from "../../core/wait.ts";
import type { SimulatedCloud } from "./cloud.ts";

/** Time between looks for changes that nobody asked about, in milliseconds. */
const PERIOD_MS = 500;
/** How long a save gathers the calls that wait for it, in milliseconds: one write serves them all. */
const GATHER_MS = 10;

/** Loads `path` into `cloud`; a file that is not there is an empty cloud. Throws when it cannot be read or understood. */
export async function loadFile(cloud: SimulatedCloud, path: string): Promise<void> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return;
    throw new Error(`Loading the cloud's state from "${path}" failed`, { cause });
  }
  cloud.load(text);
}

/** Writes the cloud's state to `path` as a whole. */
export async function saveFile(cloud: SimulatedCloud, path: string): Promise<void> {
  const beside = `${path}.new`;
  try {
    const file = await Deno.open(beside, { write: true, create: true, truncate: true, mode: 0o600 });
    try {
      const bytes = new TextEncoder().encode(cloud.dump());
      for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
      await file.syncData();
    } finally {
      file.close();
    }
    await Deno.rename(beside, path);
  } catch (cause) {
    throw new Error(`Saving the cloud's state to "${path}" failed`, { cause });
  }
}

/** A cloud's state file that is kept up to date. One per file and process. */
export class StateFile {
  /** The revision of the cloud that the file holds at least. */
  #saved = -1;
  #saving: Promise<void> | undefined;

  constructor(
    private readonly cloud: SimulatedCloud,
    private readonly path: string,
    private readonly clock: Clock,
  ) {}

  /** Resolves once all that has happened up to now is in the file. Rejects when it cannot be written. */
  async durable(): Promise<void> {
    const wanted = this.cloud.revision;
    // A save that is under way may have begun before: then one more follows.
    while (this.#saved < wanted) {
      this.#saving ??= this.#save().finally(() => this.#saving = undefined);
      await this.#saving;
    }
  }

  /** Keeps the file up to date until the signal aborts. A failed save is told and tried again half a second later. */
  async keep(options: {
    readonly signal: AbortSignal;
    readonly onError: (error: unknown) => void;
  }): Promise<void> {
    const { signal, onError } = options;
    for (;;) {
      try {
        await sleep(this.clock, PERIOD_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      await this.durable().catch(onError);
    }
  }

  async #save(): Promise<void> {
    await sleep(this.clock, GATHER_MS);
    const { revision } = this.cloud;
    await saveFile(this.cloud, this.path);
    this.#saved = revision;
  }
}
