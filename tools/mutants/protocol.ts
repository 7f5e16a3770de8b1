/**
 * What the hunter and its worker say to each other: one JSON object a line.
 *
 * @module
 */

/** Where a bug can be met: a seed of the simulation, or a test. */
export type Trial = { readonly seed: number } | TestTrial;

/** A test by file and name. */
export interface TestTrial {
  readonly file: string;
  readonly test: string;
}

/** What a worker is asked. */
export type Job =
  /** Runs the trials in order with a bug active (none: the control), until one catches it or none begins within the limit. */
  | {
    readonly do: "hunt";
    readonly mutant: string | undefined;
    readonly trials: readonly Trial[];
    readonly limitMs?: number;
  }
  /** Runs the trials without a bug and tells which places each reaches. */
  | { readonly do: "reach"; readonly trials: readonly Trial[] }
  /** The tests in these files. */
  | { readonly do: "tests"; readonly files: readonly string[] };

/** How a bug was caught. */
export interface Catch {
  readonly trial: Trial;
  /** The simulation's oracle, or `test`. */
  readonly oracle: string;
  readonly what: string;
}

/** What a worker says. */
export type Word =
  /** It lives; a trial begins. */
  | { readonly say: "begin"; readonly trial: Trial }
  | { readonly say: "caught"; readonly caught: Catch }
  | {
    readonly say: "reached";
    readonly trial: Trial;
    readonly ids: readonly string[];
    readonly failed?: string;
  }
  | { readonly say: "tests"; readonly tests: readonly TestTrial[] }
  /** The job is done. */
  | { readonly say: "done"; readonly ms: number };

/** A trial as text. */
export function nameOf(trial: Trial): string {
  return "seed" in trial ? `seed ${trial.seed}` : `${trial.file}: ${trial.test}`;
}
