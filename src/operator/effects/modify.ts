/**
 * The modify effect (rule 8): read first, under the newest CR; one mutation in flight per database.
 *
 * @module
 */
import { ProviderError } from "../../providers/port.ts";
import { notAllowed } from "../../statechart/class_view.ts";
import { type Change, describeChange, driftOf, isEmpty } from "../../statechart/drift.ts";
import { ownership, policiesOf } from "../../statechart/facts.ts";
import { countRepairs, partsOf, permitted } from "../../statechart/repair.ts";
import type { Learned } from "../../statechart/learned.ts";
import { StepError } from "../../statechart/step_error.ts";
import {
  byClassOfNow,
  changeFailed,
  type EffectFunction,
  isManaged,
  present,
  readById,
  stillAllowed,
  stillWanted,
  SupersededError,
  timestamp,
} from "./env.ts";
import { emit } from "./announce.ts";
import { LateRead, showed } from "./late_read.ts";

/** Sends the one change that the newest CR and a fresh read ask for, or the part that is taken; nothing when they ask for none. */
export const modify: EffectFunction = async (env, { knowledge, latest }, signal) => {
  const id = knowledge.object.status?.providerId;
  if (id === undefined) throw new StepError("bug", "There is no providerId to modify");
  const readAt = env.clock.monotonic();
  const observation = await readById(env, id, "urgent", signal);
  if (observation.kind === "absent") return { observation };
  const { database } = observation;
  const now = latest();
  const object = byClassOfNow(env, now.object);
  const view = env.view(object.metadata.uid);
  if (ownership(now, database, view) !== "ours" || database.state !== "Available") return { observation };
  const drift = driftOf(object.spec, database);
  const { change } = permitted(now, view, drift.change);
  if (notAllowed(object, view) !== undefined) return { observation };
  if (isEmpty(change) || policiesOf(object).drift === "Report") return { observation };
  const generation = object.metadata.generation;
  const again = new LateRead(env, { object, readAt }, signal, (read) => {
    if (read?.metadata.generation !== generation || !isManaged(read)) {
      throw new SupersededError("The change is no longer wanted as it was");
    }
  });
  let sentAt = env.clock.monotonic();
  const send = async (part: Change): Promise<Learned> => {
    const wanted = () => {
      stillWanted(latest, "change")();
      sentAt = env.clock.monotonic();
      if (latest().object.metadata.generation !== generation) {
        throw new SupersededError("The spec changed meanwhile");
      }
      stillAllowed(env, object);
      if (policiesOf(byClassOfNow(env, object)).drift === "Report") {
        throw new SupersededError("The class only reports by now");
      }
    };
    const answer = await env.gateway.modify(id, part, "urgent", signal, wanted, () => again.whenLate());
    const repair = countRepairs(latest().repair, part, timestamp(env.clock));
    emit(env, object, {
      type: "Normal",
      reason: "Updating",
      action: "Update",
      note: `Changing ${describeChange(part, database)}: ${
        object.status?.observedGeneration === generation
          ? "at the provider it is not as the spec asks"
          : "the spec was edited"
      }`,
    });
    return { observation: present(answer), modify: { outcome: "answered", at: answer.answeredAt }, repair };
  };
  const failed = (error: unknown) =>
    changeFailed(env, error, { id, sentAt, seen: { observation, ...showed(again) } });
  // What is refused is refused as a whole: of several fields each is then sent alone, until one is taken (R5).
  const parts = partsOf(change);
  let refusal: unknown;
  for (const part of parts.length > 1 ? [change, ...parts] : parts) {
    try {
      return await send(part);
    } catch (error) {
      if (!isRejected(error)) return failed(error);
      refusal ??= error;
    }
  }
  return failed(refusal);
};

function isRejected(error: unknown): boolean {
  return error instanceof ProviderError && error.errorClass === "rejected";
}
