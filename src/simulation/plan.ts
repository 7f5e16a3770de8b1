/**
 * A plan: everything that will happen in one world, as plain data, so that it can be printed, replayed and shrunk.
 *
 * @module
 */
import type { ExternalDatabaseSpec } from "../api/schema.ts";
import type { CloudSettings } from "../providers/simulated/settings.ts";
import type { Verb } from "../providers/simulated/types.ts";
import { KIND_CLUSTER, type KubeFaults, type KubeVerb } from "./kube_port.ts";
import type { Doom } from "./process.ts";

/** Spells of trouble that any provider knows. */
export const OUTAGES = [
  "unavailable",
  "internalError",
  "throttled",
  "unauthenticated",
  "forbidden",
  "lost",
  "stall",
] as const;

/** What people do to Secrets. */
export const SECRET_HARMS = [
  "delete",
  "delete",
  /** Another password. */
  "password",
  /** One key is gone. */
  "key",
  /** Its label is gone, so that no watch shows it. */
  "label",
  /** Where there is none, or after what is there was deleted: one that is nobody's. */
  "foreign",
] as const;

/** What a user, an administrator, the cluster, the cloud or fate does. */
export type Deed =
  // Users.
  | {
    readonly do: "create";
    readonly name: string;
    readonly spec: ExternalDatabaseSpec;
    readonly foreignFinalizer?: boolean;
  }
  | { readonly do: "edit"; readonly name: string; readonly change: Partial<ExternalDatabaseSpec> }
  | { readonly do: "delete"; readonly name: string }
  | { readonly do: "annotate"; readonly name: string; readonly key: string; readonly value: string }
  | { readonly do: "abandon"; readonly name: string }
  | { readonly do: "label"; readonly name: string; readonly value: string }
  | { readonly do: "stripFinalizers"; readonly name: string }
  | { readonly do: "stripStatus"; readonly name: string }
  /** A person edits what the status names: back to a database that it had before, to none that ever was, or to the next incarnation and no id. */
  | { readonly do: "editStatus"; readonly name: string; readonly to: "former" | "nowhere" | "next" }
  /** A DELETE that began before the finalizer was there and removes the object after, finalizer and all, within `ms`. */
  | { readonly do: "crossDelete"; readonly name: string; readonly ms: number }
  | { readonly do: "adopt"; readonly name: string; readonly nth: number; readonly spec: ExternalDatabaseSpec }
  /** A resource that is to take the `nth` database over, with consent, from whoever has it (rule 18). */
  | {
    readonly do: "takeOver";
    readonly name: string;
    readonly nth: number;
    readonly spec: ExternalDatabaseSpec;
  }
  /** A resource that only observes the `nth` database. */
  | {
    readonly do: "observe";
    readonly name: string;
    readonly nth: number;
    readonly spec: ExternalDatabaseSpec;
  }
  /** A resource is to observe only the database that it has, or to manage it again. */
  | { readonly do: "manage"; readonly name: string; readonly policy: "Full" | "ObserveOnly" }
  /** A person's hand on the connection Secret that a resource has, or would have. */
  | { readonly do: "secret"; readonly name: string; readonly harm: (typeof SECRET_HARMS)[number] }
  // The cluster.
  | { readonly do: "breakWatches" }
  | { readonly do: "silenceWatches" }
  | { readonly do: "compact" }
  | {
    readonly do: "kubeOutage";
    readonly kind: "unavailable" | "unauthorised" | "forbidden";
    readonly ms: number;
  }
  /** One verb is refused: a role that somebody changes. */
  | {
    readonly do: "kubeDenied";
    readonly verb: KubeVerb;
    readonly kind: "unauthorised" | "forbidden";
    readonly ms: number;
  }
  | { readonly do: "restore"; readonly ms: number; readonly bump: number }
  | { readonly do: "deleteCrd" }
  | { readonly do: "installCrd" }
  // The operator's processes.
  | { readonly do: "crash"; readonly nth: number }
  | { readonly do: "freeze"; readonly nth: number; readonly ms: number }
  | { readonly do: "stop"; readonly nth: number }
  | { readonly do: "skew"; readonly nth: number; readonly ms: number }
  // The cloud.
  | {
    readonly do: "cloudOutage";
    readonly kind:
      | (typeof OUTAGES)[number]
      /** Answers that come after the caller's deadline, or a hair before. */
      | "slow"
      /** The database has another operation under way. */
      | "busy";
    readonly ms: number;
    readonly of: "all" | "reads" | "writes" | "lists" | Verb;
    /** What a throttled answer asks for, in seconds. @default 1 */
    readonly retryAfterS?: number;
  }
  | { readonly do: "switchAccount"; readonly ms: number }
  | { readonly do: "console"; readonly nth: number; readonly change: ConsoleChange }
  | { readonly do: "vanish"; readonly nth: number }
  | { readonly do: "foreign"; readonly name: string }
  | { readonly do: "duplicate"; readonly nth: number }
  | { readonly do: "retag"; readonly nth: number };

/** What a person does to a database at the cloud's console. */
export type ConsoleChange =
  | { readonly kind: "grow"; readonly by: number }
  | { readonly kind: "shrink"; readonly by: number }
  | { readonly kind: "version"; readonly version: string }
  | { readonly kind: "fail" }
  /** Its storage is full, and it says so. */
  | { readonly kind: "full" }
  | { readonly kind: "protect"; readonly on: boolean };

/** A deed and its time, in milliseconds after the world's beginning. */
export type Action = Deed & { readonly at: number };

/** Everything that will happen. */
export interface Plan {
  readonly seed: number;
  /** Two stand by each other under a lease. */
  readonly replicas: 1 | 2;
  /** One takes the lease too, as in a pod. @default whether there are two */
  readonly lease?: boolean;
  readonly pollMs: number;
  readonly hibernateAfterMs: number;
  readonly concurrency: number;
  /** Objects a page of a list of the cluster. */
  readonly pageSize: number;
  readonly cloud: Partial<CloudSettings>;
  readonly kube: KubeFaults;
  /** When all faults have ended, in milliseconds after the beginning. */
  readonly chaosMs: number;
  /** How long a dead process stays away at most, in milliseconds. */
  readonly restartMs: number;
  /** The doom of each process, in order of their birth; the later ones have none. */
  readonly dooms: readonly (Doom | null)[];
  /** How wrong the wall clock of each process is, in order of their birth, in milliseconds. @default not at all */
  readonly skews?: readonly number[];
  readonly actions: readonly Action[];
}

/** A small, quick world in which nothing goes wrong and nothing is done. */
export const PLAIN_PLAN: Plan = {
  seed: 1,
  replicas: 1,
  pollMs: 30_000,
  hibernateAfterMs: 600_000,
  concurrency: 64,
  pageSize: 500,
  cloud: {},
  kube: KIND_CLUSTER,
  chaosMs: 30_000,
  restartMs: 200,
  dooms: [],
  actions: [],
};
