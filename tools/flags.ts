/**
 * What the flags of the tools have in common.
 *
 * @module
 */
import { InvalidArgumentError } from "commander";

/** Reads a whole number from `min`. */
export function whole(min: number): (text: string) => number {
  return (text) => {
    const n = Number(text);
    if (!Number.isInteger(n) || n < min) {
      throw new InvalidArgumentError(`it must be a whole number from ${min}.`);
    }
    return n;
  };
}

/** The exit code for what reading the flags threw: 0 after a help that was asked for, else 2. */
export function exitCodeOf(error: unknown): 0 | 2 {
  return (error as { readonly exitCode?: number }).exitCode === 0 ? 0 : 2;
}
