/**
 * What every actor went through: a bounded ring of steps per resource, made from what XState tells an inspector and from
 * the calls of the effects.
 *
 * Promised: facts alone are kept, and words are made on request; a step costs no text. At most {@linkcode MAX_STEPS} steps
 * for each resource, fewer where there are so many that all together would be more than {@linkcode MAX_TOTAL}; a step
 * that repeats the one before, or a pair that repeats the pair before, is counted and not kept. It is kept by UID, so
 * that an actor's restart and sleep are entries in it, and ends with the resource; the last {@linkcode MAX_GONE}
 * resources that went are kept. No secret is in it. What fails in it fails nobody else (`failure.ts`).
 *
 * @module
 */
import type { AnyActorRef, InspectionEvent } from "xstate";
import type { ExternalDatabase } from "../../api/schema.ts";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/text.ts";
import type { DatabaseContext } from "../../statechart/context.ts";
import { CallBook, type CloudCall } from "./calls.ts";
import { causeOf } from "./cause.ts";
import { CallTally } from "./call_tally.ts";
import { type ActorLog, type Draft, INITIAL, NOTHING, type Open, type Seen } from "./draft.ts";
import { type Failed, thrownOn } from "./failure.ts";
import { messageKept } from "./intern.ts";
import { slotOf } from "./minute.ts";
import { type Edge, pathOf, Routes } from "./route.ts";
import { eventKind, keepStep, letGo, MAX_STEPS, MAX_TOTAL, MIN_STEPS, type Step } from "./steps.ts";

/** Resources that are kept after they went. */
export const MAX_GONE = 100;

/** Told of every resource whose actor made a step, and of those that went. */
export interface HistoryListener {
  changed(uid: string): void;
  gone(uid: string): void;
}

/** The recorder; one for an operator. */
export class History {
  readonly book: CallBook;
  readonly #clock: Clock;
  readonly #logs = new Map<string, Draft>();
  readonly #gone = new Map<string, Draft>();
  readonly #routes = new Routes();
  readonly #tallies = new Map<string, CallTally>();
  readonly #listeners = new Set<HistoryListener>();
  readonly #most: number;
  readonly #failed: Failed;
  #limit = MAX_STEPS;

  /** `most`: steps for all resources together. `onFailure`: takes what could not be noted. @default it is thrown on */
  constructor(
    clock: Clock,
    { most = MAX_TOTAL, onFailure = thrownOn }: { readonly most?: number; readonly onFailure?: Failed } = {},
  ) {
    this.#clock = clock;
    this.#most = most;
    this.#failed = onFailure;
    this.book = new CallBook(clock, onFailure);
  }

  /** What is kept of a resource, by UID; also of one that went. */
  of(uid: string): ActorLog | undefined {
    return this.#logs.get(uid) ?? this.#gone.get(uid);
  }

  /** The resource of this name that went last. */
  lastGone(namespace: string, name: string): ActorLog | undefined {
    let found: ActorLog | undefined;
    for (const log of this.#gone.values()) if (log.name === name && log.namespace === namespace) found = log;
    return found;
  }

  /** Every transition that any actor made since the start. */
  edges(): Iterable<Edge> {
    return this.#routes.edges();
  }

  /** The time in slots, for {@linkcode Edge.lastMinute}. */
  get slot(): number {
    return slotOf(this.#clock);
  }

  /** Actors in each configuration. */
  configurations(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { at } of this.#logs.values()) counts[at] = (counts[at] ?? 0) + 1;
    return counts;
  }

  /** The calls of one site in the last minute. */
  tally(site: string): CallTally {
    let tally = this.#tallies.get(site);
    if (tally === undefined) this.#tallies.set(site, tally = new CallTally(this.#clock));
    return tally;
  }

  /** Tells `listener` from now on; returns what ends that. */
  listen(listener: HistoryListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Something of a resource changed beside its actor. */
  touch(uid: string): void {
    this.#guarded(() => {
      for (const listener of this.#listeners) listener.changed(uid);
    });
  }

  /** An effect of a resource begins. */
  begin(uid: string, signal: AbortSignal): void {
    const log = this.#logs.get(uid);
    const calls = this.book.begin(signal);
    if (log !== undefined) log.running = calls;
  }

  /** A call to a site's account ended. */
  cloudCall(site: string, call: CloudCall): void {
    this.#guarded(() => {
      this.tally(site).count(call.verb, call.outcome);
      this.book.cloud(call);
    });
  }

