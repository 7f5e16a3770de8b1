/**
 * What the effects work with, and what several of them do alike.
 *
 * @module
 */
import { TAG } from "../../api/constants.ts";
import { OPERATOR_NAME } from "../../api/constants.ts";
import type { ExternalDatabase, ObjectKey } from "../../api/schema.ts";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/log.ts";
import type { Entropy } from "../../core/passwords.ts";
import type { Metrics } from "../../core/metrics.ts";
import { type Cluster, type EventRecorder, KubeError } from "../../kube/port.ts";
import type { Secrets } from "../../kube/secrets_port.ts";
import { type Database, ProviderError } from "../../providers/port.ts";
import type { EffectInput } from "../../statechart/context.ts";
import { classVerdict, notAllowed, withClass } from "../../statechart/class_view.ts";
import {
  clientToken,
  incarnationOf,
  isManagementKnown,
  isObserveOnly,
  specOf,
  specProblem,
} from "../../statechart/facts.ts";
import type { ExternalState, Knowledge, Lookup, Observation } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { StepError } from "../../statechart/step_error.ts";
import type { View } from "../../statechart/view.ts";
import type { CrdWord } from "../crd_word.ts";
import { type Answer, NotSentError, type ProviderGateway } from "../gateway.ts";
import type { History } from "../history/history.ts";
import type { Passes } from "../passes.ts";
import type { Lane } from "../scheduler.ts";

/** The part of {@linkcode EffectEnv} that belongs to the account that a resource's database is at. */
export interface SiteEnv {
  readonly gateway: ProviderGateway;
  readonly view: (uid: string) => View;
  /** Asks the observer for a list soon: an absence is only certain once a whole list was counted (rule 12). */
  readonly requestRound: () => void;
  /** Asks for the account soon: an absence counts only under the account that holds the database (S4, A2). */
  readonly requestAccount: () => void;
  /** Resolves once the account has said its name in answer to a request of this time or later, or did not answer. */
  readonly accountHeard: (since: number, signal: AbortSignal) => Promise<void>;
  /** An absence by id was read. */
  readonly noteAbsent: (uid: string) => void;
  /** A database was read by id: whatever a list said, it is there (rule 10). */
  readonly notePresent: (uid: string) => void;
}

/** Everything that effects reach beyond their actor. */
export interface EffectEnv extends SiteEnv {
  readonly cluster: Cluster;
  /** What is known of the operator's own CRD (rule 13). */
  readonly crd: CrdWord;
  /** The cluster's Secrets; absent where this operator was given no way to them. */
  readonly secrets: Secrets | undefined;
  /** What passwords are made of. */
  readonly entropy: Entropy;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Absent: no spans are made. */
  readonly passes?: Pick<Passes, "effect"> | undefined;
  readonly clusterId: () => string;
  /** Asks for a list of the cluster: what was read says that it went back in time. */
  readonly requestRelist: () => void;
  /** Told of each effect that begins, so that its calls are known as its own; absent: no history is kept. */
  readonly history?: Pick<History, "begin"> | undefined;
  /** The class that is to be pinned with a resource's finalizer; "" is the account of the flags. */
  readonly classOf: (object: ExternalDatabase) => string;
}

/** One effect. */
export type EffectFunction = (env: EffectEnv, input: EffectInput, signal: AbortSignal) => Promise<Learned>;

/** The mutation is no longer wanted: the CR is being deleted, was paused, only observes, or is gone (rule 14). Nothing was sent. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
}

/** Namespace and name of a CR. */
export function keyOf(object: ExternalDatabase): ObjectKey {
  return { namespace: object.metadata.namespace, name: object.metadata.name };
}

/** Wall time for a status: RFC 3339, whole seconds, as `metav1.Time`. */
export function timestamp(clock: Clock): string {
  return new Date(Math.floor(clock.now() / 1_000) * 1_000).toISOString().replace(".000Z", "Z");
}

