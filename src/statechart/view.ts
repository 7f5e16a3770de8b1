/**
 * What a decision may read of the world beside one actor's knowledge: plain data, so that `decide` is a pure
 * function and can be tested by table.
 *
 * @module
 */

import type { SecretSeen } from "../binding/facts.ts";
import type { ClassView } from "./class_view.ts";

/** A moment's view of clock, provider and account. All times are monotonic milliseconds. */
export interface View {
  readonly now: number;
  /** Wall time in milliseconds since the epoch: only for comparison with times that a status carries. */
  readonly wallNow: number;
  /** What the provider said of itself; `undefined` while it has not answered yet. */
  readonly provider: {
    readonly account: string | undefined;
    readonly clientTokens: boolean;
    readonly readLagMs: number;
    readonly effectBoundMs: number;
    /** Its name, as a connection Secret says it. */
    readonly name?: string | undefined;
    /** Whether its databases are of no use without a password, or take one where a resource asks for one. */
    readonly passwords?: "always" | "asked" | undefined;
    /** A delete can take a final snapshot first (D7). */
    readonly snapshots?: boolean | undefined;
    /** Deletion protection can be set (D5). */
    readonly deletionProtection?: boolean | undefined;
  } | undefined;
  /** Sent time of the request whose answer `provider` is; −Infinity before the first (A2). */
  readonly accountAt: number;
  /** Answer times of the last requests that named the account of now, oldest first; none from before it changed. */
  readonly accountWords: readonly number[];
  /** Answer time of the first of the requests in a row that named the account of now; −Infinity where it never changed. */
  readonly accountSince: number;
  /** The account that was named before that of now, and when the last request that named it was sent. */
  readonly accountLeft?: { readonly account: string | undefined; readonly sentAt: number } | undefined;
  /** Why `provider` is undefined, for people. */
  readonly providerError: string | undefined;
  /** The class of that error. */
  readonly providerErrorClass?: string | undefined;
  /** Process start or the taking of the lease, whichever is later (rule 5). */
  readonly settleSince: number;
  readonly clusterId: string;
  /** Period of the bulk list, or how long a list takes where that is longer. */
  readonly pollMs: number;
  /** Age at which a cached observation is stale. */
  readonly cacheTtlMs: number;
  /** This CR's database is among those that turned absent together (rule 12). */
  readonly massAbsent: boolean;
  /** The account has a mass absence now (rule 12). */
  readonly massAbsence: boolean;
  /** When the last mass absence ended; what was absent before is read again. −Infinity when there was none. */
  readonly massAbsenceOverAt: number;
  /** Many CRs wait for their settle window at once: the observer lists for all of them, so that none need ask alone. */
  readonly crowded: boolean;
  /** The connection Secrets of this CR, as the watch shows them. */
  readonly secrets?: readonly SecretSeen[] | undefined;
  /** All Secrets are listed, so that one that is not known is not there. */
  readonly secretsListed?: boolean | undefined;
  /** Sent time of the last complete bulk list; −Infinity before the first. */
  readonly roundAt: number;
  /** The class of this CR; absent: the flags of `start` hold. */
  readonly class?: ClassView | undefined;
}

/** Time between two looks whether the account has said its name, in milliseconds. */
export const ACCOUNT_WAIT_MS = 500;

/**
 * How long before an absence is asked for the account must have said its name, in milliseconds: credentials may be
 * wrong for a moment, and nobody who asks for the account before and after that hears of it.
 */
export const ACCOUNT_BRACKET_MS = 5_000;
/** How old the word of a database may be that is recorded as one's own, in milliseconds: its tags may change hands (S3). */
export const UNRECORDED_MS = 30_000;

/** The settle window's length in milliseconds (rule 5). */
export function settleMs(view: View): number {
  return (view.provider?.readLagMs ?? 0) + (view.provider?.effectBoundMs ?? 0);
}
