/**
 * What one actor knows: the CR, what the provider last said, and what this process did. Everything here is plain
 * data; `learn` is the only way it changes, and `decide` reads nothing else but a {@linkcode View}.
 *
 * The external-state cache of design.md 4 is `observation` here: filled by reads and mutations (write-through),
 * dropped on delete, never filled by an error, and never older than the answer of our last mutation (rule 10).
 *
 * @module
 */
import type { SecretSeen } from "../binding/facts.ts";
import type { ExternalDatabase, Repair } from "../api/schema.ts";
import { isNew, reconcileDue } from "./resource.ts";
import type { Effect, TopState } from "./vocabulary.ts";

/** One external database as a provider shows it. Structurally the provider port's `Database`. */
export interface ExternalState {
  readonly id: string;
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  /** What it holds, in GiB rounded up, where `sizeGb` is a quota that nothing enforces; absent: not measured. */
  readonly usedGb?: number | undefined;
  readonly state: "Provisioning" | "Available" | "Modifying" | "Deleting" | "Failed";
  readonly providerState: string;
  /** `providerState` is a word that nobody here knows. */
  readonly unknownState?: true | undefined;
  readonly endpoint?: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly pending?: { readonly version?: string; readonly sizeGb?: number } | undefined;
  /** How a client logs in, beside the endpoint and the password. */
  readonly access?:
    | { readonly type: string; readonly database: string; readonly username: string }
    | undefined;
  /** The provider refuses to delete it; absent where it knows no such protection (D5). */
  readonly deletionProtection?: boolean | undefined;
}

/** What a read by id said; `sentAt` is the monotonic time at which the request was sent, in milliseconds. */
export type Observation =
  | {
    readonly kind: "present";
    readonly database: ExternalState;
    readonly sentAt: number;
    /** Read while the CR only observed: that it is there does not make it this CR's (S3). */
    readonly onlyObserved?: true;
  }
  | { readonly kind: "absent"; readonly id: string; readonly sentAt: number };

/** What a lookup by UID tag said. */
export interface Lookup {
  readonly sentAt: number;
  readonly found: readonly ExternalState[];
}

/** A failed effect and when to try again. */
export interface Failure {
  readonly effect: Effect;
  readonly state: TopState;
  readonly errorClass: string;
  readonly code?: string | undefined;
  readonly message: string;
  /** Failures of this effect in a row, from 1. */
  readonly attempt: number;
  /** Monotonic time at which it failed, in milliseconds. */
  readonly at?: number | undefined;
  /** Monotonic time of the next try, in milliseconds. */
  readonly until: number;
}

/** A password that a provider accepted, by its revision. */
export interface PasswordSet {
  readonly id: string;
  readonly revision: string;
  /** The provider is still about it: it counts once the database is seen `Available` after this, monotonic milliseconds. */
  readonly pendingSince?: number | undefined;
}

