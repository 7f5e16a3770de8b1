/**
 * How knowledge changes: one pure reducer for everything that an effect, a watch or the observer brings.
 *
 * @module
 */
import { ANNOTATION, TAG } from "../api/constants.ts";
import { isOlder, isOlderVersion } from "../api/resource_version.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { type Draft, learnSecret } from "./learn_secret.ts";
import { type ExternalState, initialKnowledge, type Knowledge, type Observation } from "./knowledge.ts";
import type { Learned } from "./learned.ts";
import { hasFinalizer, isNew, isStimulus, isUnbegun, reconcileDue } from "./resource.ts";
import type { Effect, TopState } from "./vocabulary.ts";

/** Annotations whose change resets back-off (rules 12, 16, 18, 23). */
const STIMULATING = Object.values(ANNOTATION);

/** Applies facts; `now` is the monotonic time in milliseconds. */
export function learn(k: Knowledge, facts: Learned, now: number): Knowledge {
  const back = facts.rewound === undefined ? undefined : restored(k, facts.object, facts.rewound);
  const next: Draft = back === undefined ? { ...k } : afterRewind(k, back, now);
  if (facts.object !== undefined) learnObject(next, facts.object, now, facts.heard);
  if (back !== undefined) next.goneRead = false;
  if (facts.gone) {
    next.gone = true;
    if (!facts.goneHeard) next.goneRead = true;
  }
  if (facts.foundAlive) {
    next.bornHere = next.untouched = false;
    next.goneRead = false;
    if (facts.object !== undefined) next.gone = false;
  }
  next.account ??= facts.account;
  if (facts.seenUnder !== undefined) next.seenUnder = facts.seenUnder;
  const written = facts.finalizerWritten || facts.recorded || facts.reported !== undefined
    ? facts.object?.metadata.resourceVersion
    : undefined;
  if (written !== undefined && written === next.lifeSeen?.resourceVersion) {
    // The first sign of life that was seen is what we wrote, under the resourceVersion of what we knew.
    next.bornHere = true;
    next.lifeSeen = undefined;
  }
  if (facts.finalizerWrittenOnNew && k.untouched) {
    next.provenNew = true;
    next.provenAt = now;
  }
  if (facts.finalizerOfAnother) {
    next.bornHere = next.untouched = false;
    next.unknownSince = now;
  }
  if (facts.create !== undefined) {
    next.provenNew = next.untouched = false;
    next.adopting = undefined;
    next.createExists = facts.create.outcome === "exists" ? facts.create.code ?? "exists" : undefined;
    if (facts.create.outcome !== "refused") next.mayExist = true;
    if (facts.create.outcome === "unknown" || facts.create.outcome === "exists") {
      next.unknownSince = facts.create.at;
      next.unknownUnder ??= facts.create.under;
    }
  }
  // As after a create of unknown outcome: only a lookup past the settle window can tell that nothing is ours.
  if (facts.tagged !== undefined) {
    next.unknownSince = facts.tagged.at;
    next.adopting = facts.tagged.id;
    next.provenNew = false; // the spec may name another since, or none (S1)
  }
  if (facts.observation !== undefined) {
    const answer = facts.create ?? facts.modify;
    if (answer?.outcome === "answered") next.transitionalSince = undefined; // another begins
    learnObservation(next, facts.observation, now, answer !== undefined);
    if (answer !== undefined && answer.outcome === "answered") next.mutatedAt = answer.at;
  }
  if (facts.modify !== undefined) {
    next.modifyUnknownSince = facts.modify.outcome === "unknown" ? facts.modify.at : undefined;
    if (facts.modify.outcome === "answered") next.mutatedAt = facts.modify.at;
  }
  const sent = facts.removed ?? facts.asked;
  if (sent !== undefined) next.removals = { ...next.removals, [sent.id]: sent.at };
  if (facts.removed !== undefined) {
    const { id, at } = facts.removed;
    next.removalTries = { ...next.removalTries, [id]: (next.removalTries[id] ?? 0) + 1 };
    next.mutatedAt = at;
    if (!(next.lookup?.found.some((d) => d.id === id) ?? false)) next.unseenRemovedAt = at;
    next.transitionalSince = undefined; // its end is looked for from the beginning
    // Dropped on delete: what was cached of this database says nothing any more.
    if (next.observation?.kind === "present" && next.observation.database.id === id) {
      next.observation = undefined;
    }
    next.lookup = undefined;
  }
  if (
    facts.lookup !== undefined && facts.lookup.sentAt >= (next.lookup?.sentAt ?? Number.NEGATIVE_INFINITY)
  ) {
    next.lookup = facts.lookup;
    next.lastReadAt = now;
    if (facts.lookup.found.length > 0) next.createExists = undefined;
    // What only a lookup shows is waited for by growing steps too (design.md 4).
    if (facts.lookup.found.some((d) => isTransitional(d.state))) next.transitionalSince ??= now;
  }
  if (facts.duplicates !== undefined) next.duplicates = facts.duplicates;
  if (facts.repair !== undefined) {
    next.repair = facts.repair;
    next.repairsSince = (next.repairsSince ?? 0) + 1;
  }
  learnSecret(next, facts, now);
  if (facts.crdTerminating !== undefined) next.crdTerminating = facts.crdTerminating;
  if (facts.retained) next.retained = true;
  if (facts.released) next.released = true;
  if (facts.releaseAsked) next.releaseAsked = true;
  // Also by an answer that is older than what a watch told meanwhile: a status that was wiped since.
  if (facts.recordAsked || facts.object?.status?.providerId !== undefined) next.named = true;
  if (facts.conflict !== undefined) next.conflict = facts.conflict ?? undefined;
  if (facts.reported !== undefined) next.reported = facts.reported;
  if (facts.unlistedAt !== undefined) next.unlistedAt = facts.unlistedAt;
  if (facts.unreadable !== undefined) next.unreadable = facts.unreadable ?? undefined;
  return next;
}

