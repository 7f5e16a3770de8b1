/**
 * Which cluster this is, as the tags of its databases have it (S3).
 *
 * @module
 */
import { backoffMs, type BackoffPolicy } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep } from "../core/wait.ts";
import type { Cluster } from "../kube/port.ts";

/** Waits between reads that fail. */
const BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 30_000 };

/** What a {@linkcode ClusterIdentity} takes. */
export interface ClusterIdentityOptions {
  readonly cluster: Pick<Cluster, "clusterId">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Stands in for what the cluster says of itself. */
  readonly given?: string | undefined;
}

/** The cluster's identity, once it is known. */
export class ClusterIdentity {
  readonly #o: ClusterIdentityOptions;
  #id: string | undefined;
  #error: string | undefined;

  constructor(options: ClusterIdentityOptions) {
    this.#o = options;
  }

  /** The identity; throws until it is known. */
  get id(): string {
    if (this.#id === undefined) throw new Error("The cluster's identity is not known yet");
    return this.#id;
  }

  /** Why it could not be read last, until it is known. */
  get error(): string | undefined {
    return this.#error;
  }

  /** Reads it until it is known, which is `true`, or the signal aborts. */
  async read(signal: AbortSignal): Promise<boolean> {
    const { cluster, clock, random, log, given } = this.#o;
    this.#id = given;
    for (let attempt = 0; this.#id === undefined; attempt++) {
      try {
        this.#id = await cluster.clusterId({ signal });
        this.#error = undefined;
      } catch (error) {
        if (signal.aborted) return false;
        this.#error = messageOf(error);
        log.log("warn", "Failed to read the cluster's identity", { error: this.#error });
        await sleep(clock, backoffMs(BACKOFF, attempt, random), signal).catch(() => {}); // the abort itself
        if (signal.aborted) return false;
      }
    }
    return true;
  }
}
