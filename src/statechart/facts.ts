/**
 * Questions that several decisions ask of an actor's knowledge.
 *
 * @module
 */
import { ANNOTATION, TAG } from "../api/constants.ts";
import { isDuration, parseDuration } from "../api/duration.ts";
import { validateSpec } from "../api/validate.ts";
import { type ExternalDatabase, type ExternalDatabaseSpec, POLL_INTERVAL_MS } from "../api/schema.ts";
import type { ExternalState, Knowledge } from "./knowledge.ts";
import { ACCOUNT_BRACKET_MS, settleMs, type View } from "./view.ts";

/** The policies in force: what the spec says, else by how the database came to be (rule 19). */
export interface Policies {
  readonly deletion: "Delete" | "Retain" | "Snapshot";
  readonly drift: "Repair" | "Report";
  readonly missing: "Recreate" | "Report";
}

/** The spec as stored: nothing of it is sure to be there, for an object may have been stored without one. */
export function specOf(object: ExternalDatabase): Partial<ExternalDatabaseSpec> {
  return (object.spec as ExternalDatabaseSpec | undefined | null) ?? {};
}

/** The class that a CR names; what an older schema let in beside text names none. */
export function classAsked(object: ExternalDatabase): string | undefined {
  const { className } = specOf(object);
  return typeof className === "string" ? className : undefined;
}

/** The connection Secret that a CR asks for; what an older schema let in beside an object asks for none. */
export function secretRef(object: ExternalDatabase): { readonly name?: string | undefined } | undefined {
  const ref: unknown = specOf(object).connectionSecretRef;
  if (typeof ref !== "object" || ref === null) return undefined;
  const { name } = ref as { readonly name?: unknown };
  return typeof name === "string" ? { name } : {};
}

const problems = new WeakMap<object, { readonly message: string | undefined }>();

/** What is wrong with a stored spec, or `undefined`; remembered per spec. */
export function specProblem(object: ExternalDatabase): string | undefined {
  const key = typeof object.spec === "object" && object.spec !== null ? object.spec : object;
  let known = problems.get(key);
  if (known === undefined) {
    const result = validateSpec(object.spec);
    known = { message: result.ok ? undefined : result.message };
    problems.set(key, known);
  }
  return known.message;
}

/** Whether the CR only observes: nothing is ever sent for it that changes anything at the provider. */
export function isObserveOnly(object: ExternalDatabase): boolean {
  return specOf(object).managementPolicy === "ObserveOnly";
}

/** Whether the management that a CR asks for is known here: another build's schema may let in more, which must be met. */
export function isManagementKnown(object: ExternalDatabase): boolean {
  const management: string | undefined = specOf(object).managementPolicy;
  return management === undefined || management === "Full" || management === "ObserveOnly";
}

/** The database that a CR which only observes looks at: the recorded one, else the one that its spec names. */
export function observedId(object: ExternalDatabase): string | undefined {
  return object.status?.providerId ?? specOf(object).providerId;
}

/**
 * Whether a database may be shown on this CR: nobody's, its own, kept after its owner's end, or one of its own namespace.
 * Else a user of one namespace could look at the databases of another (D8).
 */
export function mayBeShown(object: ExternalDatabase, { tags }: ExternalState): boolean {
  const owner = tags[TAG.uid];
  return owner === undefined || owner === object.metadata.uid || isRetained({ tags }) ||
    tags[TAG.namespace] === object.metadata.namespace;
}

/**
 * Whether its owner let a database go. A mark that names another is of an owner before: it was written late, over the
 * tags of whoever adopted the database since, and gives nothing away (S3, rule 5).
 */
export function isRetained({ tags }: Pick<ExternalState, "tags">): boolean {
  return tags[TAG.retained] !== undefined && tags[TAG.retained] === tags[TAG.uid];
}

