/**
 * The statechart of one `ExternalDatabase`: drawn, explored, tested and run from this one definition.
 *
 * Every top-level state has the same inner shape: `deciding` chooses one step (`decide.ts`), the step's state runs
 * one effect, and `idle`, `waiting` and `backingOff` are the rests. An event changes what is known and, in a rest,
 * leads back to `deciding`. Promised here:
 * - a deletion wins from every state, but a mutating effect is never left before its answer (rule 14);
 * - each effect has an `AbortSignal` that fires when its state is left;
 * - nothing of Kubernetes or of a cloud is known: effects are named actors given from outside.
 *
 * @module
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, fromPromise, setup } from "xstate";
import { MAX_TIMER_MS } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { secretName } from "./binding.ts";
import { inheriting } from "./class_view.ts";
import { decide } from "./decide.ts";
import { type Decision, isEffect } from "./decision.ts";
import type { DatabaseContext, DatabaseInput, EffectInput } from "./context.ts";
import type { DatabaseEvent } from "./events.ts";
import { initialKnowledge, type Knowledge } from "./knowledge.ts";
import type { Learned } from "./learned.ts";
import { fail, learn, succeed } from "./learn.ts";
import { EFFECT_MEANINGS, PASSIVE_MEANINGS, type PassiveState, STATE_MEANINGS } from "./meanings.ts";
import { retryDelayMs, StepError } from "./step_error.ts";
import { type Effect, EFFECTS, MUTATING, type TopState } from "./vocabulary.ts";

/** Effects within a second before the machine makes itself wait: a whole life from new to Available takes fewer. */
const SPIN_LIMIT = 20;
const SPIN_WINDOW_MS = 1_000;

type EffectLogic = ReturnType<typeof notProvided>;

function notProvided(effect: Effect) {
  return fromPromise<Learned, EffectInput>(() =>
    Promise.reject(new Error(`The effect "${effect}" was not provided`))
  );
}

const setUp = setup({
  types: {
    context: {} as DatabaseContext,
    input: {} as DatabaseInput,
    events: {} as DatabaseEvent,
  },
  actors: Object.fromEntries(EFFECTS.map((e) => [e, notProvided(e)])) as Record<Effect, EffectLogic>,
  actions: {
    /** Chooses the next step. */
    decide: assign(({ context, event }) => ({ ...chooseStep(context), decidedOn: event.type })),
    /** Takes in what an event says. */
    learn: assign(({ context, event }) => ({ knowledge: learnEvent(context, event) })),
    /** Takes in what an effect brought. */
    succeed: assign(({ context, event }, { effect }: { effect: Effect }) => ({
      knowledge: learnDone(context, effect, (event as unknown as DoneActorEvent<Learned>).output),
    })),
    /** Takes in what a failed effect brought, and when it may try again. */
    fail: assign(({ context, event }, { effect }: { effect: Effect }) => ({
      knowledge: learnError(context, effect, (event as unknown as ErrorActorEvent).error),
    })),
  },
  guards: {
    /** The decision belongs to this top-level state. */
    belongsTo: ({ context }, { state }: { state: TopState }) => context.decision.state === state,
    /** The decision is this step. */
    chose: ({ context }, { step }: { step: Decision["step"] }) => context.decision.step === step,
    /** The event brings a deletion that was not known: it wins over a read (rule 14). */
    bringsDeletion: ({ context, event }) =>
      event.type === "object.changed" && event.object.metadata.deletionTimestamp !== undefined &&
      context.knowledge.object.metadata.deletionTimestamp === undefined,
    /**
     * The event brings an edit to a CR whose spec was observed: its reads are sent in a more urgent lane from now on
     * (L3), which one that waits in the lane of before would miss. An edit after that one finds it there.
     */
    bringsEdit: ({ context, event }) => {
      const { metadata, status } = context.knowledge.object;
      return event.type === "object.changed" && event.object.metadata.generation > metadata.generation &&
        status?.observedGeneration === metadata.generation;
    },
  },
  delays: {
    /** The decision's wait, as it was lengthened. */
    rest: ({ context }) => context.rest?.ms ?? MAX_TIMER_MS,
  },
});

function chooseStep(context: DatabaseContext): Partial<DatabaseContext> {
  const { world } = context;
  const view = world.view(context.knowledge.object);
  const knowledge = inheriting(context.knowledge, view);
  const decision = decide(knowledge, view);
  const begunAt = knowledge.stimuli;
  const rest = (chosen: Decision): Partial<DatabaseContext> => ({
    knowledge,
    decision: chosen,
    begunAt,
    rest: restOf(chosen, view.now, world.random),
  });
  if (!isEffect(decision.step)) return rest(decision);
  const { spin } = context;
  const effect = { knowledge, decision, begunAt, rest: undefined };
  if (view.now - spin.since > SPIN_WINDOW_MS) return { ...effect, spin: { count: 1, since: view.now } };
  if (spin.count < SPIN_LIMIT) return { ...effect, spin: { ...spin, count: spin.count + 1 } };
  return rest({ ...decision, step: "wait", waitMs: SPIN_WINDOW_MS });
}