/** The tags of a CR's database (S3). */
export function tagsOf(object: ExternalDatabase, clusterId: string): Record<string, string> {
  const { uid, namespace, name } = object.metadata;
  return {
    [TAG.crName]: name,
    [TAG.uid]: uid,
    [TAG.namespace]: namespace,
    [TAG.cluster]: clusterId,
    [TAG.incarnation]: String(incarnationOf(object)),
    [TAG.managedBy]: OPERATOR_NAME,
  };
}

/**
 * The create request of a CR. Deletion protection is not of it but set once the database is available, as drift is
 * repaired: one that failed before takes no change any more, and could not be removed to make room for the next (rule 7).
 */
export function createRequestOf(object: ExternalDatabase, clusterId: string) {
  const { engine, version, sizeGb } = object.spec;
  return {
    name: object.metadata.name,
    engine,
    version,
    sizeGb,
    tags: tagsOf(object, clusterId),
    clientToken: clientToken(object),
  };
}

/** An answer of a read or a mutation as an observation. */
export function present(answer: Answer<Database>): Observation & { readonly kind: "present" } {
  return { kind: "present", database: answer.value, sentAt: answer.sentAt };
}

/** A word of the account that is younger than this, in milliseconds, is not asked for again before a read. */
const FRESH_WORD_MS = 1_000;

/** Waits for a word of the account that is fresh, so that what is read next lies between two of them (A2). */
export async function freshWord(env: EffectEnv, signal: AbortSignal): Promise<void> {
  await env.accountHeard(env.clock.monotonic() - FRESH_WORD_MS, signal);
}

/** Reads a database by id; absence is an observation, not an error. */
export async function readById(
  env: EffectEnv,
  id: string,
  lane: Lane,
  signal: AbortSignal,
): Promise<Observation> {
  let sentAt = env.clock.monotonic();
  try {
    // Its turn may come long after it was asked for: an absence counts between two words of the account (A2).
    return present(await env.gateway.get(id, lane, signal, (at) => sentAt = at));
  } catch (error) {
    if (error instanceof ProviderError && error.errorClass === "absent") {
      return { kind: "absent", id, sentAt };
    }
    throw stepError(error);
  }
}

/** Looks a CR's databases up by UID tag. */
export async function lookUp(env: EffectEnv, uid: string, lane: Lane, signal: AbortSignal): Promise<Lookup> {
  try {
    const { value, sentAt } = await env.gateway.lookup({ [TAG.uid]: uid }, lane, signal);
    return { sentAt, found: value };
  } catch (error) {
    throw stepError(error);
  }
}

/**
 * A quorum read of the CR. `undefined` when that UID is gone, a namesake or not. Kubernetes errors become
 * {@linkcode StepError}s.
 */
export async function readObject(
  env: EffectEnv,
  known: ExternalDatabase,
  signal: AbortSignal,
): Promise<ExternalDatabase | undefined> {
  try {
    const object = await env.cluster.get(keyOf(known), { signal });
    return object.metadata.uid === known.metadata.uid ? object : undefined;
  } catch (error) {
    if (error instanceof KubeError && error.kind === "notFound") return undefined;
    throw stepError(error);
  }
}

/**
 * Runs a patch of the CR. A CR that is gone is a fact; a refused guard (409, 422) re-reads the CR and fails as
 * `conflict` with what it read, so that the next decision is made on the newest object (C2, D6).
 */
export async function patching(
  env: EffectEnv,
  known: ExternalDatabase,
  signal: AbortSignal,
  patch: () => Promise<ExternalDatabase>,
): Promise<Learned & { readonly object?: ExternalDatabase | undefined }> {
  try {
    return { object: await patch() };
  } catch (error) {
    if (!(error instanceof KubeError)) throw stepError(error);
    if (error.kind === "notFound") return { gone: true };
    if (error.kind !== "conflict" && error.kind !== "invalid") throw stepError(error);
    const object = await readObject(env, known, signal).catch((failed: unknown) => {
      // Of the answer alone nobody knows whether it refused what a proxy had sent twice, and what landed at first.
      throw failed instanceof StepError ? failed.of(error.kind) : failed;
    });
    if (object === undefined) return { gone: true };
    throw new StepError("conflict", error.message, { learned: { object }, cause: error });
  }
}