/** Policies of a CR for one database. One that is named in the spec is never re-created under another name. */
export function policiesOf(object: ExternalDatabase, id?: string): Policies {
  const { status } = object;
  const spec = specOf(object);
  const adopted = isAdopted(object, id);
  const inherited = adopted ? undefined : object.class?.defaults; // what was adopted is never given up by default
  return {
    deletion: spec.deletionPolicy ?? inherited?.deletionPolicy ?? (adopted ? "Retain" : "Delete"),
    drift: spec.driftPolicy ?? inherited?.driftPolicy ?? (adopted ? "Report" : "Repair"),
    missing: spec.providerId !== undefined && spec.providerId === status?.providerId
      ? "Report"
      : spec.onMissing ?? inherited?.onMissing ?? (adopted ? "Report" : "Recreate"),
  };
}

/**
 * Whether a database, the recorded one unless `id` is given, was or is to be adopted rather than created (rule 19). One
 * that is not recorded yet is adopted when the spec names it: an id that is set while a create is in flight must not
 * turn what was created into something adopted, which would outlive the CR (S2).
 */
export function isAdopted(object: ExternalDatabase, id = object.status?.providerId): boolean {
  const { status } = object;
  if (id !== undefined && id === status?.providerId) return status.adopted ?? false;
  const wanted = specOf(object).providerId;
  return wanted !== undefined && (id === undefined || id === wanted);
}

/**
 * The same of a database that was seen. One that is not recorded yet says itself that it was adopted, though the spec
 * ceased to name it while its tags were written, or before a status that was wiped: it was there before the CR (rule 19).
 */
export function wasAdopted(
  object: ExternalDatabase,
  { id, tags }: Pick<ExternalState, "id" | "tags">,
): boolean {
  return isAdopted(object, id) ||
    (id !== object.status?.providerId && tags[TAG.adopted] === object.metadata.uid);
}

/** The database that the spec names though the CR has another; only an id set during a create gets this far (rule 18). */
export function otherNamed(object: ExternalDatabase): string | undefined {
  const { providerId } = specOf(object);
  const has = object.status?.providerId;
  return has === undefined || providerId === has ? undefined : providerId;
}

/** The largest number that a counter of the status can hold. */
export const MAX_INT32 = 2 ** 31 - 1;

/** The incarnation in force, from 1 (rule 7). */
export function incarnationOf(object: ExternalDatabase): number {
  return object.status?.incarnation ?? 1;
}

/** The client token of the next create: UID and incarnation (rule 4). */
export function clientToken(object: ExternalDatabase): string {
  return `${object.metadata.uid}-${incarnationOf(object)}`;
}

/** The database that was last seen present under the recorded id, or just answered by a create. */
export function presentDatabase(k: Knowledge): ExternalState | undefined {
  if (k.observation?.kind !== "present") return undefined;
  const { database } = k.observation;
  const id = k.object.status?.providerId;
  return id === undefined || id === database.id ? database : undefined;
}

/**
 * A database that is this CR's and not recorded yet: one that carries its UID, or that a create answered and nobody's
 * tags claim. What was only looked at is none, though the CR manages now (S3).
 */
export function unrecordedDatabase({ object, observation }: Knowledge): ExternalState | undefined {
  if (object.status?.providerId !== undefined || observation?.kind !== "present") return undefined;
  const { database, onlyObserved = false } = observation;
  const owner = database.tags[TAG.uid];
  if (owner === object.metadata.uid) return database;
  return owner === undefined && !onlyObserved && !isObserveOnly(object) ? database : undefined;
}

/** Whether what was last seen is not the recorded database: a status that was edited names one that nobody read yet. */
export function isUnseen(k: Knowledge): boolean {
  const { observation, object } = k;
  const id = object.status?.providerId;
  if (id === undefined || observation === undefined) return false;
  return id !== (observation.kind === "present" ? observation.database.id : observation.id);
}

/** Whose a database is, by its tags (S3, rule 20). */
export function ownership(
  k: Knowledge,
  database: ExternalState,
  view: View,
): "ours" | "otherCluster" | "foreign" {
  if (database.tags[TAG.uid] !== k.object.metadata.uid) return "foreign";
  const cluster = database.tags[TAG.cluster];
  return cluster === undefined || cluster === view.clusterId ? "ours" : "otherCluster";
}

