/**
 * The effects by name, as the machine invokes them.
 *
 * @module
 */
import { fromPromise } from "xstate";
import type { ExternalDatabase } from "../../api/schema.ts";
import { messageOf } from "../../core/text.ts";
import { isRewound } from "../../kube/rewind.ts";
import type { EffectInput } from "../../statechart/context.ts";
import type { Learned } from "../../statechart/learned.ts";
import { StepError } from "../../statechart/step_error.ts";
import { type DatabaseMachine, databaseMachine } from "../../statechart/machine.ts";
import { type Effect, EFFECTS } from "../../statechart/vocabulary.ts";
import { adopt } from "./adopt.ts";
import { bind, setPassword } from "./bind.ts";
import { create } from "./create.ts";
import type { EffectEnv, EffectFunction } from "./env.ts";
import { modify } from "./modify.ts";
import { confirm, lookup, observe } from "./reads.ts";
import { discard, remove } from "./remove.ts";
import { retain } from "./retain.ts";
import type { World } from "../../statechart/context.ts";
import { finalize, record, reincarnate, release, report } from "./writes.ts";

/** Every effect: a machine runs them, and a plan foresees what they would do. */
export const EFFECT_FUNCTIONS: Readonly<Record<Effect, EffectFunction>> = {
  adopt,
  bind,
  confirm,
  create,
  discard,
  finalize,
  lookup,
  modify,
  observe,
  record,
  reincarnate,
  release,
  remove,
  report,
  retain,
  setPassword,
};

/** The world of an actor that runs {@linkcode operatorMachine}. */
export interface OperatorWorld extends World {
  /** What the effects of this resource's actor work with. */
  envOf(object: ExternalDatabase): EffectEnv;
}

/** The machine with its effects, shared by all actors: making one costs milliseconds, so what differs comes with an actor's world. */
export const operatorMachine: DatabaseMachine = databaseMachine.provide({
  actors: Object.fromEntries(EFFECTS.map((effect) => [
    effect,
    fromPromise<Learned, EffectInput>(({ input, signal }) =>
      traced(
        (input.world as OperatorWorld).envOf(input.knowledge.object),
        effect,
        input,
        signal,
      )
    ),
  ])) as Parameters<DatabaseMachine["provide"]>[0]["actors"] & object,
});

function traced(
  env: EffectEnv,
  effect: Effect,
  input: EffectInput,
  signal: AbortSignal,
): Promise<Learned> {
  if (env.passes === undefined) return measured(env, effect, input, signal);
  return env.passes.effect(input.knowledge.object, effect, () => measured(env, effect, input, signal));
}

async function measured(
  env: EffectEnv,
  effect: Effect,
  input: EffectInput,
  signal: AbortSignal,
): Promise<Learned> {
  const begun = env.clock.monotonic();
  env.history?.begin(input.knowledge.object.metadata.uid, signal);
  try {
    const learned = await EFFECT_FUNCTIONS[effect](env, input, signal);
    env.metrics.reconcile("success", (env.clock.monotonic() - begun) / 1_000, effect);
    return judged(env, input, learned);
  } catch (error) {
    if (!signal.aborted) {
      env.metrics.reconcile("error", (env.clock.monotonic() - begun) / 1_000, effect);
      env.metrics.retry(error instanceof StepError ? error.errorClass : "bug", effect);
      const { namespace, name, uid } = input.knowledge.object.metadata;
      // A throttled account throttles every call; the scheduler's pause is told once.
      const throttled = error instanceof StepError && error.errorClass === "throttled";
      env.log.log(throttled ? "debug" : "warn", `Failed: ${effect}`, {
        namespace,
        name,
        uid,
        class: error instanceof StepError ? error.errorClass : "bug",
        error: messageOf(error),
      });
    }
    if (!(error instanceof StepError)) throw error;
    const learned = judged(env, input, error.learned);
    throw learned === error.learned ? error : error.knowing(learned);
  }
}

/** Effects answer with what quorum reads and writes said: older than what was known before they began, it proves that the cluster went back. */
function judged(env: EffectEnv, { knowledge, latest }: EffectInput, learned: Learned): Learned {
  const { object } = learned;
  // Told of that meanwhile: what was read before it bears a version that would hide what is there now.
  if (latest().rewinds !== knowledge.rewinds) {
    return { ...learned, object: undefined, reported: undefined, gone: undefined, crdTerminating: undefined };
  }
  if (object === undefined || !isRewound(object, knowledge.object)) return learned;
  // The write that lets an object go is answered with its last version, changed; no other shows one that nothing holds.
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined && finalizers.length === 0) return learned;
  env.requestRelist();
  return { ...learned, rewound: knowledge.object.metadata.resourceVersion };
}
