/**
 * What a run met: which faults struck which states, which transitions, which failures of which effects; so that a
 * campaign can say what it never tried.
 *
 * @module
 */

/** Kinds of things that are counted. */
export const COVERED = [
  /** `fault|state`: a fault struck a CR while its actor was there. */
  "strike",
  /** `fault`: a world in which it struck. */
  "world",
  /** A deed of the plan. */
  "deed",
  /** `from⇒to` */
  "transition",
  /** `effect class` */
  "failure",
  /** A judgement that was not made, with the reason. */
  "excused",
  /** What was compared to the run without faults. */
  "compared",
] as const;
/** One of them. */
export type Covered = (typeof COVERED)[number];

/** Counts by kind and word. */
export class Coverage {
  readonly counts = Object.fromEntries(COVERED.map((kind) => [kind, {}])) as Record<
    Covered,
    Record<string, number>
  >;

  /** Counts one. */
  add(kind: Covered, word: string, times = 1): void {
    this.counts[kind][word] = (this.counts[kind][word] ?? 0) + times;
  }

  /** Adds another's counts. */
  merge(counts: Coverage["counts"]): void {
    for (const kind of COVERED) {
      for (const [word, times] of Object.entries(counts[kind])) this.add(kind, word, times);
    }
  }

  /** The run is over: counts each fault that struck in it once. */
  endOfWorld(): void {
    for (const fault of new Set(Object.keys(this.counts.strike).map((cell) => cell.split("|")[0] ?? ""))) {
      this.add("world", fault);
    }
  }
}