/** Everything an actor knows. */
export interface Knowledge {
  readonly object: ExternalDatabase;
  /**
   * The API server itself answered with a copy: what a list or a watch showed until then may be of before this process,
   * and a status is written under its version, lest it say again what was said better since (L4, K4).
   */
  readonly confirmed: boolean;
  /** How often the CR went back in time with its cluster. */
  readonly rewinds: number;
  /** The CR is gone from the cluster. */
  readonly gone: boolean;
  /** That was read or answered by the API server itself: what a watch that lags brings later is of before. */
  readonly goneRead?: boolean | undefined;
  /** This process saw the CR new (rule 1), so it knows of every create that was ever sent for it. */
  readonly bornHere: boolean;
  /** Nothing but the new CR was ever seen, and nothing was sent for it: what a finalizer write may prove (rule 3). */
  readonly untouched: boolean;
  /** The finalizer was written by this process on a new CR and no create was sent since (rule 3). */
  readonly provenNew: boolean;
  /** When that was learned, monotonic milliseconds. */
  readonly provenAt?: number | undefined;
  /** A database was recorded, or a create of ours was not refused by a definite answer (rule 15). */
  readonly mayExist: boolean;
  /** When a finalizer or a status showed that this process is not known to have written itself, monotonic milliseconds. */
  readonly lifeSeen?: { readonly at: number; readonly resourceVersion: string } | undefined;
  /** End of the last create of unknown outcome in this process (rule 5), monotonic milliseconds. */
  readonly unknownSince?: number | undefined;
  /** The account that was last heard of when that create ended: only its lookups tell what came of it (rule 5, A2). */
  readonly unknownUnder?: string | undefined;
  /** Tags of an adoption of this database were sent and no create since: every earlier create was resolved before that (rule 18). */
  readonly adopting?: string | undefined;
  /** A create was answered with "exists": the code (rule 4). */
  readonly createExists?: string | undefined;
  readonly observation?: Observation | undefined;
  /** When a status that names no database any more, or of a past that did not yet, was learned: an older observation is no ground to record one. */
  readonly unnamedAt?: number | undefined;
  readonly lookup?: Lookup | undefined;
  /** The bulk list did not show the database: a reason to read by id (rule 10). Sent time of that list. */
  readonly unlistedAt?: number | undefined;
  /** Answer of our last mutation, monotonic milliseconds; older observations are dropped (rule 10). */
  readonly mutatedAt: number;
  /** End of a modify of unknown outcome: no other is sent within the effect bound (rule 8). */
  readonly modifyUnknownSince?: number | undefined;
  /** The database whose deletion an earlier process may have asked for, as the status said at the start. */
  readonly removingAtStart?: string | undefined;
  /** Ids whose deletion we asked for in this process, with the time of the answer. */
  readonly removals: Readonly<Record<string, number>>;
  /** Answer of the last removal of a database that no lookup had shown, monotonic milliseconds: later ones may not show it yet. */
  readonly unseenRemovedAt?: number | undefined;
  /** How often the deletion of each was accepted since the last stimulus: a delete that does not help is not repeated without end (S5). */
  readonly removalTries: Readonly<Record<string, number>>;
  /** Reads in a row that found a transitional state. */
  readonly polls: number;
  /** Reads in a row that showed a database without this CR's UID. */
  readonly strayReads?: number | undefined;
  /** The CRD is terminating (rule 13). */
  readonly crdTerminating: boolean;
  /** The databases were tagged as retained (rule 16). */
  readonly retained: boolean;
  /** We removed our finalizer ourselves. */
  readonly released: boolean;
  /** The removal of our finalizer was sent and not answered. */
  readonly releaseAsked: boolean;
  /** The CR named its database once, or may have: the write of its id was not answered (S2). */
  readonly named?: boolean | undefined;
  /**
   * The account that its database was seen in when a record was refused: what its deletion goes by where none is
   * recorded (S4, A2), and so does a create. The next record of a living CR says what holds.
   */
  readonly seenUnder?: string | undefined;
  /** The account that the CR last named: a wiped status does not make it unknown (S4, A4). */
  readonly account?: string | undefined;
  /** Why adoption or ownership is refused. */
  readonly conflict?: string | undefined;
  /** More than one live database carries this UID: their ids (S1). */
  readonly duplicates: readonly string[];
  /** The last failed bulk read, until a read succeeds (C5). */
  readonly unreadable?: { readonly errorClass: string; readonly message: string } | undefined;
  /** The failure that came last, for people; a failed report apart, which no status can tell of. */
  readonly failure?: Failure | undefined;
  /**
   * The last failure of each effect that has not succeeded since. One per effect: were there only the newest, a failed
   * status write would let a refused create go out again before its time, and so on in turns (S5).
   */
  readonly failures: Readonly<Partial<Record<Effect, Failure>>>;
  /** Counts what resets back-off (rule 23): a failure of an effect that began before it holds nobody back. */
  readonly stimuli: number;
  /** Failures in a row by effect. */
  readonly attempts: Readonly<Partial<Record<Effect, number>>>;
  /** Repairs without effect, by field (R6); starts from `status.repair`. */
  readonly repair: readonly Repair[];
  /** Changes that were accepted since the last stimulus: it lets so many through, whatever was counted before (S5). */
  readonly repairsSince?: number | undefined;
  /** Monotonic time of the last successful read or mutation answer; entry time at first. */
  readonly lastReadAt: number;
  /**
   * What the last status write was to change, as text, and the resourceVersion that it gave, so that no write repeats
   * itself. Not the whole status: written against a stale copy it may have to be completed.
   */
  readonly reported?: { readonly text: string; readonly resourceVersion: string } | undefined;
  /** An observation sent before this does not answer the person who asked for one (F3), monotonic milliseconds. */
  readonly refreshSince?: number | undefined;
  /** The connection Secret as last seen or written; its password never (K1). */
  readonly secret?: SecretSeen | undefined;
  /** When a watch told of the Secret that is known, monotonic milliseconds. */
  readonly secretHeardAt?: number | undefined;
  /** The Secret that went last, as the watch told. */
  readonly secretGone?: { readonly uid: string; readonly at: number } | undefined;
  /** The password that this process set at a database, by its revision. */
  readonly passwordSet?: PasswordSet | undefined;
  /** UIDs of Secrets that this process removed: a watch that lags may still show them. */
  readonly secretsRemoved?: readonly string[] | undefined;
  /** The cluster went back in time: what the status says of the password may be of before the last one. */
  readonly passwordUnsure?: boolean | undefined;
  /** When the state last seen at the provider began to be transitional, monotonic milliseconds. */
  readonly transitionalSince?: number | undefined;
}

