/**
 * Keeps one CR's actor alive: starts it, restarts it from cluster state after a crash (F4), puts it to sleep when it
 * has long been idle and wakes it (rule 24), and ends it.
 *
 * @module
 */
import { type ActorRefFrom, createActor, type InspectionEvent, type SnapshotFrom } from "xstate";
import { ANNOTATION } from "../api/constants.ts";
import { isOlder, isOlderVersion, newerOf } from "../api/resource_version.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import { backoffMs } from "../core/backoff.ts";
import type { SecretSeen } from "../binding/facts.ts";
import type { Clock, TimerId } from "../core/clock.ts";
import { equal } from "../core/equal.ts";
import type { Random } from "../core/random.ts";
import type { DatabaseInput, World } from "../statechart/context.ts";
import { mustReport } from "../statechart/decide.ts";
import type { DatabaseEvent } from "../statechart/events.ts";
import { specOf } from "../statechart/facts.ts";
import { hasFinalizer } from "../statechart/resource.ts";
import type { DatabaseMachine } from "../statechart/machine.ts";
import type { TopState } from "../statechart/vocabulary.ts";

/** A machine's snapshot. */
export type DatabaseSnapshot = SnapshotFrom<DatabaseMachine>;

/** One transition between top-level states. */
export interface Transition {
  readonly object: ExternalDatabase;
  readonly from: TopState | undefined;
  readonly to: TopState | undefined;
  readonly event: string;
  readonly reason: string;
  /** How long the actor was in `from`, in milliseconds. */
  readonly durationMs: number;
}

/** What a {@linkcode Keeper} works with; shared by all. */
export interface KeeperEnv {
  readonly machine: DatabaseMachine;
  readonly world: World;
  readonly clock: Clock;
  readonly random: Random;
  readonly onTransition: (transition: Transition) => void;
  /** Told of all that XState tells an inspector of the actors. */
  readonly inspect?: ((inspection: InspectionEvent) => void) | undefined;
  /** The actor crashed for the `crashes`th time in a row. */
  readonly onCrash: (keeper: Keeper, error: unknown, crashes: number) => void;
  /** A change of the CR was judged by the cached observation alone. */
  readonly onCacheHit: () => void;
  /** One more (1) or one less (−1) waits for its settle window. */
  readonly onSettling: (keeper: Keeper, delta: 1 | -1) => void;
  /** The actor reached its final state. */
  readonly onFinal: (keeper: Keeper, snapshot: DatabaseSnapshot) => void;
}

/** Waits between restarts of a crashed actor. */
const RESTART = { baseMs: 1_000, capMs: 60_000 };
/** An actor that lived this long, in milliseconds, has no crash behind it any more. */
const HEALTHY_MS = 300_000;

type Kept = NonNullable<DatabaseInput["kept"]>;

/** One CR's actor. */
export class Keeper {
  #object: ExternalDatabase;
  #actor: ActorRefFrom<DatabaseMachine> | undefined;
  /** What a sleeping actor keeps. */
  #kept: Kept | undefined;
  /** The connection Secret that a sleeping actor knew. */
  #keptSecret: SecretSeen | undefined;
  /** What a crashed actor leaves to the next. */
  #left: Kept | undefined;
  #state: TopState | undefined;
  #since: number;
  #idleSince: number | undefined;
  #crashes = 0;
  #startedAt = 0;
  #restart: TimerId | undefined;
  #finished = false;
  #lastEvent = "start";
  #settling = false;

  /** `back`: the CR was gone, or is older than one that was known, so that its past is not what it seems. */
  constructor(private readonly env: KeeperEnv, object: ExternalDatabase, back = false) {
    this.#object = object;
    this.#since = env.clock.monotonic();
    if (back) this.#left = this.#restored();
  }

