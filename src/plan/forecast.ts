/**
 * Foresees what the operator would do for resources: the same decisions, and the same effects, on ports that show what is
 * and lay over it what was foreseen.
 *
 * Assumed: an operator that has run for a while, so that no settle window is waited for, and one whose calls are answered.
 * What takes time at the provider is not looked beyond: a database that would be made is foreseen being provisioned.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { noMetrics } from "../core/metrics.ts";
import { systemEntropy } from "../core/passwords.ts";
import type { Random } from "../core/random.ts";
import { isExpected } from "../operator/absences.ts";
import { classedCluster } from "../operator/classed_cluster.ts";
import { CrdWord } from "../operator/crd_word.ts";
import type { EffectEnv } from "../operator/effects/env.ts";
import { EFFECT_FUNCTIONS } from "../operator/effects/mod.ts";
import { ProviderError } from "../providers/port.ts";
import { type ClassView, withClass } from "../statechart/class_view.ts";
import { decide } from "../statechart/decide.ts";
import { type Decision, isEffect } from "../statechart/decision.ts";
import { isObserveOnly, policiesOf } from "../statechart/facts.ts";
import { initialKnowledge, type Knowledge } from "../statechart/knowledge.ts";
import type { Learned } from "../statechart/learned.ts";
import { fail, learn, succeed } from "../statechart/learn.ts";
import { StepError } from "../statechart/step_error.ts";
import type { View } from "../statechart/view.ts";
import type { Effect } from "../statechart/vocabulary.ts";
import type { Account, Accounts } from "./accounts.ts";
import type { ForecastCluster } from "./forecast_cluster.ts";
import type { PlannedAction, PlannedResource } from "./types.ts";

/** What a {@linkcode Forecast} takes. */
export interface ForecastOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly cluster: ForecastCluster;
  readonly accounts: Accounts;
  readonly clusterId: string;
  readonly pollIntervalMs: number;
  readonly signal: AbortSignal;
}

/** A resource whose future is asked for. */
export interface Asked {
  readonly object: ExternalDatabase;
  /** See {@linkcode PlannedResource.from}. */
  readonly from: string;
  /** It is in the cluster. */
  readonly live: boolean;
}

/** Steps of one resource at most: a whole life takes fewer. */
const MAX_STEPS = 60;
/** A try that failed is not repeated within the plan. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;
/** For how long the account is taken to have said its name before now, in milliseconds. */
const WORDS_MS = 60_000;

/** Reasons that tell of what is under way, and ask nothing of anybody. */
const UNDER_WAY: ReadonlySet<string> = new Set([
  "Pending",
  "Creating",
  "Updating",
  "Deleting",
  "SecretPending",
]);

interface Place {
  readonly account: Account;
  readonly class: ClassView | undefined;
}

/** Foresees. */
export class Forecast {
  readonly #o: ForecastOptions;
  #actions: PlannedAction[] = [];
  #why: (action: PlannedAction) => string = () => "";

  constructor(options: ForecastOptions) {
    this.#o = options;
  }

  /** Told by the ports of what would be done. */
  readonly tell = (action: PlannedAction): void => {
    this.#actions.push({ ...action, why: this.#why(action) });
  };

  /** Plans all of them, each in the light of those before it. */
  async plan(asked: readonly Asked[]): Promise<PlannedResource[]> {
    const places = new Map<Asked, Place>();
    const looks = new Map<Asked, Learned>();
    for (const each of asked) {
      this.#o.cluster.put(each.object);
      const place = await this.#o.accounts.of(each.object);
      places.set(each, place);
      if (isExpected(each.object)) place.account.known++;
    }
    // All are looked at before anything is decided: many that are absent together decide nothing (rule 12).
    for (const each of asked) looks.set(each, await this.#look(each.object, places.get(each) as Place));
    const planned: PlannedResource[] = [];
    for (const each of asked) {
      planned.push(await this.#one(each, places.get(each) as Place, looks.get(each) ?? {}));
    }
    return planned;
  }

  /** What the operator's list would have told of the recorded database. */
  async #look(object: ExternalDatabase, { account }: Place): Promise<Learned> {
    const { metadata, status } = object;
    const id = status?.providerId;
    if (id === undefined || account.info === undefined) return {};
    const { clock, signal } = this.#o;
    const sentAt = clock.monotonic();
    try {
      const { value, sentAt } = await account.gateway.get(id, "urgent", signal);
      return { observation: { kind: "present", database: value, sentAt } };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.errorClass !== "absent") {
        return { unreadable: { errorClass: error.errorClass, message: error.message } };
      }
      const elsewhere = status?.account !== undefined && account.info.account !== undefined &&
        status.account !== account.info.account;
      if (!elsewhere && !isObserveOnly(object)) account.absences.absent(metadata.uid);
      return { observation: { kind: "absent", id, sentAt } };
    }
  }