function learnObject(next: Draft, object: ExternalDatabase, now: number, heard = false): void {
  const before = next.object;
  if (object.metadata.uid !== before.metadata.uid) return;
  // An answer that is older than what is known by now confirms that too.
  if (!heard && object !== before) next.confirmed = true;
  if (isOlder(object, before)) return;
  next.object = before.class === undefined ? object : { ...object, class: before.class };
  if (isStimulus(before, object, STIMULATING)) {
    next.failure = undefined;
    next.failures = {};
    next.stimuli++;
    next.removalTries = {};
    next.repairsSince = 0;
    next.attempts = {};
    next.conflict = undefined;
    next.polls = 0;
    next.strayReads = 0;
  }
  const asked = object.metadata.annotations?.[ANNOTATION.reconcile];
  if (asked !== before.metadata.annotations?.[ANNOTATION.reconcile] && reconcileDue(object)) {
    next.refreshSince = now;
  }
  // Raised, not merely gone: a status that was wiped leaves the database that we know (A4).
  const raised = (object.status?.incarnation ?? 1) > (before.status?.incarnation ?? 1);
  const given = raised && isGivenUp(next, before.status?.providerId);
  if (raised) forgetDatabase(next, object);
  const id = object.status?.providerId;
  if (id !== undefined) next.mayExist = true;
  else if (before.status?.providerId !== undefined) {
    next.unnamedAt = now;
    // Lists may not show yet what was created, changed or deleted a moment ago, and no id tells of it any more (rule 5).
    const changedAt = Math.max(next.mutatedAt, ...Object.values(next.removals));
    if (!given) next.unknownSince = latestOf(next.unknownSince, changedAt);
  }
  if (id !== before.status?.providerId) next.retained = false; // another one is to be marked now
  next.account = object.status?.account ?? next.account;
  // One that lost finalizer and status looks new and is not (A4).
  if (isNew(object) && !isNew(before)) next.provenNew = next.untouched = false;
  // A stale list shows an old CR as new: whoever wrote a finalizer that is not proven to be ours may have sent a create
  // (rules 1, 3 and 15); and so may whoever wrote a status, though the finalizer was stripped since (A4).
  const finalized = hasFinalizer(object) && !hasFinalizer(before);
  const said = isBegun(object) && !isBegun(before);
  if (next.bornHere && (finalized || said)) {
    next.bornHere = false;
    next.lifeSeen = { at: now, resourceVersion: object.metadata.resourceVersion };
  }
  // A finalizer alone may be our own write, which the watch brought before its answer came.
  if (Object.keys(object.status ?? {}).length > 0) next.untouched = false;
}

/** The copy that a restored cluster shows, unless what was lost is left behind already. */
function restored(
  k: Knowledge,
  object: ExternalDatabase | undefined,
  lost: string,
): ExternalDatabase | undefined {
  if (object?.metadata.uid !== k.object.metadata.uid) return undefined;
  return isOlderVersion(k.object.metadata.resourceVersion, lost) ? undefined : object;
}

/**
 * The cluster went back in time. What this process did for the CR may be forgotten there, and what it believed of it
 * may never have been: it begins anew as after a restart, with what the provider last said. A create of the lost time
 * may still bring something, so the settle window begins anew too (rule 5).
 */