  /** The newest copy of the CR. */
  get object(): ExternalDatabase {
    return this.#object;
  }
  /** The newest copy of the CR that the actor holds: its own writes may be newer than what a watch has told. */
  get newest(): ExternalDatabase {
    return newerOf(this.#object, this.snapshot?.context?.knowledge.object);
  }
  /** The actor's snapshot, while one runs. */
  get snapshot(): DatabaseSnapshot | undefined {
    return this.#actor?.getSnapshot();
  }
  /** The top-level state last seen. */
  get state(): TopState | undefined {
    return this.#state;
  }
  /** The actor sleeps. */
  get hibernating(): boolean {
    return this.#kept !== undefined;
  }
  /** The connection Secret as the actor knows it, or knew it when it fell asleep. */
  get secret(): SecretSeen | undefined {
    return this.snapshot?.context?.knowledge.secret ?? this.#keptSecret;
  }
  /** The final state was reached: the CR may still be there for others' finalizers. */
  get finished(): boolean {
    return this.#finished;
  }
  /** A mutating call, or the record of one, is under way (rule 14). */
  get busy(): boolean {
    const snapshot = this.snapshot;
    if (snapshot === undefined || snapshot.status !== "active") return false;
    return snapshot.hasTag("mutating") || snapshot.matches({ Creating: "record" }) ||
      snapshot.matches({ Deleting: "record" });
  }

  /** Starts the actor. */
  start(): void {
    if (this.#finished || this.#actor !== undefined) return;
    const { clock, machine, world, inspect } = this.env;
    const kept = this.#kept ?? this.#left;
    this.#kept = undefined;
    this.#keptSecret = undefined;
    this.#left = undefined;
    const actor = createActor(machine, {
      input: { object: this.#object, world, ...(kept === undefined ? {} : { kept }) },
      clock,
      ...(inspect === undefined ? {} : { inspect }),
    });
    this.#actor = actor;
    this.#startedAt = clock.monotonic();
    actor.subscribe({
      next: (snapshot) => this.#follow(actor, snapshot),
      complete: () => this.#ended(actor),
      // Without an error observer a throw in a guard would be an unhandled error of the process (F4).
      error: (error) => this.#crashed(actor, error),
    });
    actor.start();
  }

  /** Tells the actor of a newer copy of the CR, or of one that stands for a newer one that is `lost` (rewind.ts). */
  upsert(object: ExternalDatabase, lost?: string): void {
    if (lost !== undefined && !isOlderVersion(this.newest.metadata.resourceVersion, lost)) {
      return this.#rewind(object, lost);
    }
    if (isOlder(object, this.#object)) return;
    // Only a restored cluster brings back what was let go: nobody can give a deleted object a finalizer.
    const { deletionTimestamp, resourceVersion } = object.metadata;
    if (this.#finished && (hasFinalizer(object) || deletionTimestamp === undefined)) {
      return this.#rewind(object, resourceVersion);
    }
    const before = this.#object;
    this.#object = object;
    if (this.#finished) return;
    if (this.#kept !== undefined && !concerns(before, object)) return;
    this.send({ type: "object.changed", object });
  }

  /** Sends an event; wakes a sleeping actor. One that waits for its restart starts from the CR anyway. */
  send(event: DatabaseEvent): void {
    if (this.#finished || this.#restart !== undefined) return;
    if (this.#actor === undefined) this.start();
    this.#actor?.send(event);
  }

  /** The list showed the database: news for the actor, or nothing new to a sleeping one. */
  listed(event: DatabaseEvent & { readonly type: "external.listed" }): void {
    const seen = this.#kept?.observation;
    if (seen?.kind === "present" && event.duplicates.length === 0 && equal(seen.database, event.database)) {
      this.#kept = {
        ...this.#kept,
        observation: { ...seen, sentAt: event.sentAt },
        lastReadAt: event.sentAt,
      };
      return;
    }
    this.send(event);
  }

  /** Puts the actor to sleep if it has been idle for `ms`, with nothing pending (rule 24). */
  hibernate(ms: number): boolean {
    const snapshot = this.snapshot;
    if (this.#actor === undefined || snapshot === undefined || this.#idleSince === undefined) return false;
    if (this.env.clock.monotonic() - this.#idleSince < ms) return false;
    const { knowledge: k, decision } = snapshot.context;
    const ownTimer = specOf(this.#object).pollInterval !== undefined;
    const now = this.env.clock.monotonic();
    const pending = Object.values(k.failures).some((f) => f.until > now) || k.unreadable !== undefined ||
      k.duplicates.length > 0 ||
      k.modifyUnknownSince !== undefined || decision.synced.status !== "True" ||
      decision.ready.status !== "True" || ownTimer ||
      mustReport(k, decision); // a write that failed waits for the rest, which is longer than its back-off
    if (pending || k.observation === undefined) return false;
    const {
      bornHere,
      named,
      unknownSince,
      unknownUnder,
      account,
      observation,
      mutatedAt,
      lastReadAt,
      secret,
    } = k;
    this.#object = this.newest;
    this.#stopActor();
    this.#kept = { bornHere, named, unknownSince, unknownUnder, account, observation, mutatedAt, lastReadAt };
    this.#keptSecret = secret;
    return true;
  }

  /** Ends the actor and forgets it. */
  stop(): void {
    if (this.#restart !== undefined) this.env.clock.clearTimeout(this.#restart);
    this.#restart = undefined;
    this.#stopActor();
    this.#kept = undefined;
    this.#moved(undefined, "stop");
    this.#finished = true;
  }

  /** The cluster went back in time: what this process did may be forgotten there. */
  #rewind(object: ExternalDatabase, lost: string): void {
    this.#object = object;
    if (this.#actor !== undefined) return this.#actor.send({ type: "object.changed", object, rewound: lost });
    this.#left = { ...this.#kept, ...this.#left, ...this.#restored() };
    this.#kept = undefined;
    if (this.#restart !== undefined) return;
    this.#finished = false; // what was done with once may be there again
    this.start();
  }

  /** What an actor starts with that cannot know what was done for its CR: the settle window begins anew (rule 5). */
  #unsure(): Kept {
    return { bornHere: false, unknownSince: this.env.clock.monotonic() };
  }

  /** The same of a cluster that went back in time: what its Secret holds may be of before the last password (K1). */
  #restored(): Kept {
    return { ...this.#unsure(), passwordUnsure: true };
  }

  #settles(settling: boolean): void {
    if (settling === this.#settling) return;
    this.#settling = settling;
    this.env.onSettling(this, settling ? 1 : -1);
  }

  #stopActor(): void {
    this.#settles(false);
    if (this.snapshot?.status === "active") this.#lastEvent = "xstate.stop";
    this.#actor?.stop();
    this.#actor = undefined;
    this.#idleSince = undefined;
  }

  /** The actor took in an event. */
  #follow(actor: ActorRefFrom<DatabaseMachine>, snapshot: DatabaseSnapshot): void {
    if (this.#actor !== actor) return;
    const { decision, decidedOn, knowledge } = snapshot.context;
    this.#lastEvent = decidedOn;
    this.#settles(snapshot.status === "active" && decision.settling === true);
    const judged = decidedOn === "object.changed" && snapshot.hasTag("rest");
    if (judged && knowledge.observation?.kind === "present") this.env.onCacheHit();
    const idle = snapshot.status === "active" && snapshot.matches({ Available: "idle" });
    this.#idleSince = idle ? this.#idleSince ?? this.env.clock.monotonic() : undefined;
    const value = snapshot.value;
    const top = (typeof value === "string" ? value : Object.keys(value)[0]) as TopState;
    this.#moved(top, decision.synced.reason);
  }

  /** The actor has ended: by itself, in its final state, or as it was told. */
  #ended(actor: ActorRefFrom<DatabaseMachine>): void {
    const snapshot = actor.getSnapshot();
    if (this.#actor !== actor || snapshot.status !== "done") return;
    this.#finished = true;
    this.#object = this.newest;
    this.#stopActor();
    this.env.onFinal(this, snapshot);
  }

  #moved(to: TopState | undefined, reason: string): void {
    const from = this.#state;
    if (from === to) return;
    const now = this.env.clock.monotonic();
    this.#state = to;
    this.env.onTransition({
      object: this.#object,
      from,
      to,
      event: this.#lastEvent,
      reason,
      durationMs: Math.round(now - this.#since),
    });
    this.#since = now;
  }

  #crashed(actor: ActorRefFrom<DatabaseMachine>, error: unknown): void {
    if (this.#actor !== actor || this.#finished) return;
    const { clock, random } = this.env;
    // One that crashes in its first step knows nothing yet.
    const context = actor.getSnapshot()?.context as Partial<DatabaseSnapshot["context"]> | undefined;
    this.#object = newerOf(this.#object, context?.knowledge?.object);
    // A create may be under way, or its answer be lost with the actor; where its database is, is known (A2).
    const { account, seenUnder, unknownUnder, passwordUnsure } = context?.knowledge ?? {};
    this.#left = { ...this.#unsure(), account, seenUnder, unknownUnder, passwordUnsure };
    this.#stopActor();
    if (clock.monotonic() - this.#startedAt > HEALTHY_MS) this.#crashes = 0;
    this.#crashes++;
    this.#restart = clock.setTimeout(() => {
      this.#restart = undefined;
      this.start();
    }, backoffMs(RESTART, this.#crashes - 1, random));
    this.env.onCrash(this, error, this.#crashes);
  }
}

/** Whether a change of the CR can matter to an idle actor: labels and foreign annotations cannot. */
function concerns(before: ExternalDatabase, after: ExternalDatabase): boolean {
  return before.metadata.generation !== after.metadata.generation ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    hasFinalizer(before) !== hasFinalizer(after) ||
    Object.values(ANNOTATION).some((a) =>
      before.metadata.annotations?.[a] !== after.metadata.annotations?.[a]
    ) ||
    !equal(before.status, after.status);
}
