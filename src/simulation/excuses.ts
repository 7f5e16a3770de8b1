/**
 * The cells of the coverage table that no world reaches, each with its reason, and those that few worlds reach, each
 * with a seed that does.
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

/** `fault|state` and a seed in which it strikes. */
export const RARE: Readonly<Record<string, number>> = {};