function afterRewind(k: Knowledge, object: ExternalDatabase, now: number): Draft {
  const { observation, mutatedAt, lastReadAt, modifyUnknownSince, account, unknownUnder, seenUnder } = k;
  return {
    ...initialKnowledge(object, now, {
      bornHere: false,
      unknownSince: now,
      observation,
      mutatedAt,
      lastReadAt,
      unknownUnder,
      seenUnder,
    }),
    mayExist: true,
    modifyUnknownSince,
    passwordUnsure: true,
    account: object.status?.account ?? account,
    stimuli: k.stimuli + 1,
    rewinds: k.rewinds + 1,
  };
}

/** A raised incarnation starts over: what was known belongs to the last database. */
function forgetDatabase(next: Draft, object: ExternalDatabase): void {
  if (object.status?.providerId !== undefined) return;
  next.observation = undefined;
  next.lookup = undefined;
  next.createExists = undefined;
  next.unknownUnder = undefined;
  next.seenUnder = undefined;
  next.unlistedAt = undefined;
  next.polls = 0;
  next.repair = [];
}

/**
 * Whether a raised incarnation is ours, of what we removed and saw to be gone, and nothing was made or changed after that.
 * One that vanished by itself was waited for beyond the settle window; where a person edited its id away it was not.
 */
function isGivenUp({ observation, removals, mutatedAt }: Draft, id: string | undefined): boolean {
  if (id === undefined || observation?.kind !== "absent" || observation.id !== id) return false;
  return removals[id] !== undefined && mutatedAt <= Math.max(...Object.values(removals));
}

function latestOf(since: number | undefined, at: number): number | undefined {
  return at > (since ?? Number.NEGATIVE_INFINITY) ? at : since;
}

/** Whether something may have been done for a CR: it has our finalizer, or its status does not say why nothing was. */
function isBegun(object: ExternalDatabase): boolean {
  return !isNew(object) && !isUnbegun(object);
}

function isTransitional(state: ExternalState["state"]): boolean {
  return state !== "Available" && state !== "Failed";
}

/** Whether one that is available lacks something that is read for by growing steps as well: its endpoint, or a change. */
function isUnfinished({ state, endpoint, pending }: ExternalState): boolean {
  return state === "Available" && (endpoint === undefined || pending !== undefined);
}

function learnObservation(next: Draft, observation: Observation, now: number, ours: boolean): void {
  if (!ours && observation.sentAt < next.mutatedAt) return; // rule 10
  if (next.observation !== undefined && observation.sentAt < next.observation.sentAt) return;
  next.lastReadAt = now;
  next.unreadable = undefined;
  if (observation.kind === "present") {
    next.unlistedAt = undefined;
    const { state, tags } = observation.database;
    next.strayReads = tags[TAG.uid] === next.object.metadata.uid ? 0 : (next.strayReads ?? 0) + 1;
    const transitional = isTransitional(state);
    next.polls = transitional ? next.polls + 1 : 0;
    next.transitionalSince = transitional || isUnfinished(observation.database)
      ? next.transitionalSince ?? now
      : undefined;
    if (state === "Available") forgetRemoval(next, observation.database.id);
  }
  next.observation = observation;
  const { passwordSet: set } = next;
  if (set?.pendingSince === undefined || observation.kind !== "present") return;
  const { id, state } = observation.database;
  if (id === set.id && state === "Available" && observation.sentAt >= set.pendingSince) {
    next.passwordSet = { id, revision: set.revision };
  }
}

/** One that failed, was asked to go and serves after all: its absence is none that was asked for (rule 12). */
function forgetRemoval(next: Draft, id: string): void {
  if (next.removals[id] === undefined || next.object.metadata.deletionTimestamp !== undefined) return;
  const { [id]: _, ...removals } = next.removals;
  next.removals = removals;
}

/** Notes a failed effect; `delayMs` is the wait until the next try. */
export function fail(
  k: Knowledge,
  failure: {
    readonly effect: Effect;
    readonly state: TopState;
    readonly errorClass: string;
    readonly code?: string | undefined;
    readonly message: string;
    readonly delayMs: number;
  },
  now: number,
): Knowledge {
  const attempt = (k.attempts[failure.effect] ?? 0) + 1;
  const { delayMs, ...rest } = failure;
  const noted = { ...rest, attempt, at: now, until: now + delayMs };
  return {
    ...k,
    attempts: { ...k.attempts, [failure.effect]: attempt },
    failures: { ...k.failures, [failure.effect]: noted },
    failure: failure.effect === "report" ? k.failure : noted,
  };
}

/** Notes that an effect succeeded: its failures are over, and so is a failure that it had. */
export function succeed(k: Knowledge, effect: Effect): Knowledge {
  if (!(effect in k.attempts) && !(effect in k.failures) && k.failure?.effect !== effect) return k;
  const attempts = { ...k.attempts };
  delete attempts[effect];
  const failures = { ...k.failures };
  delete failures[effect];
  return { ...k, attempts, failures, failure: k.failure?.effect === effect ? undefined : k.failure };
}
