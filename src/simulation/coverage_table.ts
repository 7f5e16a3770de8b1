/**
 * Coverage for people and for a test: faults by state, each cell reached or excused in writing.
 *
 * @module
 */
import { TOP_STATES } from "../statechart/vocabulary.ts";
import type { Coverage } from "./coverage.ts";
import { type Excuse, EXCUSES, RARE, type Rare, RARE_SEEDS } from "./excuses.ts";
import { type FaultName, FAULTS } from "./faults.ts";

const NAMES = Object.keys(FAULTS) as FaultName[];

/** The cells that a sentence excuses, as `fault|state`, with the sentence. */
export function excusedCells(excuses: readonly Excuse[] = EXCUSES): Map<string, string> {
  const cells = new Map<string, string>();
  for (const { faults, states, why } of excuses) {
    for (const fault of faults) for (const state of states) cells.set(`${fault}|${state}`, why);
  }
  return cells;
}

/** The cells that only a large campaign must reach, as `fault|state`. */
export function rareCells(rare: readonly Rare[] = RARE): Set<string> {
  return new Set(rare.flatMap(({ fault, states }) => states.map((state) => `${fault}|${state}`)));
}

/**
 * What is wrong with the coverage of a campaign of `seeds` worlds, one sentence each: a cell that is neither reached
 * nor excused, and one that is excused and was reached.
 */
export function coverageProblems(
  counts: Coverage["counts"],
  seeds: number,
  excused: ReadonlyMap<string, string> = excusedCells(),
  rare: ReadonlySet<string> = rareCells(),
): string[] {
  return NAMES.flatMap((fault) =>
    TOP_STATES.flatMap((state) => {
      const cell = `${fault}|${state}`;
      const reached = (counts.strike[cell] ?? 0) > 0;
      const why = excused.get(cell);
      if (reached && why !== undefined) return [`"${fault}" struck in ${state}, which is excused: ${why}`];
      if (reached || why !== undefined || (rare.has(cell) && seeds < RARE_SEEDS)) return [];
      return [`"${fault}" never struck in ${state}, and no excuse says why`];
    })
  );
}

/** The table: a line for each fault with its worlds, its strikes, and those by state. */
export function coverageTable(counts: Coverage["counts"]): string[] {
  const excused = excusedCells();
  const rare = rareCells();
  const row = (head: string, cells: readonly string[]) =>
    head.padEnd(22) + cells.map((c) => c.padStart(10)).join("");
  const lines = [row("fault", ["worlds", "strikes", ...TOP_STATES])];
  for (const fault of NAMES) {
    const cells = TOP_STATES.map((state) => counts.strike[`${fault}|${state}`] ?? 0);
    const total = cells.reduce((sum, n) => sum + n, 0);
    const words = cells.map((n, i) => {
      if (n > 0) return String(n);
      const cell = `${fault}|${TOP_STATES[i]}`;
      return excused.has(cell) ? "·" : rare.has(cell) ? "rare" : "0";
    });
    lines.push(row(fault, [String(counts.world[fault] ?? 0), String(total), ...words]));
  }
  return [
    ...lines,
    `(· excused in src/simulation/excuses.ts; rare: demanded of ${RARE_SEEDS} seeds and more)`,
  ];
}

/** What else was met: transitions, failures of effects by class, judgements that were not made, comparisons. */
export function coverageLists(counts: Coverage["counts"]): string[] {
  const list = (kind: keyof Coverage["counts"]) =>
    Object.entries(counts[kind]).toSorted(([a], [b]) => a < b ? -1 : 1).map(([w, n]) => `${w} ${n}`).join(
      ", ",
    );
  return [
    `transitions: ${list("transition")}`,
    ...failures(counts.failure),
    `judgements that were not made: ${list("excused") || "none"}`,
    `compared to the run without faults: ${list("compared") || "none"}`,
  ];
}

function failures(counts: Readonly<Record<string, number>>): string[] {
  const effects = [...new Set(Object.keys(counts).map((w) => w.split(" ")[0] ?? ""))].toSorted();
  const classes = [...new Set(Object.keys(counts).map((w) => w.split(" ")[1] ?? ""))].toSorted();
  const row = (head: string, values: readonly string[]) =>
    head.padEnd(22) + values.map((v) => v.padStart(13)).join("");
  return [
    row("failures of effects", classes),
    ...effects.map((e) => row(e, classes.map((c) => String(counts[`${e} ${c}`] ?? "·")))),
  ];
}
