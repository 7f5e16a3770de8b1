/**
 * The cells of the coverage table that no world reaches, each with its reason, and those that only some worlds in
 * thousands reach.
 *
 * @module
 */
import type { TopState } from "../statechart/vocabulary.ts";
import type { FaultName } from "./faults.ts";

/** Cells that cannot be reached. */
export interface Excuse {
  readonly faults: readonly FaultName[];
  readonly states: readonly TopState[];
  readonly why: string;
}

/** In writing. */
export const EXCUSES: readonly Excuse[] = [];

/** Cells that few worlds reach. */
export interface Rare {
  readonly fault: FaultName;
  readonly states: readonly TopState[];
}

/** Campaigns of at least this many seeds must reach the rare cells too. */
export const RARE_SEEDS = 30_000;

/** Neither demanded of a smaller campaign nor forbidden. */
export const RARE: readonly Rare[] = [];
