/**
 * What the conditions say: pure functions from knowledge to verdicts.
 *
 * @module
 */
import { withoutUnsafe } from "../core/text.ts";
import type { Verdict } from "./decision.ts";
import { quote } from "./drift.ts";
import { pollMs, presentDatabase } from "./facts.ts";
import type { ExternalState, Failure, Knowledge } from "./knowledge.ts";
import type { Effect, Reason } from "./vocabulary.ts";
import { LAST_STEP, longestDelayMs } from "./step_error.ts";
import type { View } from "./view.ts";

/** `Ready` becomes Unknown after this many poll periods without a read (design.md). */
export const UNREAD_PERIODS = 3;

/** A verdict of status `False`. */
export function no(reason: Reason, message: string): Verdict {
  return { status: "False", reason, message };
}

/** A verdict of status `Unknown`. */
export function unknown(reason: Reason, message: string): Verdict {
  return { status: "Unknown", reason, message };
}

/**
 * Whether a database can be used as it is; a change in progress or drift does not hinder. A state that is not known,
 * such as `Stopped`, is no word for it (S6).
 */
export function isServing(database: ExternalState): boolean {
  return database.endpoint !== undefined && !database.unknownState &&
    (database.state === "Available" || database.state === "Modifying");
}

/** The reason of a provider that says nothing of itself: one that refuses the credentials is told apart (F2). */
export function silenceReason(view: View): Reason {
  switch (view.providerErrorClass) {
    case "unauthorised":
      return "Unauthorised";
    case "throttled":
      return "Throttled";
    default:
      return "ProviderUnavailable";
  }
}

/** Both conditions after so long without a read. */
export const UNREAD = unknown(
  "ProviderUnavailable",
  "The provider has not answered for three poll periods; the endpoint is kept",
);

/** Whether so long nothing was read that what was last seen says nothing any more (C5). */
export function isUnread(k: Knowledge, view: View, periodMs = pollMs(k, view)): boolean {
  return view.now - k.lastReadAt >= UNREAD_PERIODS * periodMs;
}

/** `Ready` of a recorded database that a read did not find. */
export function missing(k: Knowledge): Verdict | undefined {
  const id = k.object.status?.providerId;
  if (k.observation?.kind !== "absent" || k.observation.id !== id) return undefined;
  return no("ExternalMissing", `The provider says that the database ${quote(id)} is gone`);
}

/**
 * `Ready` where the database is not read by itself, whatever the CR's own poll interval: only the list tells of it, and
 * by a shorter period it would turn Unknown between any two lists (S5).
 */
export function listedReadiness(k: Knowledge, view: View, otherwise: Verdict): Verdict {
  if (k.object.status?.providerId === undefined) return otherwise; // no list tells of what no status names
  return missing(k) ?? toldMissing(k) ??
    readiness(k, view, otherwise, Math.max(pollMs(k, view), view.pollMs));
}

/** Until this process has read it, a database that was said to be missing stays so: a restart is no news (L4). */
function toldMissing(k: Knowledge): Verdict | undefined {
  const last = lastReady(k);
  return k.observation === undefined && last?.reason === "ExternalMissing" ? last : undefined;
}

/** `Ready`: usable now; `otherwise` is said when the database is not. */
export function readiness(
  k: Knowledge,
  view: View,
  otherwise: Verdict,
  periodMs = pollMs(k, view),
): Verdict {
  const database = presentDatabase(k);
  const last = lastReady(k);
  // Until this process has read it, the last word stands: that it was usable, or that nobody could tell any more. Where a
  // person took the id out of the status there is nothing that it could be about.
  const told = k.observation === undefined && k.object.status?.providerId !== undefined &&
    (last?.status === "True" || last?.message === UNREAD.message);
  if (database === undefined ? told : isServing(database)) {
    if (isUnread(k, view, periodMs)) return UNREAD;
    return database === undefined ? last as Verdict : {
      status: "True",
      reason: "Available",
      message: `The database accepts connections at ${database.endpoint}`,
    };
  }
  return otherwise;
}

/** The `Ready` condition as the CR carries it. */
export function lastReady(k: Knowledge): Verdict | undefined {
  const c = k.object.status?.conditions?.find((c) => c.type === "Ready");
  return c && { status: c.status, reason: c.reason as Reason, message: c.message };
}

const EFFECT_WORDS = {
  finalize: "Writing the finalizer",
  lookup: "Looking for the database by its tags",
  adopt: "Adopting the database",
  create: "Creating the database",
  record: "Recording the database's id",
  observe: "Reading the database",
  confirm: "Confirming that the database is gone",
  modify: "Changing the database",
  bind: "Writing the connection Secret",
  setPassword: "Setting the password",
  discard: "Removing the failed database",
  reincarnate: "Preparing a new database",
  remove: "Deleting the database",
  retain: "Marking the database as retained",
  release: "Removing the finalizer",
  report: "Writing the status",
} as const;

