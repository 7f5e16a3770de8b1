/**
 * What the recorder of histories keeps of one resource.
 *
 * @module
 */
import type { DatabaseContext } from "../../statechart/context.ts";
import type { Call } from "./calls.ts";
import type { Before } from "./cause.ts";
import type { Route } from "./route.ts";
import type { Step } from "./steps.ts";

/** What is kept of one resource. */
export interface ActorLog {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly steps: readonly Step[];
  /** Steps that were let go. */
  readonly dropped: number;
  /** The configuration, as a dotted path. */
  readonly at: string;
  /** When the resource went, wall milliseconds. */
  readonly goneAt?: number | undefined;
}

/** A step that is under way. */
export interface Open {
  readonly event: { readonly type: string; readonly output?: unknown; readonly error?: unknown };
  readonly calls: readonly Call[] | undefined;
  readonly from: string;
  route: Route;
  /** The state was left, if only for itself. */
  left: boolean;
}

/** What is kept of one resource, as the recorder changes it. */
export interface Draft extends ActorLog {
  steps: Step[];
  dropped: number;
  at: string;
  goneAt: number | undefined;
  count: number;
  /** When `at` was entered, monotonic milliseconds. */
  since: number;
  before: Before;
  /** Of the effect that runs. */
  running: readonly Call[] | undefined;
  open: Open | undefined;
}

/** What of a snapshot is looked at. */
export interface Seen {
  readonly status: string;
  readonly value: unknown;
  readonly context?: Partial<DatabaseContext>;
}

/** Nothing was known before. */
export const NOTHING: Before = { object: undefined, database: undefined };

/** The statechart's first state, in which every actor makes its first decision. */
export const INITIAL = "Pending.deciding";
