/**
 * What the API server last said of the operator's own CRD (rule 13).
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { sleep } from "../core/wait.ts";
import type { Cluster, CrdState } from "../kube/port.ts";

/** Oldest word that a delete at the cloud is sent on, in milliseconds. */
const FRESH_MS = 10_000;
/** Time between two reads while deletes wait for their turn, in milliseconds. */
const AGAIN_MS = 4_000;

/**
 * The CRD's state, read before each delete and, for a delete that waits for its turn at a slow cloud, again and again:
 * `kubectl delete crd` may come in that time. All that wait share the reads.
 */
export class CrdWord {
  #word: { readonly state: CrdState; readonly sentAt: number } | undefined;
  #waiting = 0;
  #over = new AbortController();

  /** `stopped` ends the reads at once, whoever still waits. */
  constructor(
    private readonly cluster: Pick<Cluster, "crdState">,
    private readonly clock: Clock,
    private readonly stopped?: AbortSignal,
  ) {}

  /** Reads it; rejects with a `KubeError`. */
  async read(signal: AbortSignal): Promise<CrdState> {
    const sentAt = this.clock.monotonic();
    const state = await this.cluster.crdState({ signal });
    if (this.#word === undefined || sentAt >= this.#word.sentAt) this.#word = { state, sentAt };
    return state;
  }

  /** Whether it was established when it was last read, and that was just now. */
  get isEstablished(): boolean {
    return this.#word?.state === "established" && this.clock.monotonic() - this.#word.sentAt <= FRESH_MS;
  }

  /** Keeps the word fresh while `work` waits. */
  async whileWaiting<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting++ === 0) {
      this.#over = new AbortController();
      const ends = [this.#over.signal, ...this.stopped === undefined ? [] : [this.stopped]];
      void this.#keepFresh(AbortSignal.any(ends));
    }
    try {
      return await work();
    } finally {
      if (--this.#waiting === 0) this.#over.abort(new Error("No delete waits any more"));
    }
  }

  async #keepFresh(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Ends with the signal; a read that fails leaves the word to grow old, and nothing is sent on an old one.
      await sleep(this.clock, AGAIN_MS, signal).then(() => this.read(signal)).catch(() => {});
    }
  }
}
