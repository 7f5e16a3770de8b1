/**
 * What brought a step of an actor, as facts: small, and without a secret. `words.ts` says them.
 *
 * @module
 */
import { ANNOTATION } from "../../api/constants.ts";
import type { ExternalDatabase } from "../../api/schema.ts";
import { equal } from "../../core/equal.ts";
import { messageOf } from "../../core/text.ts";
import type { DatabaseEvent } from "../../statechart/events.ts";
import type { ExternalState, Knowledge } from "../../statechart/knowledge.ts";
import type { Learned } from "../../statechart/learned.ts";
import { StepError } from "../../statechart/step_error.ts";
import type { Effect } from "../../statechart/vocabulary.ts";
import { cut, messageKept, shared, sharedText } from "./intern.ts";

/** Characters of a value that are kept: an annotation may have a quarter of a million. */
const MAX_VALUE = 100;

/** One field that is another now. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Why a step was made. */
export type Cause =
  | {
    readonly kind: "object";
    readonly resourceVersion: string;
    readonly fields: readonly FieldChange[];
    /** Its deletion is asked for from now on. */
    readonly deletion: boolean;
    /** The cluster went back in time: the version that was lost. */
    readonly rewound: string | undefined;
  }
  | { readonly kind: "gone" }
  | {
    readonly kind: "seen";
    readonly by: "list" | Effect;
    /** The provider's word for its state; `undefined`: it is not there. */
    readonly state: string | undefined;
    readonly fields: readonly FieldChange[];
    readonly duplicates: number;
  }
  | { readonly kind: "found"; readonly by: "list" | Effect; readonly count: number }
  | { readonly kind: "unlisted" }
  | { readonly kind: "unreadable"; readonly errorClass: string; readonly message: string }
  | { readonly kind: "secret"; readonly what: string; readonly name: string | undefined }
  | { readonly kind: "world" }
  | { readonly kind: "timer" }
  | {
    readonly kind: "start";
    readonly resourceVersion: string;
    /** What is another than when the actor before it fell asleep or failed: mostly what it was woken for. */
    readonly fields: readonly FieldChange[];
    readonly deletion: boolean;
  }
  | { readonly kind: "sleep" }
  | { readonly kind: "ended"; readonly effect: Effect; readonly outcome: string | undefined }
  | {
    readonly kind: "failed";
    readonly effect: Effect;
    readonly errorClass: string;
    readonly code: string | undefined;
    readonly message: string;
    /** Failures of it in a row, and the wait before the next try in milliseconds. */
    readonly attempt: number | undefined;
    readonly delayMs: number | undefined;
  }
  | { readonly kind: "crash"; readonly message: string }
  | { readonly kind: "other"; readonly type: string };

/** What was known before a step: that which causes are told against. */
export interface Before {
  readonly object: ExternalDatabase | undefined;
  readonly database: ExternalState | undefined;
}

/** Any event of the machine, XState's own among them. */
interface AnyEvent {
  readonly type: string;
  readonly output?: unknown;
  readonly error?: unknown;
}

const NONE: readonly FieldChange[] = [];
const WORLD: Cause = { kind: "world" };
const TIMER: Cause = { kind: "timer" };
const GONE: Cause = { kind: "gone" };
const UNLISTED: Cause = { kind: "unlisted" };
const SLEEP: Cause = { kind: "sleep" };

/** The cause that an event is; `from` is the state that it met, and `after` what was known once it was taken in. */
export function causeOf(
  event: AnyEvent,
  from: string,
  before: Before,
  after: Pick<Knowledge, "object" | "failures">,
): Cause {
  if (event.type.startsWith("xstate.")) return internalCause(event, from, before, after);
  const e = event as DatabaseEvent;
  switch (e.type) {
    case "object.changed":
      return {
        kind: "object",
        resourceVersion: e.object.metadata.resourceVersion,
        fields: objectChanges(before.object, e.object),
        deletion: asksDeletion(before.object, e.object),
        rewound: e.rewound,
      };
    case "object.gone":
      return GONE;
    case "external.listed":
      return seenCause("list", e.database, before, e.duplicates.length);
    case "external.found":
      return { kind: "found", by: "list", count: e.found.length };
    case "external.unlisted":
      return UNLISTED;
    case "external.unreadable":
      return { kind: "unreadable", errorClass: e.errorClass, message: messageKept(e.message) };
    case "binding.changed":
      return e.gone === undefined
        ? { kind: "secret", what: "changed", name: e.secret?.kind === "ours" ? e.secret.name : undefined }
        : { kind: "secret", what: "gone", name: undefined };
    case "world.changed":
      return WORLD;
    default:
      return { kind: "other", type: (e as AnyEvent).type };
  }
}

function internalCause(
  event: AnyEvent,
  from: string,
  before: Before,
  after: Pick<Knowledge, "object" | "failures">,
): Cause {
  if (event.type === "xstate.init") {
    const { object } = after;
    return {
      kind: "start",
      resourceVersion: object.metadata.resourceVersion,
      fields: objectChanges(before.object, object),
      deletion: asksDeletion(before.object, object),
    };
  }
  if (event.type === "xstate.stop") return SLEEP;
  if (event.type.startsWith("xstate.after.")) return TIMER;
  const effect = from.slice(from.lastIndexOf(".") + 1) as Effect;
  if (event.type.startsWith("xstate.error.")) return failedCause(effect, event.error, after);
  if (event.type.startsWith("xstate.done.")) {
    return endedCause(effect, (event.output ?? {}) as Learned, before);
  }
  return { kind: "other", type: event.type };
}

