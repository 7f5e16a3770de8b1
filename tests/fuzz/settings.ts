/**
 * How much is fuzzed, and from which seed: the same in every run, unless the environment asks for another.
 *
 * `FUZZ_SEED=7 FUZZ_RUNS=5000 deno task test` tries other values; a failure prints its seed and path. `FUZZ_SHRINK=no`
 * shows the first failure as it is.
 *
 * @module
 */
import type { Parameters } from "fast-check";

/** Parameters of one property: `runs` values within `limitMs` milliseconds. */
export function parameters<T>(runs: number, limitMs: number): Parameters<T> {
  const asked = Deno.env.get("FUZZ_RUNS");
  return {
    seed: seed(),
    numRuns: asked === undefined ? runs : Number(asked),
    // Shrinking ends there too; what was found by then is told.
    interruptAfterTimeLimit: asked === undefined ? limitMs : limitMs * 100,
    endOnFailure: Deno.env.get("FUZZ_SHRINK") === "no",
  };
}

/** The seed of this run. */
export function seed(): number {
  const asked = Deno.env.get("FUZZ_SEED");
  return asked === undefined ? 20_261_129 : Number(asked);
}
