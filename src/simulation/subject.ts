/**
 * What a simulated process runs: the operator, or another that is to be judged as the operator is.
 *
 * @module
 */
import type { SecretSeen } from "../binding/facts.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { OperatorDeps } from "../operator/operator.ts";

/** What the simulation asks of the operator; `Operator` has all of it. */
export interface Subject {
  /** Works until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Takes no new work and ends what is in flight within `graceMs`. */
  drain(graceMs: number): Promise<void>;
  readonly gateway: {
    /** Mutating calls that have no answer yet. */
    readonly mutationsInFlight: number;
  };
  readonly supervisor: {
    /** What works on one resource each, with the newest copy of it that it was told of. */
    readonly keepers: Iterable<{
      readonly object: ExternalDatabase;
      /** The actor, where it is awake: whether it rests, and its state. Not every subject has actors. */
      readonly snapshot?: { hasTag(tag: "rest"): boolean; readonly value: unknown } | undefined;
    }>;
    /** How many there are. */
    readonly size: number;
    /** The newest copy of a UID that it holds, the answers of its own writes among them. Not every subject keeps those. */
    held?(uid: string): ExternalDatabase | undefined;
  };
  /** What it has heard of the cluster. */
  readonly reflector: {
    get(uid: string): ExternalDatabase | undefined;
    readonly size: number;
  };
  /** Lists the cloud; `roundAt` is when the last whole list was sent, on its own monotonic clock. Not every subject has one. */
  readonly observer?: { readonly roundAt: number };
  /** Whether it has heard of all connection Secrets, and what of those of a resource. Not every subject has any. */
  readonly bindings?: { readonly listed: boolean; of(uid: string): readonly SecretSeen[] };
}

/** Makes one over gated ports. */
export type SubjectFactory = (deps: OperatorDeps) => Subject;