  /** A resource's actor failed: what it was about ends with that, and XState tells no inspector of it. */
  crashed(uid: string, error: unknown): void {
    this.#guarded(() => this.#crashed(uid, error));
  }

  /** The resource is gone, or nothing runs for it any more. */
  retire(uid: string): void {
    this.#guarded(() => {
      const log = this.#logs.get(uid);
      if (log !== undefined) this.#keepGone(log);
      // Also of one whose actor never came to know anything: it was a row nevertheless.
      for (const listener of this.#listeners) listener.gone(uid);
    });
  }

  /** An inspector of actors: all that is kept of their steps comes by it. */
  readonly inspect = (inspection: InspectionEvent): void => {
    try {
      this.#inspect(inspection);
    } catch (error) {
      this.#failed(error);
    }
  };

  #guarded(note: () => void): void {
    try {
      note();
    } catch (error) {
      this.#failed(error);
    }
  }

  #crashed(uid: string, error: unknown): void {
    const log = this.#logs.get(uid);
    if (log === undefined) return this.touch(uid); // in its first step; the resource is there all the same
    const { open, before: { object } } = log;
    const last = log.steps.at(-1);
    log.open = undefined;
    log.running = undefined;
    this.#push(log, {
      n: ++log.count,
      at: this.#clock.now(),
      event: eventKind(open?.event.type ?? "crash"),
      cause: { kind: "crash", message: messageKept(messageOf(error)) },
      route: open?.route ?? this.#routes.from(log.at),
      durationMs: Math.round(this.#clock.monotonic() - log.since),
      generation: object?.metadata.generation ?? 0,
      ready: last?.ready ?? "",
      synced: last?.synced ?? "",
      calls: undefined,
      repeated: 0,
      lastAt: 0,
    });
    this.touch(uid);
  }

  #keepGone(log: Draft): void {
    const { uid } = log;
    this.#logs.delete(uid);
    log.goneAt = this.#clock.now();
    log.before = NOTHING;
    this.#gone.set(uid, log);
    if (this.#gone.size > MAX_GONE) {
      for (const oldest of this.#gone.keys()) {
        this.#gone.delete(oldest);
        break;
      }
    }
    this.#limited();
  }

  #inspect(inspection: InspectionEvent): void {
    const { type } = inspection;
    if (type !== "@xstate.microstep" && type !== "@xstate.snapshot") return;
    if ((inspection.actorRef as AnyActorRef).sessionId !== inspection.rootId) return; // an effect's own
    const snapshot = inspection.snapshot as unknown as Seen;
    const { value, status, context } = snapshot;
    if (context?.knowledge === undefined) return; // it failed before it knew anything
    const { object } = context.knowledge;
    const { uid } = object.metadata;
    if (type === "@xstate.microstep") {
      const log = this.#logs.get(uid) ?? this.#begun(object);
      return this.#microstep(log, inspection.event, value, inspection._transitions);
    }
    // The last snapshot is told after those who observe the actor, who may have retired it by then.
    const retired = status === "active" ? undefined : this.#gone.get(uid);
    const log = this.#logs.get(uid) ?? retired ?? this.#begun(object);
    this.#stepped(log, inspection.event, value, context as DatabaseContext);
    if (retired !== undefined) retired.before = NOTHING;
  }

  #begun({ metadata }: ExternalDatabase): Draft {
    const { uid, namespace, name } = metadata;
    const back = this.#gone.get(uid);
    this.#gone.delete(uid);
    const log: Draft = back ?? {
      uid,
      namespace,
      name,
      steps: [],
      dropped: 0,
      at: "",
      goneAt: undefined,
      count: 0,
      since: this.#clock.monotonic(),
      before: NOTHING,
      running: undefined,
      open: undefined,
    };
    log.goneAt = undefined;
    this.#logs.set(uid, log);
    this.#limited();
    return log;
  }

  #limited(): void {
    const fair = Math.floor(this.#most / Math.max(1, this.#logs.size));
    const limit = Math.max(MIN_STEPS, Math.min(MAX_STEPS, fair));
    const less = limit < this.#limit;
    this.#limit = limit;
    // Also those that make no step for long; as the limit falls by whole steps, a fleet that grows pays that some times.
    if (less) { for (const log of this.#logs.values()) log.dropped += letGo(log.steps, limit); }
  }

  #microstep(
    log: Draft,
    event: Open["event"],
    value: unknown,
    transitions: readonly { readonly target?: unknown }[],
  ): void {
    // One that was left open is of an actor that failed in its first step.
    const open = log.open = log.open?.event === event ? log.open : this.#opened(log, event);
    const path = pathOf(value);
    const moves = transitions.some((t) => t.target !== undefined);
    if (!moves && path === open.route.to) return;
    open.left = true;
    open.route = this.#routes.step(open.route, path, this.slot);
  }

  #opened(log: Draft, event: Open["event"]): Open {
    const starts = event.type === "xstate.init";
    const from = starts ? "" : log.at;
    const begun = this.#routes.from(from);
    return {
      event,
      calls: starts ? undefined : log.running,
      from,
      // What is told first of a new actor is where the first decision led.
      route: starts ? this.#routes.step(begun, INITIAL, this.slot) : begun,
      left: starts,
    };
  }

  /** The steps from one rest, or effect, to the next are over. */
  #stepped(
    log: Draft,
    event: Open["event"],
    value: unknown,
    { knowledge, decision }: DatabaseContext,
  ): void {
    const open = log.open ?? this.#opened(log, event);
    log.open = undefined;
    const { object, observation } = knowledge;
    const now = this.#clock.monotonic();
    const known = log.before.object;
    const echo = open.event.type === "object.changed" &&
      known?.metadata.resourceVersion === object.metadata.resourceVersion;
    const cause = causeOf(open.event, open.from, log.before, knowledge);
    log.before = {
      object,
      database: observation?.kind === "present" ? observation.database : log.before.database,
    };
    log.at = pathOf(value);
    const moved = open.route.to !== open.from;
    const calls = open.left ? open.calls : undefined;
    // An effect that was begun meanwhile has calls of its own.
    if (open.left && log.running === open.calls) log.running = undefined;
    const ready = decision.ready.reason;
    const synced = decision.synced.reason;
    const last = log.steps.at(-1);
    // Nothing was decided otherwise: what was known already, or a wait that led to the rest of it.
    const idle = !moved && calls === undefined && last?.ready === ready && last.synced === synced &&
      (echo || cause.kind === "world" || cause.kind === "timer" || cause.kind === "other");
    if (!idle) {
      this.#push(log, {
        n: ++log.count,
        at: this.#clock.now(),
        event: eventKind(open.event.type),
        cause,
        route: open.route,
        durationMs: Math.round(now - log.since),
        generation: object.metadata.generation,
        ready,
        synced,
        calls: calls === undefined || calls.length === 0 ? undefined : calls.slice(), // without room to grow
        repeated: 0,
        lastAt: 0,
      });
    }
    if (moved) log.since = now;
    this.touch(log.uid);
  }

  #push(log: Draft, step: Step): void {
    log.dropped += keepStep(log.steps, step, this.#limit);
  }
}
