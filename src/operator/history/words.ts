/**
 * The history in words, made when somebody asks for it.
 *
 * @module
 */
import { maskUrls } from "../../server/mask.ts";
import type { CallRecord, HistoryAnswer, HistoryEntry } from "../../server/api/types.ts";
import { quote } from "../../statechart/drift.ts";
import { oneLine } from "../../statechart/verdicts.ts";
import type { Call, CallFact } from "./calls.ts";
import type { Cause, FieldChange } from "./cause.ts";
import type { ActorLog } from "./draft.ts";
import type { Step } from "./steps.ts";

/** What is kept of a resource, as the API says it. */
export function historyOf(log: ActorLog): HistoryAnswer {
  return {
    namespace: log.namespace,
    name: log.name,
    uid: log.uid,
    dropped: log.dropped,
    ...(log.goneAt === undefined ? {} : { goneAt: time(log.goneAt) }),
    entries: log.steps.map(entryOf),
  };
}

/** One step as the API says it. */
export function entryOf(step: Step): HistoryEntry {
  const { states } = step.route;
  return {
    n: step.n,
    at: time(step.at),
    event: eventName(step),
    cause: causeWords(step.cause),
    from: states[0] ?? "",
    to: step.route.to,
    via: states.slice(1, -1),
    durationMs: step.durationMs,
    generation: step.generation,
    ready: step.ready,
    synced: step.synced,
    calls: step.calls?.map(callOf) ?? [],
    ...(step.repeated === 0 ? {} : { repeated: step.repeated, lastAt: time(step.lastAt) }),
  };
}

/** `modify done`, `create failed`, `timer`, `start`, or the statechart's own name of the event. */
function eventName({ event, route }: Step): string {
  if (event !== "done" && event !== "failed") return event;
  const from = route.states[0] ?? "";
  return `${from.slice(from.lastIndexOf(".") + 1)} ${event}`;
}

/** A cause in a sentence. */
function causeWords(cause: Cause): string {
  switch (cause.kind) {
    case "object": {
      const { resourceVersion, fields, deletion, rewound } = cause;
      const told = [
        ...(rewound === undefined ? [] : [`the cluster went back in time, ${quote(rewound)} is no more`]),
        ...objectWords({ fields, deletion }),
      ];
      const what = told.length === 0 ? "nothing that the operator heeds was changed" : told.join(", ");
      return `Kubernetes, resourceVersion ${oneLine(resourceVersion)}: ${what}`;
    }
    case "gone":
      return "the resource is gone from the cluster";
    case "seen": {
      const by = cause.by === "list" ? "the list" : cause.by;
      if (cause.state === undefined) return `${by}: the provider says that the database is not there`;
      const told = cause.fields.map(change);
      if (cause.duplicates > 0) told.push(`${cause.duplicates} more with this UID`);
      return `${by}: the database is ${quote(cause.state)}${told.length === 0 ? "" : `, ${told.join(", ")}`}`;
    }
    case "found": {
      const by = cause.by === "list" ? "the list" : cause.by;
      const what = cause.count === 0
        ? "no database"
        : cause.count === 1
        ? "a database"
        : `${cause.count} databases`;
      return `${by}: ${what} with this UID`;
    }
    case "unlisted":
      return "the list does not show the database";
    case "unreadable":
      return `the list failed: ${cause.errorClass}: ${text(cause.message)}`;
    case "secret":
      return cause.name === undefined
        ? `a connection Secret is ${cause.what}`
        : `the connection Secret ${quote(cause.name)} ${cause.what}`;
    case "world":
      return "something of the account changed";
    case "timer":
      return "the wait is over";
    case "start": {
      const told = objectWords(cause);
      return `the actor starts from resourceVersion ${oneLine(cause.resourceVersion)}${
        told.length === 0 ? "" : `: ${told.join(", ")}`
      }`;
    }
    case "sleep":
      return "idle for long: the actor sleeps, or the operator ends";
    case "ended":
      return `${cause.effect}: ${cause.outcome ?? "ok"}`;
    case "failed": {
      const code = cause.code === undefined ? "" : ` (${oneLine(cause.code)})`;
      const next = cause.attempt === undefined || cause.delayMs === undefined
        ? ""
        : `; failure ${cause.attempt} in a row, next try in ${seconds(cause.delayMs)}`;
      return `${cause.effect}: ${cause.errorClass}${code}: ${text(cause.message)}${next}`;
    }
    case "crash":
      return `the actor failed: ${text(cause.message)}`;
    case "other":
      return cause.type;
  }
}

function objectWords(
  { fields, deletion }: { readonly fields: readonly FieldChange[]; readonly deletion: boolean },
): string[] {
  return [...(deletion ? ["its deletion is asked for"] : []), ...fields.map(change)];
}

function callOf({ to, verb, outcome, at, durationMs, fact }: Call): CallRecord {
  const detail = fact && factWords(fact);
  return { to, verb, outcome, ...(detail ? { detail } : {}), at: time(at), durationMs };
}

function factWords(fact: CallFact): string {
  switch (fact.kind) {
    case "error":
      return text(fact.message);
    case "names":
      return fact.names.map(pointerWords).join(", ");
    case "count":
      return fact.count === 1 ? "1 database" : `${fact.count} databases`;
    case "database":
      return `it is ${quote(fact.state)}`;
    case "wanted": {
      const { engine, version, sizeGb, deletionProtection, password, tags } = fact;
      const parts = [
        ...(engine === undefined ? [] : [`engine ${quote(engine)}`]),
        ...(version === undefined ? [] : [`version ${quote(version)}`]),
        ...(sizeGb === undefined ? [] : [`sizeGb ${sizeGb}`]),
        ...(deletionProtection === undefined ? [] : [`deletionProtection ${deletionProtection}`]),
        ...(password ? ["a password"] : []),
        ...(tags.length === 0 ? [] : [`tags ${tags.map(oneLine).join(", ")}`]),
      ];
      return parts.join(", ");
    }
  }
}

/** `/status/state` → `status.state`. */
function pointerWords(pointer: string): string {
  return oneLine(pointer).replace(/^\//, "").split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")).join(".");
}

function change({ field, from, to }: FieldChange): string {
  return `${field} ${value(from)} → ${value(to)}`;
}

function value(of: unknown): string {
  if (of === undefined) return "unset";
  return typeof of === "string" ? quote(of) : quote(JSON.stringify(of) ?? "").slice(1, -1);
}

/** Text from elsewhere: on one line, without the credentials that a URL may hold. */
function text(message: string): string {
  return maskUrls(oneLine(message));
}

/** `4 s`, `350 ms`, `10 min`. */
function seconds(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
