/**
 * One effect alone, in a world that answers as a test says: what it sent, what it wrote, and what it learned.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { ExternalDatabase, ObjectKey } from "../../src/api/schema.ts";
import type { LogFields, LogLevel } from "../../src/core/log.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import { type EventRecord, type JsonPatchOperation, KubeError } from "../../src/kube/port.ts";
import { CrdWord } from "../../src/operator/crd_word.ts";
import type { EffectEnv, EffectFunction } from "../../src/operator/effects/env.ts";
import { ProviderError } from "../../src/providers/port.ts";
import type { EffectInput, World } from "../../src/statechart/context.ts";
import type { Decision } from "../../src/statechart/decision.ts";
import type { ExternalState, Knowledge } from "../../src/statechart/knowledge.ts";
import type { Learned } from "../../src/statechart/learned.ts";
import { StepError } from "../../src/statechart/step_error.ts";
import type { View } from "../../src/statechart/view.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { db, NOW, view } from "../statechart/support.ts";

/** What the world answers while the effect runs. */
export interface Answers {
  /** The quorum read of the CR; what is known, if absent. */
  readonly read?: ExternalDatabase | KubeError;
  /** Every later one of them; as the first, if absent. */
  readonly readAgain?: ExternalDatabase | KubeError;
  /** A read of a CR of another name; none, if absent. */
  readonly other?: ExternalDatabase | KubeError;
  /** What a patch of the CR, or of its status, is answered with; the CR as it was read, if absent. */
  readonly patched?: ExternalDatabase | KubeError;
  /** The read by id; the database in step, if absent. */
  readonly database?: ExternalState | "absent" | Error;
  /** What the second read by id shows, where it differs from the first. */
  readonly then?: ExternalState | "absent" | Error;
  readonly found?: readonly ExternalState[];
  /** What a mutation is refused with, or whether, by what it asks for. */
  readonly refusal?: Error | ((request: readonly unknown[]) => Error | undefined);
  /** What a lookup fails with. */
  readonly unlooked?: Error;
  /** What a mutation is answered with, where it is not refused. */
  readonly answer?: ExternalState;
  /** How long a mutation waits for its turn, in milliseconds. */
  readonly queuedMs?: number;
  /** How long a mutation waits once it is sent, in milliseconds. */
  readonly slowMs?: number;
  readonly crd?: "established" | "terminating" | "unreadable";
  readonly view?: Partial<View> | (() => Partial<View>);
  /** The account does not say its name, or this comes instead. */
  readonly unheard?: true | Error;
  /** What the actor has learned by the time the mutation is sent, or now. */
  readonly latest?: Knowledge | (() => Knowledge);
  /** Parts of the decision that the effect carries out. */
  readonly decision?: Partial<Decision>;
}

/** What one effect did. */
export interface Run {
  /** Mutations of the cloud. */
  readonly sent: readonly string[];
  /** What the mutations asked for: all but lane, signal and guard. */
  readonly requests: readonly unknown[];
  /** What was asked of the cluster and of the cloud, in order. */
  readonly asked: readonly string[];
  readonly patches: readonly (readonly JsonPatchOperation[])[];
  readonly learned: Learned;
}

/** A world for effects that share a gateway; each run gives new answers. */
export class EffectRig {
  readonly clock = new ManualClock();
  readonly events: EventRecord[] = [];
  readonly lines: { readonly level: LogLevel; readonly message: string; readonly fields: LogFields }[] = [];
  /** What was asked of observer, account and supervisor, as words. */
  readonly told: string[] = [];
  /** The lanes that the cloud was asked in. */
  readonly lanes: string[] = [];
  readonly env: EffectEnv;
  #answers: Answers = {};
  #known: ExternalDatabase | undefined;
  #reads = 0;
  #objectReads = 0;
  #sent: string[] = [];
  #asked: string[] = [];
  #requests: unknown[] = [];
  /** Calls that no signal can end (W5). */
  readonly #deaf: string[] = [];
  #patches: (readonly JsonPatchOperation[])[] = [];

