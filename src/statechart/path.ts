/**
 * Dotted paths of the statechart's states, such as `Available.idle`.
 *
 * @module
 */

/** The top-level state of a path: `Available`. */
export function topOf(path: string): string {
  return path.split(".")[0] ?? "";
}

/** A path without its top-level state: `idle`; empty for a top-level state. */
export function stepOf(path: string): string {
  return path.split(".").slice(1).join(".");
}
