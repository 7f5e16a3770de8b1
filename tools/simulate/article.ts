/**
 * `--subject article`: the published reconciler that this project set out from, in the operator's worlds.
 *
 * @module
 */
import { runArticle, tallyArticle } from "../../src/simulation/article/tally.ts";
import type { Flags } from "./flags.ts";
import { say } from "../say.ts";

/** Runs seeds, or one with its trace, and says which promises broke. Exits 1 when one did, which is what it is for. */
export async function article({ seed, seeds, from }: Flags): Promise<number> {
  if (seed !== undefined) {
    const { trace, violations } = await runArticle(seed, { trace: true });
    for (const line of trace) say(line);
    for (const { oracle, what, at } of violations) {
      say(`VIOLATION of ${oracle}: ${what} (at ${Math.round(at / 1_000)} s)`);
    }
    return violations.length === 0 ? 0 : 1;
  }
  const tally = await tallyArticle(from, seeds);
  for (const { oracle, seeds: broken, what } of tally) {
    say(`${oracle}: ${broken.length} of ${seeds} seeds, first ${broken[0]}: ${what}`);
    say(`  deno task simulate --subject article --seed ${broken[0]}`);
  }
  if (tally.length === 0) say(`${seeds} seeds: no violation`);
  return tally.length === 0 ? 0 : 1;
}
