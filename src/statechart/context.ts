/**
 * What the machine carries, and what it is given from outside.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Random } from "../core/random.ts";
import type { Decision } from "./decision.ts";
import type { Kept, Knowledge } from "./knowledge.ts";
import type { View } from "./view.ts";

/** The world as an actor may ask of it; the operator gives it, a test stands in for it. */
export interface World {
  /** What a decision about this resource may read now. */
  view(object: ExternalDatabase): View;
  readonly random: Random;
}

/** The machine's context. */
export interface DatabaseContext {
  readonly knowledge: Knowledge;
  readonly decision: Decision;
  readonly world: World;
  /** How many effects were chosen within a second: the guard against a loop that learns nothing. */
  readonly spin: { readonly count: number; readonly since: number };
  /** The rest that was decided on: its length, and when it ends (monotonic), in milliseconds. */
  readonly rest?: { readonly ms: number; readonly until: number } | undefined;
  /** Type of the event that led to the last decision. */
  readonly decidedOn: string;
  /** `knowledge.stimuli` at the last decision. */
  readonly begunAt: number;
}

/** The machine's input. */
export interface DatabaseInput {
  readonly object: ExternalDatabase;
  readonly world: World;
  /** What a hibernated or crashed actor knew beyond the CR (rule 24). */
  readonly kept?: Kept;
}

/** What an effect is given. */
export interface EffectInput {
  readonly knowledge: Knowledge;
  readonly decision: Decision;
  readonly world: World;
  /** The knowledge as it is now, which may be newer than when the effect began (rule 14). */
  readonly latest: () => Knowledge;
}
