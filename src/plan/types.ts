/**
 * What a plan says: the shape that `plan -o json` prints, which stays as it is (docs/plan.md).
 *
 * @module
 */

/** One field that would change. */
export interface FieldChange {
  readonly field: "version" | "sizeGb" | "deletionProtection";
  readonly from: string | number | boolean | null;
  readonly to: string | number | boolean;
}

/**
 * What the operator would do. `id` is the database's identifier, `null` for one that is yet to be made.
 *
 * - `create`, `adopt` (its tags are written), `modify`, `delete`, `retain` (it is marked and kept)
 * - `secret`: the connection Secret is written; `removeSecret`; `password`: the database takes its password
 * - `release`: the finalizer is removed, so that the resource goes
 */
export type PlannedAction =
  | {
    readonly action: "create";
    readonly id: null;
    readonly engine: string;
    readonly version: string;
    readonly sizeGb: number;
    readonly why: string;
  }
  | { readonly action: "adopt" | "retain" | "password"; readonly id: string | null; readonly why: string }
  | {
    readonly action: "modify";
    readonly id: string | null;
    readonly changes: readonly FieldChange[];
    readonly why: string;
  }
  | {
    readonly action: "delete";
    readonly id: string | null;
    /** The snapshot that is taken first. */
    readonly finalSnapshot: string | null;
    readonly why: string;
  }
  | { readonly action: "secret" | "removeSecret"; readonly name: string; readonly why: string }
  | { readonly action: "release"; readonly why: string };

/** What becomes of one resource. */
export interface PlannedResource {
  readonly namespace: string;
  readonly name: string;
  /** `null` for a manifest that is not in the cluster. */
  readonly uid: string | null;
  /** The class; `null` is the account of the flags. */
  readonly class: string | null;
  /** Where its spec was read: the cluster, or the file of a manifest. */
  readonly from: string;
  /**
   * - `change`: `actions` tells what the operator would do
   * - `nothing`: it is in step, or what is under way is waited for
   * - `cannot`: a person's decision is waited for, or something is refused: see `reason` and `message`
   * - `invalid`: the API server would refuse the manifest: see `message`
   */
  readonly outcome: "change" | "nothing" | "cannot" | "invalid";
  readonly actions: readonly PlannedAction[];
  /** Reason and message of the condition Synced, as far as the plan looks ahead. */
  readonly reason: string;
  readonly message: string;
}

/** A whole plan. */
export interface Plan {
  /** Of this shape. */
  readonly formatVersion: 1;
  /** The account of the flags. */
  readonly provider: {
    readonly name: string;
    readonly account: string | null;
    readonly error: string | null;
  };
  /** Where the cluster was found; `null`: the plan was made without one. */
  readonly cluster: string | null;
  /** Documents of manifests that are no ExternalDatabase. */
  readonly skipped: number;
  readonly resources: readonly PlannedResource[];
}