  async #one(asked: Asked, place: Place, look: Learned): Promise<PlannedResource> {
    const { clock } = this.#o;
    const object = withClass(asked.object, place.class === undefined ? {} : { class: place.class });
    const env = this.#env(place, () => k.object);
    let k: Knowledge = learn(initialKnowledge(object, clock.monotonic()), look, clock.monotonic());
    this.#actions = [];
    let decision = decide(k, this.#view(k.object, place));
    for (let n = 0; isEffect(decision.step) && n < MAX_STEPS; n++) {
      const { step } = decision;
      this.#why = whyOf(asked, k, decision);
      k = await this.#step(env, k, decision, step);
      decision = decide(k, this.#view(k.object, place));
    }
    return resourceOf(asked, this.#actions, decision, this.#o.accounts.classNameOf(asked.object));
  }

  async #step(env: EffectEnv, k: Knowledge, decision: Decision, step: Effect): Promise<Knowledge> {
    const { clock, random, signal } = this.#o;
    const world = { view: (object: ExternalDatabase) => env.view(object.metadata.uid), random };
    try {
      const learned = await EFFECT_FUNCTIONS[step](
        env,
        { knowledge: k, decision, world, latest: () => k },
        signal,
      );
      return succeed(learn(k, learned, clock.monotonic()), step);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StepError)) throw error;
      const { errorClass, code, message } = error;
      const failure = { effect: step, state: decision.state, errorClass, code, message, delayMs: NEVER_MS };
      return fail(learn(k, error.learned, clock.monotonic()), failure, clock.monotonic());
    }
  }

  #env(place: Place, object: () => ExternalDatabase): EffectEnv {
    const { clock, log, cluster, clusterId } = this.#o;
    const { account } = place;
    return {
      cluster: classedCluster(cluster.cluster, { view: () => place.class }),
      secrets: cluster.secrets,
      crd: new CrdWord(cluster.cluster, clock),
      entropy: systemEntropy,
      recorder: { record: () => {} },
      clock,
      log,
      metrics: noMetrics,
      clusterId: () => clusterId,
      requestRelist: () => {},
      classOf: () => place.class?.name ?? "",
      gateway: account.gateway,
      view: () => this.#view(object(), place),
      requestRound: () => {},
      requestAccount: () => {},
      accountHeard: () => Promise.resolve(),
      noteAbsent: (uid) => account.absences.absent(uid),
      notePresent: (uid) => account.absences.present(uid),
    };
  }

  #view({ metadata }: ExternalDatabase, place: Place): View {
    const { clock, clusterId, pollIntervalMs } = this.#o;
    const { account: { info, error, absences, gateway } } = place;
    const now = clock.monotonic();
    return {
      now,
      wallNow: clock.now(),
      provider: info && {
        account: info.account,
        clientTokens: info.clientTokens,
        readLagMs: info.readLagSeconds * 1_000,
        effectBoundMs: info.effectBoundSeconds * 1_000,
        name: gateway.name,
        passwords: info.passwords,
        snapshots: info.snapshots,
        deletionProtection: info.deletionProtection,
      },
      // It is the one account all along: the plan reads within moments.
      accountAt: now,
      accountWords: Array.from({ length: WORDS_MS / 1_000 }, (_, n) => now - WORDS_MS + 1_000 * n),
      accountSince: Number.NEGATIVE_INFINITY,
      providerError: error?.message,
      providerErrorClass: error?.errorClass,
      settleSince: Number.NEGATIVE_INFINITY,
      clusterId,
      pollMs: pollIntervalMs,
      cacheTtlMs: Number.MAX_SAFE_INTEGER,
      crowded: false,
      massAbsent: absences.isHeld(metadata.uid),
      massAbsence: absences.active,
      massAbsenceOverAt: Number.NEGATIVE_INFINITY,
      roundAt: now,
      ...(place.class === undefined ? {} : { class: place.class }),
    };
  }
}

/** Why a step does what it does, for people. */
function whyOf(
  { live, object: asked }: Asked,
  k: Knowledge,
  decision: Decision,
): (action: PlannedAction) => string {
  const { object } = k;
  const { metadata, status } = object;
  const edited = status?.observedGeneration !== metadata.generation;
  return (action) => {
    switch (action.action) {
      case "create": {
        const lost = asked.status?.providerId;
        if (lost === undefined) {
          return live ? "no database carries the resource's UID" : "the resource is new";
        }
        return `the database ${JSON.stringify(lost)} is gone, or failed before it was ever available`;
      }
      case "adopt":
        return "spec.providerId names it";
      case "modify":
        return edited ? "the spec was changed" : "the database has drifted from the spec";
      case "delete":
        if (metadata.deletionTimestamp === undefined) return "it failed before it was ever available";
        return action.id === status?.providerId
          ? `the resource is being deleted, and deletionPolicy is ${policiesOf(object).deletion}`
          : "it carries the resource's UID too";
      case "retain":
        return k.crdTerminating
          ? "the CustomResourceDefinition is being deleted"
          : "the resource is being deleted, and deletionPolicy is Retain";
      case "secret":
        return "it is to say how to log in";
      case "removeSecret":
        return "no connection Secret of that name is asked for any more";
      case "password":
        return "the connection Secret holds one that the database does not have yet";
      case "release":
        return RELEASE[decision.cause ?? "deleted"];
    }
  };
}

const RELEASE: Readonly<Record<NonNullable<Decision["cause"]>, string>> = {
  deleted: "its database is gone",
  neverCreated: "no database was ever created",
  retain: "its database is kept",
  abandon: "the abandon annotation asks for it",
  crdDeleted: "the CustomResourceDefinition is being deleted",
  observeOnly: "its database was only observed",
};

function resourceOf(
  { object: { metadata }, from, live }: Asked,
  actions: readonly PlannedAction[],
  { synced }: Decision,
  className: string,
): PlannedResource {
  const quiet = synced.status === "True" || UNDER_WAY.has(synced.reason);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: live ? metadata.uid : null,
    class: className === "" ? null : className,
    from,
    outcome: actions.length > 0 ? "change" : quiet ? "nothing" : "cannot",
    actions: once(actions),
    reason: synced.reason,
    message: synced.message,
  };
}

/** A Secret that would be written twice on the way is written. */
function once(actions: readonly PlannedAction[]): PlannedAction[] {
  return actions.filter((action, n) =>
    action.action !== "secret" ||
    !actions.slice(0, n).some((a) => a.action === "secret" && a.name === action.name)
  );
}
