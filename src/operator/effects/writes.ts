/**
 * The effects that write to the CR alone: finalize, record, report, reincarnate, release.
 *
 * @module
 */
import { PINNED_CLASS, TAG } from "../../api/constants.ts";
import {
  addFinalizer,
  annotate,
  patchStatus,
  removeFinalizer,
  type StatusChange,
  type StatusGuard,
} from "../../kube/patches.ts";
import { type JsonPatchOperation, UNANSWERED } from "../../kube/port.ts";
import type { ExternalDatabase } from "../../api/schema.ts";
import { DeadlineError, withDeadline } from "../../core/wait.ts";
import { quote } from "../../statechart/drift.ts";
import {
  accountDiffers,
  belongsToOther,
  incarnationOf,
  isObserveOnly,
  isRemovalAsked,
  MAX_INT32,
  specOf,
  wasAdopted,
} from "../../statechart/facts.ts";
import type { ExternalState, Knowledge, Observation } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { hasFinalizer, isNew } from "../../statechart/resource.ts";
import { lossesInARow } from "../../statechart/losses.ts";
import { recordedStatus } from "../../statechart/recorded.ts";
import { statusChange, statusOf, type TimelessStatus, withTimes } from "../../statechart/status.ts";
import { StepError } from "../../statechart/step_error.ts";
import { UNRECORDED_MS } from "../../statechart/view.ts";
import {
  type EffectEnv,
  type EffectFunction,
  keyOf,
  othersThan,
  patching,
  readById,
  readObject,
  timestamp,
} from "./env.ts";
import { announceRelease, announceStatus, emit } from "./announce.ts";

/** Writes the finalizer, the intent record, under the CR's resourceVersion (rules 1 and 2). */
export const finalize: EffectFunction = async (env, { latest }, signal) => {
  const { object } = latest();
  const finalizer = addFinalizer(object.metadata);
  if (finalizer === undefined) return { object };
  const operations = [...finalizer, ...annotate(object.metadata, PINNED_CLASS, env.classOf(object))];
  const wasNew = isNew(object) && isYoung(env, object);
  const facts = await patching(
    env,
    object,
    signal,
    () => env.cluster.patch(keyOf(object), operations, { signal }),
  ).catch((error: unknown) => {
    const read = error instanceof StepError ? error.learned.object : undefined;
    if (read === undefined || !hasFinalizer(read)) throw error;
    return { object: read, finalizerOfAnother: true } as const;
  });
  if (facts.object === undefined || "finalizerOfAnother" in facts) return facts;
  return { ...facts, finalizerWritten: true, ...(wasNew ? { finalizerWrittenOnNew: true } : {}) };
};

/** A CR that looks new and is older than this, in milliseconds, may have had a life that a restored cluster forgot. */
const YOUNG_MS = 60_000;

/** Whether no operator can have handled a CR that looks new: else its database is looked for before one is created. */
function isYoung(env: EffectEnv, { metadata }: ExternalDatabase): boolean {
  const born = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(born) || env.clock.now() - born < YOUNG_MS;
}

/** Records a database's id, with all else that is known, in one write (rule 6). */
export const record: EffectFunction = async (env, { decision, knowledge, latest }, signal) => {
  if (decision.database === undefined) throw new StepError("bug", "There is no database to record");
  const account = await accountOf(env, latest(), decision.database, signal);
  // What another account holds is not to be seen under this one: it stands, whatever a stale copy made of it (S6, A2).
  if (
    replaces(latest(), decision.database) && accountDiffers(latest(), env.view(latest().object.metadata.uid))
  ) {
    return { object: latest().object };
  }
  const back = await standsStill(env, latest(), decision.database, signal);
  if (back !== undefined) return { observation: back };
  const anew = await seenAnew(env, latest(), decision.database, signal);
  const database = anew?.database ?? decision.database;
  if (anew !== undefined && belongsToOther(latest(), database)) return { observation: anew };
  const k = latest();
  // Decided while it only observed another's database: now that is to be adopted first (rule 18, S3).
  if (isObserveOnly(knowledge.object) && !isObserveOnly(k.object)) {
    return { observation: anew && { ...anew, onlyObserved: true } };
  }
  const view = env.view(k.object.metadata.uid);
  const provider = view.provider && { ...view.provider, account };
  const { status } = recordedStatus(k, database, { ...view, provider });
  const facts = await writeStatus(env, k.object, status, signal).catch((error) => unrecorded(error, account));
  if (facts.object !== undefined) {
    const adopted = wasAdopted(k.object, database);
    const watched = facts.object.status?.observeOnly === true;
    const instead = k.object.status?.providerId;
    const healed = instead !== undefined && instead !== database.id;
    emit(env, facts.object, {
      type: "Normal",
      reason: watched ? "Observing" : healed ? "Recorded" : adopted ? "Adopted" : "Created",
      action: watched ? "Observe" : healed ? "Record" : adopted ? "Adopt" : "Create",
      note: !healed
        ? `${watched ? "Observing" : adopted ? "Adopted" : "Created"} the database ${
          quote(database.id)
        } (${database.engine} ${database.version}, ${database.sizeGb} GiB)`
        : `Recorded the database ${quote(database.id)}, which carries this resource's UID, in place of ${
          quote(instead)
        }`,
    });
  }
  return {
    ...facts,
    ...(facts.object === undefined ? {} : { recorded: true as const }),
    // Where the resource is gone its status cannot keep it, and an absence counts under this account alone (S4, A2).
    account,
    // A lookup's word is an observation too; what was read or answered later stays.
    observation: k.observation?.kind === "present" && k.observation.database.id === database.id
      ? anew
      : { kind: "present", database, sentAt: k.lookup?.sentAt ?? env.clock.monotonic() },
    duplicates: othersThan(database, k.lookup?.found ?? [], k.object.metadata.uid),
  };
};

