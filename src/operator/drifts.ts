/**
 * Counts drift: a database that came to differ though its spec had not changed, and its end.
 *
 * What follows an edit of the spec is no drift, though the statechart goes through the same states.
 *
 * @module
 */
import type { Metrics } from "../core/metrics.ts";
import type { Transition } from "./keeper.ts";

/** Follows the transitions of all actors. */
export class Drifts {
  /** UIDs of those that differ, with the reason that was counted. */
  readonly #open = new Map<string, string>();

  constructor(private readonly metrics: Pick<Metrics, "drift">) {}

  /** Takes one transition in. */
  follow({ object: { metadata, status }, from, to, reason }: Transition): void {
    const { uid } = metadata;
    if (to === "Drifted") {
      // An edit that was not acted on yet explains the difference.
      if (status?.observedGeneration !== metadata.generation || this.#open.has(uid)) return;
      this.#open.set(uid, reason);
      this.metrics.drift("found", reason);
      return;
    }
    const found = this.#open.get(uid);
    if (found === undefined) return;
    this.#open.delete(uid);
    if (from === "Drifted" && to === "Available") this.metrics.drift("repaired", found);
  }
}
