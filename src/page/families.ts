/**
 * The colour of a top-level state, as a class.
 *
 * @module
 */

/** The top-level states, in the order of their colours. */
const NAMES = ["Pending", "Creating", "Available", "Drifted", "Deleting", "Finalized"];

/** `f2` for `Available` and its inside; further states begin again. */
export function familyClass(path: string): string {
  const index = NAMES.indexOf(path.split(".")[0] ?? "");
  return `f${index < 0 ? 5 : index}`;
}
