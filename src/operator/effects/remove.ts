/**
 * The effects that delete a database: remove (the CR is deleted) and discard (it failed before it was ever usable).
 *
 * @module
 */
import { ANNOTATION } from "../../api/constants.ts";
import type { ExternalDatabase } from "../../api/schema.ts";
import { ProviderError } from "../../providers/port.ts";
import { quote } from "../../statechart/drift.ts";
import { everAvailable, ownership, policiesOf, specOf } from "../../statechart/facts.ts";
import type { EffectInput } from "../../statechart/context.ts";
import type { ExternalState, Observation } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { learn } from "../../statechart/learn.ts";
import { isSnapshotSaid, snapshotOf } from "../../statechart/snapshot.ts";
import { vanished } from "../../statechart/vanished.ts";
import { StepError } from "../../statechart/step_error.ts";
import {
  byClassOfNow,
  type EffectEnv,
  type EffectFunction,
  having,
  isInReach,
  isManaged,
  readById,
  readObject,
  stepError,
  stillWanted,
  SupersededError,
} from "./env.ts";
import { emit } from "./announce.ts";
import { LateRead, type Read, showed } from "./late_read.ts";
import { absent } from "./reads.ts";

/** Deletes one database of a CR that is being deleted (rules 9 and 13). */
export const remove: EffectFunction = async (env, input, signal) => {
  const { knowledge } = input;
  const lost = vanished(knowledge)?.object;
  const readAt = env.clock.monotonic();
  const found = await readObject(env, knowledge.object, signal);
  if (found !== undefined && lost !== undefined) return { foundAlive: true };
  const object = found ?? lost;
  if (object === undefined) return { gone: true };
  // What stands in for a vanished CR is nothing that was read.
  const base: Learned = lost === undefined ? { object } : {};
  if (!mayRemove(object)) return base;
  const work = async () => {
    const crd = await crdState(env, signal);
    if (crd !== "established") return { ...base, crdTerminating: true }; // rule 13: abandoned, not deleted
    return await env.crd.whileWaiting(() => removeOne(env, input, { object, readAt }, base, signal));
  };
  return await (lost === undefined ? having(object, work) : work());
};

/** Reads the database and deletes it, if it is the CR's. */
async function removeOne(
  env: EffectEnv,
  { knowledge, decision, latest }: EffectInput,
  { object, readAt }: Read,
  base: Learned,
  signal: AbortSignal,
): Promise<Learned> {
  const lost = vanished(knowledge)?.object;
  const recordedId = object.status?.providerId;
  const id = decision.database?.id ?? recordedId;
  if (id === undefined) throw new StepError("bug", "There is no database to delete");
  const observation = await readById(env, id, "urgent", signal);
  // What a lookup said of a duplicate is put right, or the same removal would be chosen again and again (S5).
  const facts = (seen: Observation & { readonly kind: "present" }): Learned => {
    if (id === recordedId) return { ...base, observation: seen };
    const { lookup } = knowledge;
    if (lookup === undefined) return base;
    return {
      ...base,
      lookup: { ...lookup, found: lookup.found.map((d) => d.id === id ? seen.database : d) },
    };
  };
  if (id === recordedId) {
    if (observation.kind === "absent") absent(env, lost === undefined ? { ...knowledge, object } : knowledge);
    else env.notePresent(object.metadata.uid);
  }
  if (observation.kind === "absent") {
    // Of a duplicate only a new lookup can tell; forgetting the old one asks for it.
    return id === recordedId
      ? { ...base, observation }
      : { ...base, removed: { id, at: env.clock.monotonic() } };
  }
  const { database } = observation;
  const view = env.view(object.metadata.uid);
  if (ownership(knowledge, database, view) !== "ours") return facts(observation); // S3
  if (database.state !== "Available" && database.state !== "Failed") return facts(observation); // Q4
  const seen = id === recordedId ? { ...base, observation } : base;
  if (lost !== undefined) {
    const { namespace, name, uid } = object.metadata;
    const what = "A resource vanished while its database was being made; the database is deleted";
    env.log.log("warn", what, { namespace, name, uid, providerId: id });
  }
  const finalSnapshot = snapshotOf(object, database);
  if (finalSnapshot !== undefined) {
    // Rule 17: said in the status that was read just now, so that whoever comes next finds it.
    if (!isSnapshotSaid(latest(), object, finalSnapshot)) return seen;
    if (view.provider?.snapshots !== true) return seen;
  }
  const stillDoomed = (now: ExternalDatabase) => {
    if (!mayRemove(now)) throw new SupersededError("The deletion is no longer wanted");
    // A snapshot that is asked for meanwhile must be taken; one that is not any more does no harm.
    if (finalSnapshot === undefined && snapshotOf(now, database) !== undefined) {
      throw new SupersededError("A final snapshot is wanted now");
    }
  };
  const wanted = () => {
    const now = vanished(latest()) ?? latest();
    if (now.gone) throw new SupersededError("The deletion is no longer wanted");
    stillDoomed(byClassOfNow(env, now.object));
    // Turns at a slow cloud can be minutes away, and `kubectl delete crd` may come before them (rule 13).
    if (!env.crd.isEstablished) throw new SupersededError("The CRD may be going");
  };
  const again = new LateRead(env, { object, readAt }, signal, (now) => {
    if ((now === undefined) !== (lost !== undefined)) {
      throw new SupersededError("The deletion is no longer wanted");
    }
    if (now !== undefined) stillDoomed(now);
  });
  const heard = (): Learned =>
    lost === undefined ? showed(again) : again.shown?.object ? { foundAlive: true } : {};
  try {
    await unprotect(env, object, database, signal, wanted, again);
  } catch (error) {
    if (error instanceof SupersededError) return { ...seen, ...heard() };
    throw stepError(error, seen);
  }
  return await send(env, { object, id, seen, wanted, again, heard, finalSnapshot }, signal);
}

