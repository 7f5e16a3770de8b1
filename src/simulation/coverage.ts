/**
 * What a run met: which deeds, which deaths, which failures of which effects, which transitions; so that a campaign can
 * say what it never tried.
 *
 * @module
 */

/** Kinds of things that are counted. */
export const COVERED = ["deed", "death", "failure", "transition"] as const;
/** One of them. */
export type Covered = (typeof COVERED)[number];

/** Counts by kind and word. */
export class Coverage {
  readonly counts: Record<Covered, Record<string, number>> = {
    deed: {},
    death: {},
    failure: {},
    transition: {},
  };

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

  /** Lines for people: a list for each kind, a table of effects by class of failure. */
  lines(): string[] {
    const lines: string[] = [];
    for (const kind of ["deed", "death", "transition"] as const) {
      const words = Object.entries(this.counts[kind]).sort(([a], [b]) => a < b ? -1 : 1);
      lines.push(`${kind}s: ${words.map(([w, n]) => `${w} ${n}`).join(", ")}`);
    }
    return [...lines, ...this.#failures()];
  }

  #failures(): string[] {
    const cells = Object.entries(this.counts.failure).map(([word, n]) => [...word.split(" "), String(n)]);
    const effects = [...new Set(cells.map(([effect = ""]) => effect))].sort();
    const classes = [...new Set(cells.map(([, errorClass = ""]) => errorClass))].sort();
    const row = (head: string, values: readonly string[]) =>
      head.padEnd(12) + values.map((v) => v.padStart(13)).join("");
    return [
      "failures of effects, by class:",
      row("", classes),
      ...effects.map((e) =>
        row(e, classes.map((c) => cells.find(([x, y]) => x === e && y === c)?.[2] ?? "·"))
      ),
    ];
  }
}