/** Whether the status names another database than the one that is to be recorded. */
function replaces({ object: { status } }: Knowledge, other: ExternalState): boolean {
  return status?.providerId !== undefined && status.providerId !== other.id;
}

/**
 * What a read shows of the recorded database that another is to stand in for, where it is there after all: the account
 * may have been another for a moment between two of its words, with a copy that carries the same UID (S6, A2).
 */
async function standsStill(
  env: EffectEnv,
  { object }: Knowledge,
  other: ExternalState,
  signal: AbortSignal,
): Promise<Observation | undefined> {
  const id = object.status?.providerId;
  if (id === undefined || id === other.id) return undefined;
  const seen = await readById(env, id, "create", signal);
  const own = seen.kind === "present" && seen.database.tags[TAG.uid] === object.metadata.uid;
  return own && seen.database.state !== "Deleting" ? seen : undefined;
}

/**
 * What a read shows of a database that was last seen before the status ceased to name it, or long ago as its record was
 * refused again and again: another resource may have adopted it since (S3). One that is not there is recorded as it was, and then missed as any other.
 */
async function seenAnew(
  env: EffectEnv,
  { observation, unnamedAt }: Knowledge,
  { id }: ExternalState,
  signal: AbortSignal,
): Promise<Present | undefined> {
  const known = observation?.kind === "present" && observation.database.id === id ? observation : undefined;
  if (known === undefined) return undefined;
  const old = env.clock.monotonic() - known.sentAt > UNRECORDED_MS;
  if (!old && (unnamedAt === undefined || known.sentAt >= unnamedAt)) return undefined;
  const seen = await readById(env, id, "create", signal);
  return seen.kind === "present" ? seen : undefined;
}

type Present = Observation & { readonly kind: "present" };

/**
 * How long the account is waited for before an id is recorded, in milliseconds: one that is throttled may be paused for
 * minutes, and an id that no status holds is lost with the process (rule 6).
 */
const ACCOUNT_PATIENCE_MS = 10_000;

/**
 * The account that a database was seen in: the one that names itself after that (rule 6, A2). Where it is not the one
 * that was last heard of, the credentials changed meanwhile, and a read by id says on which side of that it was.
 */
export async function accountOf(
  env: EffectEnv,
  k: Knowledge,
  database: ExternalState,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { uid } = k.object.metadata;
  const before = env.view(uid).provider?.account;
  const { observation, lookup } = k;
  const read = observation?.kind === "present" && observation.database.id === database.id;
  const seenAt = (read ? observation.sentAt : lookup?.sentAt) ?? env.clock.monotonic();
  await withDeadline(
    { clock: env.clock, ms: ACCOUNT_PATIENCE_MS, action: "Reading the provider's account", signal },
    (inner) => env.accountHeard(seenAt, inner),
  ).catch((error: unknown) => {
    if (!(error instanceof DeadlineError)) throw error;
  });
  const view = env.view(uid);
  const now = view.provider?.account;
  if (now === before && view.accountSince < seenAt) return now;
  return (await readById(env, database.id, "create", signal)).kind === "present" ? now : before;
}

/** Says how things are. */
export const report: EffectFunction = async (env, { decision, latest }, signal) => {
  const k = latest();
  const status = statusOf(k, decision);
  const facts = await writeStatus(env, k.object, status, signal, { resourceVersion: !k.confirmed });
  if (facts.object === undefined) return facts;
  announceStatus(env, k.object, facts.object);
  return {
    ...facts,
    reported: {
      text: statusChange(k.object.status, status),
      resourceVersion: facts.object.metadata.resourceVersion,
    },
  };
};

