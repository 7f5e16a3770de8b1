/**
 * The events of the statechart: what the supervisor and the observer tell an actor.
 *
 * @module
 */
import type { SecretSeen } from "../binding/facts.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { ExternalState } from "./knowledge.ts";

/** An event of the machine. Times are monotonic milliseconds at which a request was sent. */
export type DatabaseEvent =
  /** The watch or a list brought a newer copy of the CR; with `rewound` an older one: see `Learned`. */
  | { readonly type: "object.changed"; readonly object: ExternalDatabase; readonly rewound?: string }
  /** The CR is gone from the cluster, or its name belongs to another UID. */
  | { readonly type: "object.gone" }
  /** The bulk list showed the database; `duplicates` are ids of others with the same UID. */
  | {
    readonly type: "external.listed";
    readonly database: ExternalState;
    readonly sentAt: number;
    readonly duplicates: readonly string[];
  }
  /** The bulk list showed databases of a CR that has none recorded: a lookup's word that came by itself. */
  | { readonly type: "external.found"; readonly found: readonly ExternalState[]; readonly sentAt: number }
  /** A complete bulk list did not show the database. */
  | { readonly type: "external.unlisted"; readonly sentAt: number }
  /** The bulk list failed. */
  | { readonly type: "external.unreadable"; readonly errorClass: string; readonly message: string }
  /**
   * The watch brought a newer copy of a connection Secret of the CR, or, with `rewound`, what stands for one; or the one
   * of the UID `gone` is gone.
   */
  | {
    readonly type: "binding.changed";
    readonly secret?: SecretSeen;
    readonly rewound?: boolean;
    readonly gone?: string;
  }
  /** Something of the account changed: provider information, mass absence, a complete round. */
  | { readonly type: "world.changed" };
