/**
 * The effects that only read: lookup, observe, confirm.
 *
 * @module
 */
import { StepError } from "../../statechart/step_error.ts";
import { isObserveOnly, isRemovalAsked, observedId } from "../../statechart/facts.ts";
import { type EffectEnv, type EffectFunction, freshWord, lookUp, readById } from "./env.ts";
import type { Lane } from "../scheduler.ts";
import type { Knowledge } from "../../statechart/knowledge.ts";
import { vanished } from "../../statechart/vanished.ts";

function laneOf(k: Knowledge): Lane {
  const { deletionTimestamp, generation } = k.object.metadata;
  const edited = k.object.status?.observedGeneration !== generation;
  return deletionTimestamp !== undefined || edited ? "urgent" : "followUp";
}

/** Finds what carries the UID tag. */
export const lookup: EffectFunction = async (env, input, signal) => {
  const knowledge = vanished(input.knowledge) ?? input.knowledge;
  const { object } = knowledge;
  if (object.metadata.deletionTimestamp !== undefined && knowledge.lookup !== undefined) {
    await accountBefore(env, knowledge, signal);
  }
  const found = await lookUp(env, object.metadata.uid, laneOf(knowledge), signal);
  // A deletion acts on what it finds, or does not find, by the word of the account that held the last one (S4, A2).
  if (object.metadata.deletionTimestamp !== undefined && holderOf(knowledge) !== undefined) {
    env.requestAccount();
  }
  return { lookup: found };
};

/** Reads the recorded database. */
export const observe: EffectFunction = async (env, { knowledge }, signal) => {
  const id = idOf(knowledge);
  const observation = await readById(env, id, laneOf(knowledge), signal);
  env.metrics.cache(false);
  if (observation.kind === "absent") absent(env, knowledge);
  else {
    env.notePresent(knowledge.object.metadata.uid);
    if (isObserveOnly(knowledge.object)) return { observation: { ...observation, onlyObserved: true } };
  }
  return { observation };
};

/** Reads the recorded database and, where it is absent, looks its UID up after that (S4). */
export const confirm: EffectFunction = async (env, input, signal) => {
  const knowledge = vanished(input.knowledge) ?? input.knowledge;
  const lane = laneOf(knowledge);
  if (knowledge.observation?.kind === "absent") await accountBefore(env, knowledge, signal);
  const observation = await readById(env, idOf(knowledge), lane, signal);
  if (observation.kind === "present") {
    env.notePresent(knowledge.object.metadata.uid);
    return { observation };
  }
  absent(env, input.knowledge);
  await accountBefore(env, knowledge, signal);
  const found = await lookUp(env, knowledge.object.metadata.uid, lane, signal);
  if (knowledge.account !== undefined) env.requestAccount(); // what it did not find, too, is that account's word
  return { observation, lookup: found };
};

/**
 * An absence that was seen already is looked for again between two words of the account (A2): the first is had here,
 * the second is asked for once it was seen.
 */
async function accountBefore(env: EffectEnv, k: Knowledge, signal: AbortSignal): Promise<void> {
  if (holderOf(k) !== undefined) await freshWord(env, signal);
}

/** The account whose word counts: the one that holds the database, or that a create of unknown outcome was sent to. */
function holderOf(k: Knowledge): string | undefined {
  return k.account ?? k.seenUnder ?? k.unknownUnder;
}

/** Counts an absence, that of a CR being deleted too (rule 12); what we deleted ourselves is none to be counted. */
export function absent(env: EffectEnv, k: Knowledge): void {
  // What is only observed is in nobody's books: its absence says nothing of the others (rule 12).
  if (isObserveOnly(k.object)) return;
  env.requestAccount();
  const known = vanished(k) ?? k;
  if (isRemovalAsked(known, idOf(known))) return;
  // The end of a CR takes its absence off the books, and that of one that vanished is past.
  if (known === k) env.noteAbsent(k.object.metadata.uid);
  env.requestRound();
}

function idOf(k: Knowledge): string {
  const { object } = k;
  const id = isObserveOnly(object) ? observedId(object) : object.status?.providerId;
  if (id === undefined) throw new StepError("bug", "There is no providerId to read by");
  return id;
}