/** Does what follows a read of the CR; where it fails, what was read is learned all the same, or it would be told again (L4, S5). */
export async function having<T>(object: ExternalDatabase, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StepError) || error.learned.object !== undefined) throw error;
    throw error.knowing({ ...error.learned, object });
  }
}

/** Translates what ports reject with into a {@linkcode StepError}; what is unknown stays as it is. */
export function stepError(error: unknown, learned?: Learned): unknown {
  if (error instanceof ProviderError) {
    return new StepError(error.errorClass, error.message, {
      code: error.code,
      retryAfterMs: error.errorClass === "throttled" ? error.retryAfterMs ?? 1_000 : undefined,
      learned,
      cause: error,
    });
  }
  if (error instanceof KubeError) {
    return new StepError("kubernetes", error.message, {
      code: error.kind,
      retryAfterMs: error.retryAfterMs,
      learned,
      cause: error,
    });
  }
  if (error instanceof NotSentError) {
    return new StepError("retryable", error.message, { learned, cause: error });
  }
  return error;
}

/**
 * What a change of the database `id` that failed says: nothing new where it was not sent, an absence at the time it was
 * sent, else the failure, which leaves open whether it took effect where nobody answered (rule 8). `seen` is what was
 * learned before.
 */
export function changeFailed(
  env: EffectEnv,
  error: unknown,
  { id, sentAt, seen }: { readonly id: string; readonly sentAt: number; readonly seen: Learned },
): Learned {
  if (error instanceof SupersededError) return seen;
  const known = error instanceof ProviderError ? error.errorClass : undefined;
  if (known === "absent") return { ...seen, observation: { kind: "absent", id, sentAt } };
  const at = env.clock.monotonic();
  throw stepError(error, known === "unknown" ? { ...seen, modify: { outcome: "unknown", at } } : seen);
}

/** Throws {@linkcode SupersededError} when a CR that is not to be deleted no longer wants `what`. */
export function stillWanted(latest: () => Knowledge, what: string): () => void {
  return () => {
    const { object, gone } = latest();
    if (gone || !isManaged(object)) throw new SupersededError(`The ${what} is no longer wanted`);
  };
}

/** A CR with what its class says now: the actor knows what it said at the last decision. */
export function byClassOfNow(env: EffectEnv, object: ExternalDatabase): ExternalDatabase {
  return withClass(object, env.view(object.metadata.uid));
}

/** Throws {@linkcode SupersededError} where the class of a CR, as it is now, is not that of its spec, or does not allow what that asks for. */
export function stillAllowed(env: EffectEnv, object: ExternalDatabase): void {
  const view = env.view(object.metadata.uid);
  const why = notAllowed(object, view) ?? classVerdict(object, view)?.message;
  if (why !== undefined) throw new SupersededError(why);
}

/** Whether anything is done for a CR at the provider while it lives. */
export function isManaged(object: ExternalDatabase): boolean {
  return object.metadata.deletionTimestamp === undefined && !specOf(object).paused &&
    !isObserveOnly(object) && specProblem(object) === undefined;
}

/** Whether pause and management let a deletion touch the database of a CR: another build's policies need not be known here. */
export function isInReach(object: ExternalDatabase): boolean {
  return !specOf(object).paused && !isObserveOnly(object) && isManagementKnown(object);
}

/** Which of a lookup's databases are superfluous: all live ones but `kept` (S1). */
export function othersThan(
  kept: ExternalState,
  found: readonly ExternalState[],
  uid: string,
): readonly string[] {
  return found
    .filter((d) => d.id !== kept.id && d.tags[TAG.uid] === uid && d.state !== "Deleting")
    .map((d) => d.id);
}