/** Whether policy, protection, pause and abandonment let the database go. */
function mayRemove(object: ExternalDatabase): boolean {
  const { deletion } = policiesOf(object);
  return object.metadata.deletionTimestamp !== undefined && isInReach(object) &&
    specOf(object).deletionProtection !== true && (deletion === "Delete" || deletion === "Snapshot") &&
    object.metadata.annotations?.[ANNOTATION.abandon] !== object.metadata.uid;
}

/**
 * D5: protection that the spec lifts is lifted at the provider, though the CR is terminating. Whether that helped the
 * delete after it tells, so that it is sent as seldom as that.
 */
async function unprotect(
  env: EffectEnv,
  object: ExternalDatabase,
  database: ExternalState,
  signal: AbortSignal,
  wanted: () => void,
  again: LateRead,
): Promise<void> {
  if (database.deletionProtection !== true || specOf(object).deletionProtection !== false) return;
  if (database.state !== "Available") return; // takes no change
  const prepare = () => again.whenLate();
  await env.gateway.modify(database.id, { deletionProtection: false }, "urgent", signal, wanted, prepare);
}

/** Deletes a database that failed before it was ever available, to make room for the next incarnation (rule 7). */
export const discard: EffectFunction = async (env, { knowledge, latest }, signal) => {
  const readAt = env.clock.monotonic();
  const object = await readObject(env, knowledge.object, signal);
  if (object === undefined) return { gone: true };
  const id = object.status?.providerId;
  if (id === undefined || !isManaged(object)) return { object };
  const observation = await having(object, () => readById(env, id, "followUp", signal));
  if (observation.kind === "absent") return { object, observation }; // not asked for: to be confirmed (S6, rule 12)
  const view = env.view(object.metadata.uid);
  const k = learn(knowledge, { object, observation }, view.now);
  if (
    observation.database.state !== "Failed" || everAvailable(k) ||
    ownership(k, observation.database, view) !== "ours"
  ) {
    return { object, observation };
  }
  const again = new LateRead(env, { object, readAt }, signal, (now) => {
    if (now === undefined || now.status?.providerId !== id || !isManaged(now)) {
      throw new SupersededError("The removal is no longer wanted");
    }
  });
  const seen = { object, observation };
  const wanted = stillWanted(latest, "removal");
  return await send(env, { object, id, seen, wanted, again, heard: () => showed(again) }, signal);
};

/** A delete that is to be sent. */
interface Doomed {
  readonly object: ExternalDatabase;
  /** The provider's id of the database. */
  readonly id: string;
  /** What was learned before it. */
  readonly seen: Learned;
  /** Throws a {@linkcode SupersededError} in the tick that would send it, where it is not wanted any more. */
  readonly wanted: () => void;
  readonly again: LateRead;
  /** What is learned of `again` where it was superseded. */
  readonly heard: () => Learned;
  readonly finalSnapshot?: string | undefined;
}

async function send(
  env: EffectEnv,
  { object, id, seen, wanted, again, heard, finalSnapshot }: Doomed,
  signal: AbortSignal,
): Promise<Learned> {
  const prepare = () => again.whenLate();
  try {
    const { answeredAt } = await env.gateway.delete(id, "urgent", signal, wanted, prepare, finalSnapshot);
    emit(env, object, {
      type: "Normal",
      reason: "Deleting",
      action: "Delete",
      note: `Deleting the database ${quote(id)}${
        finalSnapshot === undefined ? "" : `; its final snapshot is ${quote(finalSnapshot)}`
      }`,
    });
    return { ...seen, observation: undefined, removed: { id, at: answeredAt } };
  } catch (error) {
    if (error instanceof SupersededError) return { ...seen, ...heard() };
    const at = env.clock.monotonic();
    if (!(error instanceof ProviderError)) throw stepError(error, seen);
    if (error.errorClass === "absent") return { ...seen, observation: undefined, removed: { id, at } };
    // It may have taken effect: an absence found later is one that we asked for.
    throw stepError(error, error.errorClass === "unknown" ? { ...seen, asked: { id, at } } : seen);
  }
}

async function crdState(env: EffectEnv, signal: AbortSignal) {
  try {
    return await env.crd.read(signal);
  } catch (error) {
    throw stepError(error); // unreadable means wait (rule 13)
  }
}