  constructor() {
    const { clock } = this;
    const answer = <T>(value: T) => Promise.resolve({ value, sentAt: NOW, answeredAt: NOW });
    const heeds = (signal: unknown, call: string) => {
      if (!(signal instanceof AbortSignal)) this.#deaf.push(call);
    };
    const mutation =
      (verb: string, prepare = () => Promise.resolve()) => async (...args: readonly unknown[]) => {
        heeds(args.at(-2), verb);
        await clock.advance(this.#answers.queuedMs ?? 0);
        await prepare();
        (args.at(-1) as () => void)();
        this.#sent.push(verb);
        const request = args.slice(0, -3);
        this.#requests.push(request);
        await clock.advance(this.#answers.slowMs ?? 0);
        const { refusal: refused } = this.#answers;
        const refusal = typeof refused === "function" ? refused(request) : refused;
        return await (refusal === undefined ? answer(this.#answers.answer ?? db()) : Promise.reject(refusal));
      };
    const crdState = () => {
      const { crd = "established" } = this.#answers;
      return crd === "unreadable"
        ? Promise.reject(new KubeError("network", "no answer"))
        : Promise.resolve(crd);
    };
    const patch = (
      _: unknown,
      operations: readonly JsonPatchOperation[],
      { signal }: { readonly signal?: AbortSignal },
    ) => {
      heeds(signal, "patch");
      this.#patches.push(operations);
      const { read, patched = read } = this.#answers;
      return this.#object(patched);
    };
    this.env = {
      crd: new CrdWord({ crdState }, clock),
      cluster: {
        get: ({ namespace, name }: ObjectKey, { signal }: { readonly signal?: AbortSignal }) => {
          heeds(signal, "read");
          const own = name === this.#known?.metadata.name && namespace === this.#known.metadata.namespace;
          this.#asked.push(own ? "resource" : `${namespace}/${name}`);
          const { read, readAgain = read, other = new KubeError("notFound", "no such resource") } =
            this.#answers;
          return this.#object(own ? this.#objectReads++ === 0 ? read : readAgain : other);
        },
        patch,
        patchStatus: patch,
      },
      gateway: {
        get: (_id: string, lane: string, signal: AbortSignal) => {
          this.lanes.push(lane);
          heeds(signal, "get");
          this.#asked.push("database");
          const { database = db(), then = database } = this.#answers;
          const shown = this.#reads++ === 0 ? database : then;
          if (shown instanceof Error) return Promise.reject(shown);
          return shown === "absent" ? Promise.reject(new ProviderError("absent", "gone")) : answer(shown);
        },
        lookup: (wanted: Readonly<Record<string, string>>, lane: string, signal: AbortSignal) => {
          assertEquals(Object.entries(wanted), [[TAG.uid, this.#known?.metadata.uid]], "S3: by UID");
          this.lanes.push(lane);
          heeds(signal, "lookup");
          this.#asked.push("lookup");
          const { found = [], unlooked } = this.#answers;
          return unlooked === undefined ? answer(found) : Promise.reject(unlooked);
        },
        create: (...args: readonly unknown[]) =>
          mutation("create", args[4] as () => Promise<void>)(...args.slice(0, 4)),
        modify: (...args: readonly unknown[]) =>
          mutation("modify", args[5] as (() => Promise<void>) | undefined)(...args.slice(0, 5)),
        delete: (...args: readonly unknown[]) =>
          mutation("delete", args[4] as () => Promise<void>)(...args.slice(0, 4)), // before the final snapshot
      },
      classOf: () => "",
      recorder: { record: (event: EventRecord) => void this.events.push(event) },
      clock,
      log: {
        log: (level: LogLevel, message: string, fields: LogFields = {}) =>
          void this.lines.push({ level, message, fields }),
      },
      metrics: { ...noMetrics, cache: (hit: boolean) => void this.told.push(`cache ${hit}`) },
      clusterId: () => "cluster-1",
      view: () => {
        const { view: change } = this.#answers;
        return view(typeof change === "function" ? change() : change);
      },
      requestRound: () => void this.told.push("round"),
      requestRelist: () => void this.told.push("relist"),
      requestAccount: () => void this.told.push("account"),
      accountHeard: (since: number) => {
        this.told.push(`heard ${since}`);
        const { unheard } = this.#answers;
        if (unheard instanceof Error) return Promise.reject(unheard);
        return unheard ? new Promise(() => {}) : Promise.resolve();
      },
      noteAbsent: (uid: string) => void this.told.push(`absent ${uid}`),
      notePresent: (uid: string) => void this.told.push(`present ${uid}`),
    } as unknown as EffectEnv;
  }

  /** Mutations of the cloud that the last effect sent, also where it failed. */
  get sent(): readonly string[] {
    return this.#sent;
  }

  /** Runs an effect. */
  async run(effect: EffectFunction, knowledge: Knowledge, answers: Answers = {}): Promise<Run> {
    [this.#answers, this.#known, this.#reads, this.#objectReads] = [answers, knowledge.object, 0, 0];
    [this.#sent, this.#asked, this.#patches, this.#requests] = [[], [], [], []];
    const verdict = { status: "False", reason: "Creating", message: "" } as const;
    const decision = {
      ...{ state: "Creating", step: "create", ready: verdict, synced: verdict },
      ...answers.decision,
    } as Decision;
    const { latest: learnedSince } = answers;
    const latest = () => typeof learnedSince === "function" ? learnedSince() : learnedSince ?? knowledge;
    const world = { view: () => this.env.view(knowledge.object.metadata.uid), random: seededRandom(1) };
    const input: EffectInput & { readonly world: World } = { knowledge, decision, latest, world };
    const learned = await effect(this.env, input, new AbortController().signal)
      .finally(() => assertEquals(this.#deaf, [], "W5: calls without a signal"));
    return {
      ...{ sent: this.#sent, asked: this.#asked, requests: this.#requests, patches: this.#patches },
      learned,
    };
  }

  /** Runs an effect that fails; what it failed with. */
  async failing(effect: EffectFunction, knowledge: Knowledge, answers: Answers = {}): Promise<StepError> {
    try {
      await this.run(effect, knowledge, answers);
    } catch (error) {
      if (error instanceof StepError) return error;
      throw error;
    }
    throw new Error("The effect did not fail");
  }

  #object(given: ExternalDatabase | KubeError | undefined): Promise<ExternalDatabase> {
    if (given instanceof KubeError) return Promise.reject(given);
    return Promise.resolve(given ?? this.#known as ExternalDatabase);
  }
}

/** Runs an effect in a world of its own. */
export function run(effect: EffectFunction, knowledge: Knowledge, answers: Answers = {}): Promise<Run> {
  return new EffectRig().run(effect, knowledge, answers);
}

/** Runs an effect that fails in a world of its own; what it failed with. */
export function failing(
  effect: EffectFunction,
  knowledge: Knowledge,
  answers: Answers = {},
): Promise<StepError> {
  return new EffectRig().failing(effect, knowledge, answers);
}
