/**
 * What an effect or an event brings to what an actor knows; `learn` takes it in.
 *
 * @module
 */
import type { ExternalDatabase, Repair } from "../api/schema.ts";
import type { SecretSeen } from "../binding/facts.ts";
import type { Lookup, Observation, PasswordSet } from "./knowledge.ts";

/** Facts that an effect or an event brings; absent fields stay as they are. */
export interface Learned {
  readonly object?: ExternalDatabase | undefined;
  /** `object` is the truth though older: the cluster went back in time, and the copy of this resourceVersion is no more. */
  readonly rewound?: string | undefined;
  readonly gone?: true | undefined;
  /** Only the watch or a list says that it is gone. */
  readonly goneHeard?: true | undefined;
  /** The account that the database was seen in, where nothing could be recorded of it. */
  readonly account?: string | undefined;
  /** The account that the database was seen in as its record was refused. */
  readonly seenUnder?: string | undefined;
  /** A CR that was taken for gone was read after all: what this process believed of its life is not sure. */
  readonly foundAlive?: true | undefined;
  readonly finalizerWrittenOnNew?: true | undefined;
  /** Another process wrote the finalizer before we could: it may be creating (rule 5). */
  readonly finalizerOfAnother?: true | undefined;
  /** Our own finalizer write landed, and `object` is its answer. */
  readonly finalizerWritten?: true | undefined;
  readonly observation?: Observation | undefined;
  readonly lookup?: Lookup | undefined;
  /** A create was sent: how it ended, and when (monotonic milliseconds). */
  readonly create?: {
    readonly outcome: "answered" | "refused" | "unknown" | "exists";
    readonly at: number;
    readonly code?: string | undefined;
    /** The account that was last heard of then. */
    readonly under?: string | undefined;
  } | undefined;
  /** An adoption's tags were, or may have been, written on a database whose id is not recorded yet (rule 18). */
  readonly tagged?: { readonly id: string; readonly at: number } | undefined;
  /** A modify was sent: how it ended. */
  readonly modify?: { readonly outcome: "answered" | "unknown"; readonly at: number } | undefined;
  readonly repair?: readonly Repair[] | undefined;
  readonly secret?: SecretSeen | undefined;
  /** When the first request behind `secret` was sent: what a watch told since of the same Secret is newer. */
  readonly secretAt?: number | undefined;
  /** The watch's word of a Secret: older ones are dropped, unless the cluster went back in time. */
  readonly secretHeard?: { readonly secret: SecretSeen; readonly rewound?: boolean | undefined } | undefined;
  readonly secretsRemoved?: readonly string[] | undefined;
  /** UID of a Secret that is gone. */
  readonly secretGone?: string | undefined;
  readonly passwordSet?: PasswordSet | undefined;
  /** A delete of this id was sent and may take effect. */
  readonly asked?: { readonly id: string; readonly at: number } | undefined;
  /** A delete of this id was accepted, or it is gone. */
  readonly removed?: { readonly id: string; readonly at: number } | undefined;
  readonly crdTerminating?: boolean | undefined;
  readonly retained?: true | undefined;
  readonly released?: true | undefined;
  readonly releaseAsked?: true | undefined;
  /** The write of a first id was sent, and not answered, or refused and not read since. */
  readonly recordAsked?: true | undefined;
  /** Our own record of an id landed, and `object` is its answer. */
  readonly recorded?: true | undefined;
  /** The CR was told by a list or a watch, which may lag. */
  readonly heard?: true | undefined;
  readonly conflict?: string | null | undefined;
  readonly duplicates?: readonly string[] | undefined;
  readonly reported?: { readonly text: string; readonly resourceVersion: string } | undefined;
  readonly unlistedAt?: number | undefined;
  readonly unreadable?: { readonly errorClass: string; readonly message: string } | null | undefined;
}