function failedCause(
  effect: Effect,
  error: unknown,
  { failures }: Pick<Knowledge, "failures">,
): Cause {
  const failure = failures[effect];
  return {
    kind: "failed",
    effect,
    errorClass: error instanceof StepError ? error.errorClass : "bug",
    code: error instanceof StepError ? error.code : undefined,
    message: messageKept(messageOf(error)),
    attempt: failure?.attempt,
    delayMs: failure?.at === undefined ? undefined : Math.max(0, Math.round(failure.until - failure.at)),
  };
}

function endedCause(effect: Effect, learned: Learned, before: Before): Cause {
  const { observation, lookup, create, modify } = learned;
  if (learned.gone) return GONE;
  if (observation?.kind === "absent") {
    return notThere(effect, "");
  }
  if (observation?.kind === "present") {
    return seenCause(effect, observation.database, before, learned.duplicates?.length ?? 0);
  }
  if (lookup !== undefined) return { kind: "found", by: effect, count: lookup.found.length };
  return ended(effect, create?.outcome ?? modify?.outcome ?? "");
}

function asksDeletion(before: ExternalDatabase | undefined, after: ExternalDatabase): boolean {
  return after.metadata.deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined;
}

function seenCause(by: "list" | Effect, database: ExternalState, before: Before, duplicates: number): Cause {
  const fields = databaseChanges(before.database, database);
  if (fields.length === 0 && duplicates === 0) return seenAsBefore(by, database.providerState);
  return { kind: "seen", by, state: sharedText(database.providerState), fields, duplicates };
}

const seenAsBefore = shared((by, state): Cause => ({
  kind: "seen",
  by: by as "list" | Effect,
  state,
  fields: NONE,
  duplicates: 0,
}));
const notThere = shared((effect): Cause => ({
  kind: "seen",
  by: effect as Effect,
  state: undefined,
  fields: NONE,
  duplicates: 0,
}));
const ended = shared((effect, outcome): Cause => ({
  kind: "ended",
  effect: effect as Effect,
  outcome: outcome === "" ? undefined : outcome,
}));

const ANNOTATIONS = Object.values(ANNOTATION);

/** What is another in a newer copy of a resource, as far as an actor heeds it. */
function objectChanges(
  before: ExternalDatabase | undefined,
  after: ExternalDatabase,
): readonly FieldChange[] {
  if (before === undefined || before === after) return NONE;
  const changes: FieldChange[] = [];
  if (before.metadata.generation !== after.metadata.generation) {
    compare("spec", before.spec, after.spec, changes);
  }
  const was = before.metadata.annotations;
  const is = after.metadata.annotations;
  if (was !== is) {
    for (const name of ANNOTATIONS) {
      if (was?.[name] !== is?.[name]) changes.push(changeOf(name, was?.[name], is?.[name]));
    }
  }
  return changes.length === 0 ? NONE : changes;
}

const SHOWN = ["state", "engine", "version", "sizeGb", "endpoint", "deletionProtection"] as const;

function databaseChanges(before: ExternalState | undefined, after: ExternalState): readonly FieldChange[] {
  if (before === undefined || before === after || before.id !== after.id) return NONE;
  let changes: FieldChange[] | undefined;
  for (const field of SHOWN) {
    if (before[field] !== after[field]) {
      (changes ??= []).push(changeOf(field, before[field], after[field]));
    }
  }
  return changes ?? NONE;
}

function compare(path: string, before: unknown, after: unknown, changes: FieldChange[]): void {
  const was = (before ?? {}) as Readonly<Record<string, unknown>>;
  const is = (after ?? {}) as Readonly<Record<string, unknown>>;
  for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
    if (!equal(was[key], is[key])) {
      changes.push(changeOf(fieldName(path, key), was[key], is[key]));
    }
  }
}

function changeOf(field: string, from: unknown, to: unknown): FieldChange {
  return { field, from: short(from), to: short(to) };
}

function short(value: unknown): unknown {
  return typeof value === "string" ? cut(value, MAX_VALUE) : value;
}

const fieldName = shared((path, key) => `${path}.${key}`);

/** Whether two causes say the same, so that one may stand for both: versions and times apart. */
export function sameCause(a: Cause, b: Cause): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case "object": { // what an actor heeds is always told
      const other = b as typeof a;
      return isPlain(a) && isPlain(other);
    }
    case "start": {
      const other = b as typeof a;
      return a.resourceVersion === other.resourceVersion && isPlain(a) && isPlain(other);
    }
    case "failed": {
      const other = b as typeof a;
      return a.effect === other.effect && a.errorClass === other.errorClass && a.code === other.code;
    }
    default:
      return equal(a, b);
  }
}

/** Nothing that an actor heeds is another: a label, somebody's status. */
function isPlain(cause: Cause & { readonly kind: "object" | "start" }): boolean {
  return cause.fields.length === 0 && !cause.deletion && !("rewound" in cause && cause.rewound !== undefined);
}