/** A rest, lengthened by up to a tenth so that many do not fire together; told exactly on the page (L4). */
function restOf({ waitMs }: Decision, now: number, random: Random): DatabaseContext["rest"] {
  if (waitMs === undefined) return undefined;
  const ms = Math.ceil(waitMs * (1 + random.next() / 10));
  return { ms, until: now + ms };
}

function now(context: DatabaseContext): number {
  return context.world.view(context.knowledge.object).now;
}

function learnEvent(context: DatabaseContext, event: DatabaseEvent): Knowledge {
  const { knowledge } = context;
  const at = now(context);
  const facts = factsOf(event, at);
  // A stale list had taken it for gone, and the watch brings it again: whoever is told of it must handle it (L1).
  const alive = knowledge.gone && knowledge.goneRead !== true &&
    facts.object?.metadata.uid === knowledge.object.metadata.uid;
  return learn(knowledge, alive ? { ...facts, foundAlive: true } : facts, at);
}

function factsOf(event: DatabaseEvent, at: number): Learned {
  switch (event.type) {
    case "object.changed":
      return { object: event.object, rewound: event.rewound, heard: true };
    case "object.gone":
      return { gone: true, goneHeard: true };
    case "external.listed":
      return {
        observation: { kind: "present", database: event.database, sentAt: event.sentAt },
        duplicates: event.duplicates,
        unreadable: null,
      };
    case "external.found":
      return { lookup: { found: event.found, sentAt: event.sentAt } };
    case "external.unlisted":
      return { unlistedAt: Math.min(event.sentAt, at), unreadable: null };
    case "external.unreadable":
      return { unreadable: { errorClass: event.errorClass, message: event.message } };
    case "binding.changed":
      return {
        secretHeard: event.secret && { secret: event.secret, rewound: event.rewound },
        secretGone: event.gone,
      };
    case "world.changed":
      return {};
  }
}

function learnDone(context: DatabaseContext, effect: Effect, facts: Learned): Knowledge {
  return succeed(learn(context.knowledge, facts, now(context)), effect);
}

function learnError(context: DatabaseContext, effect: Effect, error: unknown): Knowledge {
  const step = error instanceof StepError ? error : new StepError("bug", messageOf(error), { cause: error });
  const known = learn(context.knowledge, step.learned, now(context));
  const attempt = (known.attempts[effect] ?? 0) + 1;
  // Rule 23: what a person changed while the effect ran is tried at once, whatever the old state of things met.
  const stirred = context.knowledge.stimuli !== context.begunAt;
  return fail(known, {
    effect,
    state: context.decision.state,
    errorClass: step.errorClass,
    code: step.code,
    message: step.message,
    delayMs: stirred
      ? 0
      : retryDelayMs(effect, step.errorClass, attempt, step.retryAfterMs, context.world.random),
  }, now(context));
}

const toDeciding = { target: "deciding", actions: "learn" } as const;
const learnOnly = { actions: "learn" } as const;

/** Every event is taken in; in a rest it also leads to a new decision. */
const onRest = {
  "object.changed": toDeciding,
  "object.gone": toDeciding,
  "external.listed": toDeciding,
  "external.found": toDeciding,
  "external.unlisted": toDeciding,
  "external.unreadable": toDeciding,
  "binding.changed": toDeciding,
  "world.changed": { target: "deciding" },
} as const;

/** While an effect runs events are taken in and wait for its end. */
const onWork = {
  "object.changed": learnOnly,
  "object.gone": learnOnly,
  "external.listed": learnOnly,
  "external.found": learnOnly,
  "external.unlisted": learnOnly,
  "external.unreadable": learnOnly,
  "binding.changed": learnOnly,
} as const;

/** A read may be left for a deletion or an edit. */
const onRead = {
  ...onWork,
  "object.changed": [
    { guard: "bringsDeletion", ...toDeciding },
    { guard: "bringsEdit", ...toDeciding },
    learnOnly,
  ],
  "object.gone": toDeciding,
} as const;

const READS: ReadonlySet<Effect> = new Set<Effect>(["lookup", "observe", "confirm"]);

