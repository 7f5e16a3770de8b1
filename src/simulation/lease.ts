/**
 * The lease that simulated processes share: held until a fixed time after a renewal was sent (design.md 8, rule 21).
 *
 * @module
 */

/** How long a holder that says nothing keeps it, in milliseconds. */
export const LEASE_MS = 15_000;
/** How long a holder may act after it sent a renewal, in milliseconds. */
export const RENEW_DEADLINE_MS = 10_000;
/** Time between two renewals, in milliseconds. */
export const RENEW_MS = 2_000;

/** Who holds the lease. */
export class SimulatedLease {
  #holder: string | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;

  /** The holder, whether or not it still lives. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Takes or renews it; whether `who` holds it now. `at` is the world's monotonic time. */
  acquire(who: string, at: number): boolean {
    if (this.#holder !== who && this.#holder !== undefined && at - this.#renewedAt < LEASE_MS) return false;
    this.#holder = who;
    this.#renewedAt = at;
    return true;
  }

  /** Lets go of it. */
  release(who: string): void {
    if (this.#holder === who) this.#holder = undefined;
  }
}
