/**
 * What everything in the statechart means, in words: the one place that the machine's own descriptions, the page's chart
 * and docs/statechart.md are made from.
 *
 * The tables are typed by the machine itself, so that a state, effect, event, guard, action or delay without its meaning
 * does not compile.
 *
 * @module
 */
import type { StateMachine } from "xstate";
import type { DatabaseEvent } from "./events.ts";
import type { DatabaseMachine } from "./machine.ts";
import type { Effect, TopState } from "./vocabulary.ts";

/** The top-level states: where a database is in its life. */
export const STATE_MEANINGS: Readonly<Record<TopState, string>> = {
  Pending: "Accepted; the database is looked for, adopted, or about to be made",
  Creating: "The create was sent or found; its id is recorded and its end awaited",
  Available: "The database is as the spec asks; nothing to do until something changes",
  Drifted: "The database differs from the spec, is changing, is missing, or is not this one's",
  Deleting: "The resource is being deleted; its deletion policy is carried out",
  Finalized: "The finalizer is gone, or the resource is; the actor ends",
};

/** The states inside each top-level state that run no effect. */
export type PassiveState = "deciding" | "idle" | "waiting" | "backingOff";

/** What {@linkcode PassiveState}s mean. */
export const PASSIVE_MEANINGS: Readonly<Record<PassiveState, string>> = {
  deciding: "Chooses the one next step from what is known; left at once",
  idle: "Rests until an event, or until the next look at the database is due",
  waiting: "Rests until a time: a window that must pass, a state that must change, a turn that must come",
  backingOff: "Rests until an effect that failed may try again",
};

/** The effects; each has a state of its name that runs it. */
export const EFFECT_MEANINGS: Readonly<Record<Effect, string>> = {
  finalize: "Writes the finalizer: the record that there may be a database from now on",
  lookup: "Looks in the cloud for a database that carries the resource's UID",
  adopt: "Writes the resource's tags on the database that spec.providerId names, if nobody else owns it",
  create: "Sends the create, with a token that makes a second one harmless",
  record: "Writes the database's id into the status, before anything else is done with it",
  observe: "Reads the database",
  confirm: "Reads the database again and looks for its UID, to be sure that it is gone",
  modify: "Reads the database once more and sends the change that brings it in step",
  bind: "Writes, mends, moves or removes the connection Secret",
  setPassword: "Sets the Secret's password at the database",
  discard: "Deletes a database that failed before it was ever available",
  reincarnate: "Gives the lost database's id up in the status, so that another may be made",
  remove: "Deletes the database, after reading the resource and the database once more",
  retain: "Tags the database as retained, so that it stays and can be adopted",
  release: "Removes the finalizer, which lets the resource go",
  report: "Writes the status, because it has something new to say",
};

/** The events that the supervisor and the observer send. */
export const EVENT_MEANINGS: Readonly<Record<DatabaseEvent["type"], string>> = {
  "object.changed": "The watch, or a list, brought a newer copy of the resource",
  "object.gone": "The resource is gone from the cluster, or its name belongs to another UID",
  "external.listed": "The bulk list shows the database, as it is",
  "external.found": "The bulk list shows databases of a resource that has none recorded",
  "external.unlisted": "A whole bulk list does not show the database: a reason to read it, no proof",
  "external.unreadable": "The bulk list failed twice in a row or more",
  "binding.changed": "The connection Secret was changed, or is gone",
  "world.changed":
    "What is known of the account changed: its promises, a mass absence, a whole list, a class",
};

type Machine<T> = T extends // deno-lint-ignore no-explicit-any
StateMachine<any, any, any, any, infer A, infer G, infer D, any, any, any, any, any, any, any>
  ? { readonly action: A; readonly guard: G; readonly delay: D }
  : never;
type Named<T> = T extends { readonly type: infer Name extends string } ? Name : never;
/** The names of the machine's guards. */
export type GuardName = Named<Machine<DatabaseMachine>["guard"]>;
/** The names of the machine's actions. */
export type ActionName = Named<Machine<DatabaseMachine>["action"]>;
/** The names of the machine's delays. */
export type DelayName = Machine<DatabaseMachine>["delay"];

/** The guards: what must hold for a transition to be taken. */
export const GUARD_MEANINGS: Readonly<Record<GuardName, string>> = {
  belongsTo: "What was decided belongs to this other top-level state",
  chose: "What was decided is this step",
  bringsDeletion: "The resource is being deleted, which was not known: a read is left for it",
  bringsEdit: "The spec was edited after it was acted on: a read is begun anew, in a more urgent lane",
};

/** The actions, which change what the actor knows and nothing else. */
export const ACTION_MEANINGS: Readonly<Record<ActionName, string>> = {
  decide: "Chooses the next step and what the conditions say meanwhile (`decide.ts`, a pure function)",
  learn: "Takes in what the event says",
  succeed: "Takes in what the effect brought; its back-off is over",
  fail: "Takes in what the failed effect learned; counts the failure and sets its next try",
};

/** The delays: how long a state lasts where nothing else ends it. */
export const DELAY_MEANINGS: Readonly<Record<DelayName, string>> = {
  rest: "As long as the decision says, and up to a tenth longer, so that many do not fire together",
};

/** The tags that states carry. */
export const TAG_MEANINGS: Readonly<Record<string, string>> = {
  rest: "Nothing runs; any event leads to a new decision",
  working: "An effect runs; events are taken in and wait for its end",
  mutating: "The effect may change something at the cloud: never left before its answer or its time-out",
};

/** What a state means, by its dotted path such as `Drifted.modify`; empty for a path that the machine does not have. */
export function stateMeaning(path: string): string {
  const [top = "", inner] = path.split(".");
  const all: Readonly<Record<string, string>> = { ...PASSIVE_MEANINGS, ...EFFECT_MEANINGS };
  return (inner === undefined ? own(STATE_MEANINGS, top) : own(all, inner)) ?? "";
}

/** What a guard means as a chart writes it, `chose(modify)`; empty for one that the machine does not have. */
export function guardMeaning(guard: string): string {
  const [, name = "", param] = /^([^()]+)(?:\((.*)\))?$/.exec(guard) ?? [];
  const meaning = own(GUARD_MEANINGS, name) ?? "";
  if (param === undefined || meaning === "") return meaning;
  const of = name === "belongsTo" ? own(STATE_MEANINGS, param) : stepMeaning(param);
  return of === undefined ? meaning : `${meaning}. ${param}: ${lowerFirst(of)}`;
}

/** What makes a transition happen, by its kind and name as a chart has them (`event` `object.changed`, `done` `modify`). */
export function triggerMeaning(trigger: { readonly kind: string; readonly name: string }): string {
  const { kind, name } = trigger;
  switch (kind) {
    case "event":
      return own(EVENT_MEANINGS, name) ?? "";
    case "after":
      return own(DELAY_MEANINGS, name) ?? "";
    case "always":
      return "At once, as soon as the state is entered";
    case "done":
      return `The effect ${name} has ended well`;
    case "error":
      return `The effect ${name} has failed`;
    default:
      return "";
  }
}

/** An effect, or one of the rests that a decision names by another word than their states have. */
function stepMeaning(step: string): string | undefined {
  if (step === "wait") return PASSIVE_MEANINGS.waiting;
  if (step === "backOff") return PASSIVE_MEANINGS.backingOff;
  return own(EFFECT_MEANINGS, step);
}

function own(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
