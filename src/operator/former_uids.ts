/**
 * UIDs of CRs that are gone. No UID ever comes back by itself: one that does was brought back with its cluster, from a
 * backup, and is no new CR whatever it looks like (rule 3).
 *
 * @module
 */

/** CRs that are remembered after they are gone. */
const MAX = 10_000;

/** The newest of them. */
export class FormerUids {
  /** Oldest first. */
  readonly #uids = new Set<string>();

  /** A CR is gone. */
  add(uid: string): void {
    this.#uids.add(uid);
    if (this.#uids.size <= MAX) return;
    for (const oldest of this.#uids) {
      this.#uids.delete(oldest);
      return;
    }
  }

  /** Whether a CR of this UID was gone. */
  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  /** A CR is there: whether it had been gone. */
  delete(uid: string): boolean {
    return this.#uids.delete(uid);
  }
}
