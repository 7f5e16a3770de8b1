/**
 * The colour of a top-level state, as a class.
 *
 * @module
 */
import { topOf } from "../statechart/path.ts";
import { TOP_STATES } from "../statechart/vocabulary.ts";

/** `f2` for `Available` and its inside; further states begin again. */
export function familyClass(path: string): string {
  const top = topOf(path);
  const index = TOP_STATES.findIndex((name) => name === top);
  return `f${index < 0 ? 5 : index}`;
}