/** The reason of a failed effect. */
export function failureReason(failure: Failure): Reason {
  switch (failure.code) {
    case "DeletionProtected":
    case "SnapshotFailed":
      return failure.code;
    case "SnapshotExists": // of another database
      return "Conflict";
    case "DatabaseFailed": // what is to be adopted
      return "CreateFailed";
  }
  switch (failure.errorClass) {
    case "taken":
      return failure.effect === "bind" ? "SecretConflict" : "Conflict";
    case "throttled":
      return "Throttled";
    case "unauthorised":
      return "Unauthorised";
    case "bug":
      return "ActorFailed";
  }
  const busy = failure.errorClass === "busy"; // no error state: its turn comes (Q4)
  const cluster = failure.errorClass === "kubernetes" || failure.errorClass === "conflict";
  switch (failure.effect) {
    case "create":
    case "adopt":
      return busy || cluster ? "Pending" : "CreateFailed";
    case "record":
      return "Creating";
    case "bind":
    case "setPassword":
      return "SecretPending";
    case "modify":
      return busy || cluster ? "Updating" : "UpdateFailed";
    case "discard":
    case "remove":
    case "retain":
      return busy || cluster ? "Deleting" : "DeleteFailed";
    default:
      return cluster ? "Pending" : "ProviderUnavailable";
  }
}

/** What helps, or follows, by the class of the failure; beside the wait, which the retry step tells. */
const CLASS_HINTS: Readonly<Record<string, string>> = {
  throttled: "; all calls of the account wait, and go on by themselves",
  unauthorised: "; renew the operator's credentials, which are read again by themselves",
};

/** Refusals of what the spec asks for: an edit is tried at once. */
const BY_SPEC: ReadonlySet<Effect> = new Set<Effect>(["create", "modify"]);

function hintOf({ code = "", errorClass, effect }: Failure): string {
  return HINTS[code] ?? CLASS_HINTS[errorClass] ??
    (errorClass === "rejected" && BY_SPEC.has(effect) ? "; an edit of the spec is tried at once" : "");
}

/** What helps, by the provider's code. */
const HINTS: Readonly<Record<string, string>> = {
  DeletionProtected:
    "; set spec.deletionProtection to false, lift the protection at the provider, or set deletionPolicy to Retain",
  SnapshotFailed: "; the database is kept: it is tried again, or set deletionPolicy to Delete or Retain",
  SnapshotExists:
    "; the database is kept: remove that snapshot at the provider, or set deletionPolicy to Delete or Retain",
};

/** What a failed effect says, with its back-off step (L4). */
export function failureVerdict(failure: Failure): Verdict {
  const reason = failureReason(failure);
  const what = EFFECT_WORDS[failure.effect];
  // Our own words hold UIDs that the reader needs (rule 18); a provider's hold what differs from try to try.
  const told = failure.errorClass === "taken" ? oneLine(failure.message) : normalise(failure.message);
  // The error names its own action; where that is the effect itself it is said once.
  const why = told.startsWith(`${what}: `) ? told.slice(what.length + 2) : told;
  // However long a provider's words are, what helps is not cut off.
  const rest = `${hintOf(failure)} (${stepWords(failure)})`;
  const begin = `${what} failed: `;
  const message = `${begin}${why.slice(0, MAX_LINE - begin.length - rest.length)}${rest}`;
  const read = failure.effect === "lookup" || failure.effect === "observe" || failure.effect === "confirm";
  return read || failure.errorClass === "kubernetes" || failure.errorClass === "conflict"
    ? unknown(reason, message)
    : no(reason, message);
}

/** `retry step 3, the next within 60 s`: the same text for the same step, so that no status is written for a time (L4). */
function stepWords({ attempt, effect, errorClass }: Failure): string {
  const step = attempt < LAST_STEP ? `retry step ${attempt}` : `retry step ${LAST_STEP} or later`;
  const ms = longestDelayMs(effect, errorClass, attempt);
  if (ms === undefined) return step;
  return `${step}, the next within ${
    ms > 120_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.ceil(ms / 1_000)} s`
  }`;
}

/** The longest message, in UTF-16 units. */
const MAX_LINE = 512;

/** Takes out of a message what would break a line, and cuts it. */
export function oneLine(message: string): string {
  return withoutUnsafe(message).slice(0, MAX_LINE);
}

/**
 * Takes out of a provider's message what differs from try to try (request ids, times, durations), so that a status is
 * rewritten only when its meaning changes (L4), and what would break a line.
 */
export function normalise(message: string): string {
  const lasting = message
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "…")
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)\b/g, "…")
    .replace(/\b(request[ -]?id)\b["':= ]*[\w-]+/gi, "$1 …")
    .replace(/\bwithin \d+(\.\d+)? ?(ms|s|seconds?)\b/gi, "in time")
    .replace(/\b(in|after) \d+(\.\d+)? ?(ms|s|seconds?)\b/gi, "$1 …");
  return oneLine(lasting);
}

/** `db-1 ("orders")`: an external database for people. */
export function nameOf(database: ExternalState): string {
  return quote(database.id);
}