/** Raises the incarnation and lets go of the lost database's id, under the CR's resourceVersion (rule 7). */
export const reincarnate: EffectFunction = async (env, { decision, latest }, signal) => {
  const k = latest();
  const { object } = k;
  const lost = object.status?.providerId;
  const failed = lost !== undefined && isRemovalAsked(k, lost);
  const conditions = statusOf(k, decision).conditions.filter(({ type }) => type !== "WithinQuota"); // of the lost one
  const change: StatusChange = {
    state: "Pending",
    incarnation: incarnationOf(object) + 1,
    providerId: undefined,
    adopted: undefined,
    endpoint: undefined,
    providerState: undefined,
    removing: undefined,
    finalSnapshot: undefined,
    observeOnly: undefined,
    observed: undefined,
    repair: undefined,
    conditions: withTimes(object.status, conditions, timestamp(env.clock)),
    ...(failed ? { provisioningFailures: (object.status?.provisioningFailures ?? 0) + 1 } : {}),
    ...(lost === undefined || failed ? {} : {
      losses: Math.min(lossesInARow(object.status, env.clock.now()) + 1, MAX_INT32),
      lastLossTime: timestamp(env.clock),
    }),
  };
  const facts = await statusPatch(
    env,
    object,
    signal,
    patchStatus(object, change, { resourceVersion: true }),
  );
  // That one failed was told before it was removed.
  if (facts.object !== undefined && lost !== undefined && !failed) {
    emit(env, facts.object, {
      type: "Warning",
      reason: "ExternalMissing",
      action: "Recreate",
      note: `The database ${quote(lost)} is gone at the provider; creating another`,
    });
  }
  return facts;
};

/** Removes the finalizer and no other (S4, D6). */
export const release: EffectFunction = async (env, { decision, latest, knowledge }, signal) => {
  const { object } = latest();
  const operations = removeFinalizer(object.metadata);
  if (operations === undefined) return { object };
  const guarded = [...stillObserved(object), ...operations];
  const facts = await patching(
    env,
    object,
    signal,
    () => env.cluster.patch(keyOf(object), guarded, { signal }),
  ).catch((error: unknown) => unansweredRelease(env, object, error, signal));
  announceRelease(env, object, decision.cause ?? "deleted", knowledge);
  return { ...facts, released: true };
};

/** What only observes leaves its database behind, unread: only while its spec says so, which no watch need have told otherwise. */
function stillObserved(object: ExternalDatabase): JsonPatchOperation[] {
  if (!isObserveOnly(object)) return [];
  return [{ op: "test", path: "/spec/managementPolicy", value: specOf(object).managementPolicy }];
}

/**
 * A record that failed: the account that the database was seen in is known all the same (S4, A2). Without an answer, or
 * refused and not read since, the id may have been recorded: what anybody may have been told of is not deleted behind a
 * CR that vanishes (S2).
 */
function unrecorded(error: unknown, account: string | undefined): never {
  if (!(error instanceof StepError)) throw error;
  const asked = mayHaveLanded(error) ? { recordAsked: true as const } : {};
  throw error.knowing({ ...error.learned, seenUnder: account, ...asked });
}

/** Without an answer, or refused and not read since: a proxy may have sent it twice, and it landed at first. */
function mayHaveLanded({ errorClass, code }: StepError): boolean {
  const unread = errorClass === "kubernetes" && (code === "conflict" || code === "invalid");
  return unread || UNANSWERED.has(code);
}

/** The release may have landed: then it is ours, and what it leaves behind must be named as such (rule 16). */
async function unansweredRelease(
  env: EffectEnv,
  object: ExternalDatabase,
  error: unknown,
  signal: AbortSignal,
): Promise<Learned> {
  if (!(error instanceof StepError) || !mayHaveLanded(error)) throw error;
  let after: ExternalDatabase | undefined;
  try {
    after = await readObject(env, object, signal);
  } catch {
    throw error.knowing({ releaseAsked: true }); // the first failure says why; the next try asks again
  }
  if (after !== undefined && hasFinalizer(after)) throw error.knowing({ object: after });
  return after === undefined ? { gone: true } : { object: after };
}

/** Writes a status with the times of its conditions. */
export function writeStatus(
  env: EffectEnv,
  object: ExternalDatabase,
  status: TimelessStatus,
  signal: AbortSignal,
  guard?: StatusGuard,
): Promise<Learned & { readonly object?: ExternalDatabase | undefined }> {
  const change: StatusChange = {
    // A field that was there and is not any more is removed.
    ...Object.fromEntries(Object.keys(object.status ?? {}).map((field) => [field, undefined])),
    ...status,
    conditions: withTimes(object.status, status.conditions, timestamp(env.clock)),
  };
  return statusPatch(env, object, signal, patchStatus(object, change, guard));
}

async function statusPatch(
  env: EffectEnv,
  object: ExternalDatabase,
  signal: AbortSignal,
  operations: readonly JsonPatchOperation[] | undefined,
): Promise<Learned & { readonly object?: ExternalDatabase | undefined }> {
  if (operations === undefined) return { object };
  return await patching(
    env,
    object,
    signal,
    () => env.cluster.patchStatus(keyOf(object), operations, { signal }),
  );
}
