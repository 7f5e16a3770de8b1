/**
 * What the last whole hunt found, kept beside the tool so that the next begins with it.
 *
 * @module
 */
import type { Catch, Trial } from "./protocol.ts";
import { ROOT } from "./tree.ts";

/** How one bug fared. */
export interface Fate {
  readonly id: string;
  /** The first seed from 1 that catches it. */
  readonly simulation?: Catch | undefined;
  /** A unit test that catches it; looked for where the simulation does not. */
  readonly test?: Catch | undefined;
  /** Seeds that were tried; those that do not reach the place count as tried. */
  readonly seeds: number;
}

/** An operator mutant's fate and place. */
export interface OperatorFate extends Fate {
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  readonly was: string;
  readonly is: string;
  /** Which of its file's mutants that read alike, from 0. */
  readonly nth: number;
}

/** The file's content. */
export interface Known {
  readonly rules: readonly Fate[];
  readonly operators: {
    readonly seed: number;
    readonly all: number;
    /** How many of them were drawn; code that goes takes its mutants with it. */
    readonly drawn: number;
    readonly fates: readonly OperatorFate[];
  };
}

const FILE = new URL("tools/mutants/known.json", ROOT);

/** What is known; nothing yet is an empty one. */
export async function readKnown(): Promise<Known> {
  try {
    return JSON.parse(await Deno.readTextFile(FILE));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { rules: [], operators: { seed: 1, all: 0, drawn: 0, fates: [] } };
  }
}

/** Keeps it. */
export async function writeKnown(known: Known): Promise<void> {
  await Deno.writeTextFile(FILE, `${JSON.stringify(known, null, 1)}\n`);
}

/** The trials that caught a bug last time, the simulation's first. */
export function trialsOf(fate: Fate | undefined): Trial[] {
  return [fate?.simulation?.trial, fate?.test?.trial].filter((t) => t !== undefined);
}

/** Whether a seed or a test caught it. */
export function isCaught(fate: Fate | undefined): boolean {
  return fate?.simulation !== undefined || fate?.test !== undefined;
}