/** What a hibernated or crashed actor knew beyond the CR (rule 24). */
export type Kept = Partial<
  Pick<
    Knowledge,
    | "bornHere"
    | "named"
    | "unknownSince"
    | "unknownUnder"
    | "account"
    | "observation"
    | "mutatedAt"
    | "lastReadAt"
    | "passwordUnsure"
    | "seenUnder"
  >
>;

/**
 * What an actor knows when it starts, from the CR alone, and what a hibernated one kept (rule 24). Every field is there
 * from the beginning: fields that came one by one, in any order, would make copying and reading it slow.
 */
export function initialKnowledge(
  object: ExternalDatabase,
  now: number,
  kept: Kept = {},
): Knowledge {
  return {
    object,
    confirmed: false,
    rewinds: 0,
    gone: false,
    goneRead: undefined,
    bornHere: kept.bornHere ?? isNew(object),
    untouched: kept.bornHere === undefined && isNew(object),
    provenNew: false,
    provenAt: undefined,
    lifeSeen: undefined,
    mayExist: object.status?.providerId !== undefined,
    named: kept.named === true || object.status?.providerId !== undefined,
    unknownSince: kept.unknownSince,
    unknownUnder: kept.unknownUnder,
    adopting: undefined,
    createExists: undefined,
    observation: kept.observation,
    unnamedAt: object.status?.providerId === undefined ? now : undefined,
    lookup: undefined,
    unlistedAt: undefined,
    mutatedAt: kept.mutatedAt ?? Number.NEGATIVE_INFINITY,
    modifyUnknownSince: undefined,
    removingAtStart: object.status?.removing,
    removals: {},
    unseenRemovedAt: undefined,
    removalTries: {},
    polls: 0,
    strayReads: undefined,
    crdTerminating: false,
    retained: false,
    seenUnder: kept.seenUnder,
    account: object.status?.account ?? kept.account,
    released: false,
    releaseAsked: false,
    conflict: undefined,
    duplicates: [],
    unreadable: undefined,
    failure: undefined,
    failures: {},
    stimuli: 0,
    attempts: {},
    repair: object.status?.repair ?? [],
    repairsSince: 0,
    lastReadAt: kept.lastReadAt ?? now,
    reported: undefined,
    refreshSince: reconcileDue(object) ? now : undefined,
    secret: undefined,
    secretHeardAt: undefined,
    secretGone: undefined,
    passwordSet: undefined,
    secretsRemoved: undefined,
    passwordUnsure: kept.passwordUnsure,
    transitionalSince: undefined,
  };
}
