/**
 * The retain effect (rule 16): the database stays, and says whose it was.
 *
 * @module
 */
import { TAG } from "../../api/constants.ts";
import { ProviderError } from "../../providers/port.ts";
import { ownership, ownFound, policiesOf } from "../../statechart/facts.ts";
import type { Observation } from "../../statechart/knowledge.ts";
import { LateRead, superseded } from "./late_read.ts";
import { absent } from "./reads.ts";
import {
  type EffectFunction,
  having,
  isInReach,
  readById,
  readObject,
  stepError,
  SupersededError,
} from "./env.ts";

/** Tags every database of the CR as retained. One that is gone, foreign or dying needs no tag. */
export const retain: EffectFunction = async (env, { knowledge, latest }, signal) => {
  const readAt = env.clock.monotonic();
  const object = await readObject(env, knowledge.object, signal);
  if (object === undefined) return { gone: true };
  const kept = policiesOf(object).deletion === "Retain" || knowledge.crdTerminating;
  if (!kept || !isInReach(object)) return { object };
  const { uid } = object.metadata;
  const view = env.view(uid);
  const ids = new Set(ownFound(knowledge, view).map((d) => d.id));
  if (object.status?.providerId !== undefined) ids.add(object.status.providerId);
  let seen: Observation | undefined;
  const wanted = () => {
    const now = latest().object;
    if (!isInReach(now)) throw new SupersededError("Nothing is to be changed now");
  };
  const again = new LateRead(env, { object, readAt }, signal, (now) => {
    const asked = now?.metadata.deletionTimestamp !== undefined && isInReach(now);
    if (!asked) throw new SupersededError("Nothing is to be changed now");
  });
  for (const id of ids) {
    const observation = await having(object, () => readById(env, id, "urgent", signal));
    if (id === object.status?.providerId) {
      seen = observation;
      if (observation.kind === "absent") absent(env, { ...knowledge, object });
      else env.notePresent(uid);
    }
    if (observation.kind === "absent") continue;
    const { database } = observation;
    if (ownership(knowledge, database, view) !== "ours" || database.tags[TAG.retained] === uid) continue;
    if (database.state === "Deleting") continue;
    try {
      await env.gateway.modify(
        id,
        { tags: { [TAG.retained]: uid } },
        "urgent",
        signal,
        wanted,
        () => again.whenLate(),
      );
    } catch (error) {
      if (error instanceof SupersededError) return superseded(latest(), again);
      // A failed database takes no tags; it stays all the same, and Event and log name it.
      const refused = error instanceof ProviderError && error.errorClass === "busy" &&
        database.state === "Failed";
      if (!refused) throw stepError(error, { object });
    }
  }
  return { object, observation: seen, retained: true };
};
