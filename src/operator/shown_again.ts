/**
 * Resources that are shown again after they were gone: as they were, by a watch that goes on from an old version, and
 * then nothing may be done for them; or by a restored cluster, which has them. Only a quorum read can tell.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import type { Cluster } from "../kube/port.ts";
import { readAgain } from "../kube/rewind.ts";

/** What a {@linkcode ShownAgain} takes. */
export interface ShownAgainOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Told of a resource that is there, as it is now. */
  readonly onThere: (object: ExternalDatabase) => void;
}

/** Waits between reads that failed. */
const AGAIN = { baseMs: 1_000, capMs: 60_000 };

/** Asks for them, each once at a time. */
export class ShownAgain {
  readonly #asked = new Set<string>();

  constructor(private readonly options: ShownAgainOptions) {}

  /** Reads a resource until the API server answers or the signal aborts. Never rejects. */
  async ask(shown: ExternalDatabase, signal: AbortSignal): Promise<void> {
    const { cluster, clock, random, log, onThere } = this.options;
    const { uid, namespace, name } = shown.metadata;
    if (this.#asked.has(uid)) return;
    this.#asked.add(uid);
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const found = await readAgain(cluster, shown, signal);
        this.#asked.delete(uid);
        if (found !== undefined) onThere(found);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const said = { namespace, name, uid, error: messageOf(error) };
        log.log("warn", "Failed to read a resource that was gone and is shown again", said);
        await sleep(clock, backoffMs(AGAIN, failures, random), signal).catch(() => {}); // the abort itself
      }
    }
  }
}
