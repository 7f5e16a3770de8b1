/**
 * The simulated cloud's state in a file.
 *
 * The file is always whole: it is written beside and renamed. Written at most every half second while something
 * changes; whoever ends the cloud saves a last time. A process that is killed loses what happened since.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { sleep } from "../../core/wait.ts";
import type { SimulatedCloud } from "./cloud.ts";

/** Time between looks for changes, in milliseconds. */
const PERIOD_MS = 500;

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

/** Keeps `path` up to date until the signal aborts. A failed save is told and tried again half a second later. */
export async function keepFile(
  cloud: SimulatedCloud,
  path: string,
  options: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onError: (error: unknown) => void;
  },
): Promise<void> {
  const { clock, signal, onError } = options;
  let saved = -1;
  for (;;) {
    try {
      await sleep(clock, PERIOD_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    const { revision } = cloud;
    if (revision === saved) continue;
    try {
      await saveFile(cloud, path);
      saved = revision;
    } catch (error) {
      onError(error);
    }
  }
}