function working<E extends Effect>(effect: E) {
  return setUp.createStateConfig({
    description: EFFECT_MEANINGS[effect],
    tags: MUTATING.has(effect) ? ["working", "mutating"] : ["working"],
    invoke: {
      src: effect,
      input: ({ context, self }): EffectInput => ({
        knowledge: context.knowledge,
        decision: context.decision,
        world: context.world,
        latest: () => (self.getSnapshot() as { context: DatabaseContext }).context.knowledge,
      }),
      onDone: { target: "deciding", actions: { type: "succeed", params: { effect } } },
      onError: { target: "deciding", actions: { type: "fail", params: { effect } } },
    },
    on: READS.has(effect) ? onRead : onWork,
  });
}

/** The effects that each top-level state may run. A decision outside this table is a defect; a test compares them. */
export const STEPS = {
  Pending: ["finalize", "lookup", "adopt", "observe", "record", "reincarnate", "report"],
  Creating: ["bind", "create", "record", "observe", "setPassword", "discard", "reincarnate", "report"],
  Available: ["observe", "bind", "setPassword", "report"],
  Drifted: [
    "lookup",
    "adopt",
    "modify",
    "bind",
    "setPassword",
    "observe",
    "confirm",
    "reincarnate",
    "report",
  ],
  Deleting: ["record", "lookup", "remove", "confirm", "retain", "release", "report"],
} as const satisfies Record<Exclude<TopState, "Finalized">, readonly Effect[]>;

/** The top-level states that each may lead to. Only a cluster restored from a backup leads out of Deleting again. */
const NEXT = {
  Pending: ["Creating", "Available", "Drifted", "Deleting", "Finalized"],
  Creating: ["Pending", "Available", "Drifted", "Deleting", "Finalized"],
  Available: ["Pending", "Creating", "Drifted", "Deleting", "Finalized"],
  Drifted: ["Pending", "Creating", "Available", "Deleting", "Finalized"],
  Deleting: ["Pending", "Creating", "Available", "Drifted", "Finalized"],
} as const satisfies Record<Exclude<TopState, "Finalized">, readonly TopState[]>;

function resting(state: PassiveState) {
  return setUp.createStateConfig({
    description: PASSIVE_MEANINGS[state],
    tags: ["rest"],
    on: onRest,
    after: { rest: "deciding" },
  });
}

/** One top-level state: the others it may go to, and the effects it may run. */
function topState<const E extends Effect>(state: TopState, next: readonly TopState[], effects: readonly E[]) {
  return setUp.createStateConfig({
    description: STATE_MEANINGS[state],
    initial: "deciding",
    states: {
      deciding: setUp.createStateConfig({
        description: PASSIVE_MEANINGS.deciding,
        entry: "decide",
        always: [
          ...next.map((to) => ({
            guard: { type: "belongsTo" as const, params: { state: to } },
            target: `#database.${to}`,
          })),
          ...effects.map((effect) => ({
            guard: { type: "chose" as const, params: { step: effect } },
            target: effect,
          })),
          { guard: { type: "chose" as const, params: { step: "wait" as const } }, target: "waiting" },
          { guard: { type: "chose" as const, params: { step: "backOff" as const } }, target: "backingOff" },
          { target: "idle" },
        ],
      }),
      idle: resting("idle"),
      waiting: resting("waiting"),
      backingOff: resting("backingOff"),
      ...(Object.fromEntries(effects.map((effect) => [effect, working(effect)])) as Record<
        E,
        ReturnType<typeof working<E>>
      >),
    },
    meta: { state },
  });
}

/** The machine. Its effects fail until they are provided. */
export const databaseMachine = setUp.createMachine({
  id: "database",
  context: ({ input }) => {
    const view = input.world.view(input.object);
    const name = secretName(input.object);
    const knowledge: Knowledge = {
      ...initialKnowledge(input.object, view.now, input.kept),
      secret: view.secrets?.find((s) => s.kind === "ours" && s.name === name),
    };
    const verdict = { status: "Unknown", reason: "Pending", message: "" } as const;
    return {
      knowledge,
      world: input.world,
      decision: { state: "Pending", step: "idle", ready: verdict, synced: verdict },
      spin: { count: 0, since: Number.NEGATIVE_INFINITY },
      decidedOn: "",
      begunAt: 0,
    };
  },
  initial: "Pending",
  states: {
    Pending: topState("Pending", NEXT.Pending, STEPS.Pending),
    Creating: topState("Creating", NEXT.Creating, STEPS.Creating),
    Available: topState("Available", NEXT.Available, STEPS.Available),
    Drifted: topState("Drifted", NEXT.Drifted, STEPS.Drifted),
    Deleting: topState("Deleting", NEXT.Deleting, STEPS.Deleting),
    Finalized: { type: "final", description: STATE_MEANINGS.Finalized },
  },
  options: { maxIterations: 200 },
});

/** The machine's type, for what runs and draws it. */
export type DatabaseMachine = typeof databaseMachine;