/** Whether a database names another owner: it is nothing of ours, whatever brought it here (S3). */
export function belongsToOther(k: Knowledge, database: ExternalState): boolean {
  const owner = database.tags[TAG.uid];
  return owner !== undefined && owner !== k.object.metadata.uid;
}

/** Whether a person asked for an observation that was not made yet (F3). */
export function isRefreshDue(k: Knowledge): boolean {
  return k.refreshSince !== undefined && (k.observation?.sentAt ?? Number.NEGATIVE_INFINITY) < k.refreshSince;
}

/** Whether its absence is one that we asked for, in this process or, as the status says, in an earlier one (rule 12). */
export function isRemovalAsked(k: Knowledge, id: string): boolean {
  return k.removals[id] !== undefined || (k.removingAtStart === id && k.object.status?.removing === id);
}

/** Whether a list missed the recorded database, or a person asked for a read, and none was made since (rules 10 and 11). */
export function isReadDue(k: Knowledge): boolean {
  if (k.object.status?.providerId === undefined) return false;
  if (isRefreshDue(k)) return true;
  const { observation, unlistedAt } = k;
  return unlistedAt !== undefined && observation?.kind !== "absent" &&
    unlistedAt > (observation?.sentAt ?? Number.NEGATIVE_INFINITY);
}

/** Whether we asked for a database's deletion so lately that a list may still show it as it was. */
export function isBeingRemoved(k: Knowledge, id: string, view: View): boolean {
  const at = k.removals[id];
  return at !== undefined && view.now - at <= settleMs(view);
}

/** Databases of a lookup that are this CR's, oldest first (S1). */
export function ownFound(k: Knowledge, view: View): readonly ExternalState[] {
  return (k.lookup?.found ?? [])
    .filter((d) => ownership(k, d, view) === "ours" && !isBeingRemoved(k, d.id, view))
    .toSorted((a, b) =>
      Date.parse(a.createdAt) - Date.parse(b.createdAt) || compare(a.createdAt, b.createdAt) ||
      compare(a.id, b.id)
    );
}

/** By code units: of two times within a millisecond, in one form, the earlier comes first. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** For how long a finalizer's write proves that its CR is wanted as it was, in milliseconds: a watch may be silent. */
export const PROOF_MS = 10_000;

/** Whether the finalizer was written on a new CR just now: a create in the same pass need read nothing (rule 3). */
export function isProvenNew(k: Knowledge, now: number): boolean {
  return k.provenNew && now - (k.provenAt ?? now) <= PROOF_MS;
}

/** Whether the database was ever usable: then it is never replaced because it says `Failed` (rule 7). */
export function everAvailable(k: Knowledge): boolean {
  return k.object.status?.endpoint !== undefined || presentDatabase(k)?.endpoint !== undefined;
}

/**
 * The monotonic time from which an empty lookup decides something (rules 5 and 15): at once when every create of
 * this CR is known to have been refused or answered, else the settle window after the last that is not known.
 */
export function settledAt(k: Knowledge, view: View): number {
  const last = Math.max(
    k.unknownSince ?? Number.NEGATIVE_INFINITY,
    k.lifeSeen?.at ?? Number.NEGATIVE_INFINITY,
  );
  const since = k.bornHere ? last : Math.max(last, view.settleSince);
  return since + settleMs(view);
}

/**
 * The same for the absence of the database `id` (R7, S1, S2): what the cloud answered to a create or a change of ours is
 * held against a read that knows nothing of it yet, through the settle window. One whose removal was asked for may go at
 * once; but where no id is recorded any more, only lists tell that it went, and they may not show it yet (S4).
 */
export function absenceSettledAt(k: Knowledge, view: View, id: string | undefined): number {
  const settled = settledAt(k, view);
  if (id === undefined) {
    return Math.max(settled, (k.unseenRemovedAt ?? Number.NEGATIVE_INFINITY) + settleMs(view));
  }
  // Unless something was made or changed after that: a status that was edited names what went before it, or what never
  // was, and neither shows whether what it named until then is still there (S1, S2).
  const removed = Math.max(Number.NEGATIVE_INFINITY, ...Object.values(k.removals));
  if (isRemovalAsked(k, id) && k.mutatedAt <= removed) return settled;
  return Math.max(settled, Math.max(k.mutatedAt, removed) + settleMs(view));
}

/** The CR's poll interval in milliseconds, 10 s to 24 h (rule 11, H2), or the operator's. */
export function pollMs(k: Knowledge, view: View): number {
  const text: unknown = specOf(k.object).pollInterval;
  // A malformed one that was stored under an older schema is reported elsewhere; it must not stop the actor here.
  if (typeof text !== "string" || !isDuration(text)) return view.pollMs;
  return Math.min(Math.max(parseDuration(text), POLL_INTERVAL_MS.min), POLL_INTERVAL_MS.max);
}

/** First wait between reads of a transitional state, in milliseconds. */
const POLL_FIRST_MS = 500;
/** Longest wait between reads of a transitional state, in milliseconds (the original design's interval). */
export const POLL_CAP_MS = 30_000;

/** Wait after `sentAt` until the next read of a transitional state: a quarter of its age so far, 0.5 s to 30 s. */
export function transitionalPollMs(k: Knowledge, view: View): number {
  const age = view.now - (k.transitionalSince ?? view.now);
  return Math.min(POLL_CAP_MS, Math.max(POLL_FIRST_MS, age / 4));
}

/** Whether a person confirmed that an absence is real (rule 12). */
export function absenceConfirmed(object: ExternalDatabase): boolean {
  const value = object.metadata.annotations?.[ANNOTATION.confirmAbsence];
  return value !== undefined && value !== object.status?.lastHandledConfirmation;
}

/** Whether an absence was seen before the account that answers now did so first: it may be another one's word (S4, A2). */
export function isOfAnotherAccount(k: Knowledge, view: View, absentAt: number): boolean {
  return k.account !== undefined && absentAt < view.accountSince;
}

/**
 * Whether an absence was seen between two answers of the account that holds the database, the first shortly before it:
 * else it may be the word of another account, whose credentials were there for a moment (S4, A2).
 */
export function isAccountConfirmed(k: Knowledge, view: View, absentAt: number): boolean {
  const stored = k.account;
  return stored === undefined ||
    (hasAccountSpoken(k, view, absentAt) && hasAccountJustSpoken(view, absentAt));
}

/** Whether the account of now had said its name shortly before `at`. */
function hasAccountJustSpoken(view: View, at: number): boolean {
  return view.accountWords.some((word) => word <= at && word >= at - ACCOUNT_BRACKET_MS);
}

/** Whether the account that holds the database has said its name since `absentAt`. */
export function hasAccountSpoken(k: Knowledge, view: View, absentAt: number): boolean {
  return view.provider?.account === k.account && view.accountAt >= absentAt;
}

/**
 * Whether a create of unknown outcome was surely sent to another account than the one that answers: what it brought is
 * there (rule 5, A2). Sure is only an account that said its name again after that create, or in which it was seen.
 */
export function isCreatedElsewhere(k: Knowledge, view: View): boolean {
  const { accountLeft: left, provider } = view;
  if (k.seenUnder !== undefined) {
    return provider?.account !== undefined && provider.account !== k.seenUnder; // it was seen there, and not recorded
  }
  return k.unknownUnder !== undefined && k.unknownSince !== undefined &&
    provider?.account !== k.unknownUnder &&
    left?.account === k.unknownUnder && left.sentAt >= k.unknownSince;
}

/** Whether the account that answers is not the one that holds the database (A2, rule 12). */
export function accountDiffers(k: Knowledge, view: View): boolean {
  const stored = k.account;
  const seen = view.provider?.account;
  return stored !== undefined && seen !== undefined && stored !== seen;
}
