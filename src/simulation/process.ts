/**
 * One process of the operator in a simulated world: the whole, unchanged operator over gated ports, so that it can die
 * before, during and after every call, freeze and wake, lose its lease, or end in order.
 *
 * @module
 */
import { newerOf } from "../api/resource_version.ts";
import { type ExternalDatabase, keyText, type ObjectKey } from "../api/schema.ts";
import type { Logger } from "../core/log.ts";
import { noMetrics } from "../core/metrics.ts";
import type { LeasePort } from "../kube/lease_port.ts";
import {
  type Cluster,
  type EventRecord,
  type JsonPatchOperation,
  KubeError,
  type RequestOptions,
  type Source,
  UNANSWERED,
  type Watched,
  type WatchEvent,
} from "../kube/port.ts";
import type { Secrets } from "../kube/secrets_port.ts";
import type { ClassesDeps } from "../operator/classes.ts";
import type { Transition } from "../operator/keeper.ts";
import { createOperator, type OperatorDeps } from "../operator/operator.ts";
import { Tenure } from "../operator/tenure.ts";
import type { CallOptions, DatabaseProvider } from "../providers/port.ts";
import type { SimulatedCloud } from "../providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../providers/simulated/provider.ts";
import type { Effect } from "../statechart/vocabulary.ts";
import type { SimulatedKube } from "./kube_port.ts";
import type { SimulatedLease } from "./lease.ts";
import { ProcessClock } from "./process_clock.ts";
import type { Dice } from "./random.ts";
import type { Subject, SubjectFactory } from "./subject.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** The call at which a process dies. */
export interface Doom {
  /** Index of the call, from 0, among those for the Lease or among all others. */
  readonly call: number;
  readonly of?: "lease";
  /** Before it is sent, right after, or when its answer arrives. */
  readonly when: "before" | "sent" | "answered";
}

/** A mutating call of a process, from the tick that sends it to its answer or time-out. */
export interface Mutation {
  readonly verb: "create" | "modify" | "delete";
  /** The database's id, or the UID that a create is for. */
  readonly target: string;
  readonly uid: string | undefined;
  /** It changes more than tags. */
  readonly values: boolean;
  /** It sets a password, which no drift policy speaks of. */
  readonly password?: boolean | undefined;
  /** Of a delete: the snapshot that it takes first. */
  readonly finalSnapshot?: string | undefined;
}

/** Who is told of what a process does. */
export interface ProcessObserver {
  call(process: SimulatedProcess, what: string): void;
  /** `result` is what the call resolved with, or its error. */
  answer(process: SimulatedProcess, what: string, outcome: string, result: unknown): void;
  /** A mutation is sent; the result is called at its end, with the error class if it failed. */
  mutation(process: SimulatedProcess, mutation: Mutation): (error: unknown) => void;
  log(process: SimulatedProcess, ...line: Parameters<Logger["log"]>): void;
  event(process: SimulatedProcess, event: EventRecord): void;
  transition(process: SimulatedProcess, transition: Transition): void;
  /** It has ended in order. */
  stopped(process: SimulatedProcess): void;
  died(process: SimulatedProcess, why: string): void;
}

/** What a {@linkcode SimulatedProcess} takes. */
export interface ProcessOptions {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly kube: SimulatedKube;
  readonly cloud: SimulatedCloud;
  readonly lease: SimulatedLease | undefined;
  readonly dice: Dice;
  readonly doom: Doom | undefined;
  readonly skewMs: number;
  readonly deps: Partial<OperatorDeps>;
  /** What it runs. @default the operator */
  readonly subject?: SubjectFactory | undefined;
  /** Stands between the operator and its provider: how a test plants a fault. */
  readonly wrapProvider?: ((provider: DatabaseProvider) => DatabaseProvider) | undefined;
  readonly observer: ProcessObserver;
}

/** How long one call to the cloud may take, in milliseconds: the flag's default. */
const CALL_TIMEOUT_MS = 30_000;

function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/** A process. */
export class SimulatedProcess {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly operator: Subject;
  readonly #o: ProcessOptions;
  readonly #abort = new AbortController();
  readonly #tenure: Tenure<Subject>;
  #calls = 0;
  #leaseCalls = 0;
  #open = 0;
  #dead = false;
  #spared = false;
  readonly #read = new Map<string, ExternalDatabase>();
  /** What the last read of each UID showed, and when it was sent. */
  readonly #asked = new Map<string, { readonly object: ExternalDatabase; readonly sentAt: number }>();
  /** UIDs whose id was sent to be recorded by a write that was not answered: it may have landed, or not. */
  readonly unsure = new Set<string>();

  constructor(options: ProcessOptions) {
    this.#o = options;
    this.name = options.name;
    this.clock = new ProcessClock(options.clock);
    this.clock.skewMs = options.skewMs;
    const { lease, observer, dice, wrapProvider = (p) => p, subject = createOperator } = options;
    const shared = {
      clock: this.clock,
      random: dice,
      log: { log: (...line: Parameters<Logger["log"]>) => observer.log(this, ...line) },
    };
    const make = (fence: (() => void) | undefined) =>
      subject({
        cluster: this.#cluster(options.kube.port(options.name)),
        secrets: this.#secrets(options.kube.secretsPort(options.name)),
        provider: this.#provider(
          wrapProvider(createSimulatedProvider(options.cloud, { clock: this.clock, caller: options.name })),
        ),
        recorder: { record: (event) => observer.event(this, event) },
        ...shared,
        metrics: noMetrics,
        onTransition: (transition) => observer.transition(this, transition),
        fence,
        ...options.deps,
        classes: options.deps.classes && this.#classes(options.deps.classes),
      });
    this.#tenure = new Tenure({
      operator: make,
      ...shared,
      identity: options.name,
      lease: lease && this.#leasePort(options.kube.leasePort(lease)),
      callTimeoutMs: CALL_TIMEOUT_MS,
    });
    this.operator = this.#tenure.operator;
  }

  get alive(): boolean {
    return !this.#dead;
  }
  /** It holds the lease, where there is one. */
  get leads(): boolean {
    const { lease } = this.#o;
    return lease === undefined || lease.holder === this.name;
  }
  /** The newest copy of a CR that this process was told of, by the watch or by a read of its own. */
  known(uid: string): ExternalDatabase | undefined {
    const told = [...this.operator.supervisor.keepers].find((k) => k.object.metadata.uid === uid)?.object;
    return newerOf(this.#read.get(uid), told);
  }
  /** What its last read of a CR showed, and when that was sent, in monotonic milliseconds of the world. */
  asked(uid: string): { readonly object: ExternalDatabase; readonly sentAt: number } | undefined {
    return this.#asked.get(uid);
  }
  /** The newest copy of a CR that its own actor was told of, by the watch or in answer to its own writes. */
  heard(uid: string): ExternalDatabase | undefined {
    const { supervisor } = this.operator;
    const told = [...supervisor.keepers].find((k) => k.object.metadata.uid === uid)?.object;
    return newerOf(supervisor.held?.(uid), told);
  }
  /** It holds the lease, where there is one, and works. */
  get working(): boolean {
    return !this.#dead && this.#tenure.phase === "working";
  }
  /** Calls made so far, watches and those for the Lease not counted. */
  get calls(): number {
    return this.#calls;
  }

  /**
   * Calls to the cloud that have no answer yet; one that is given up ends in the same moment. An answer that a process
   * finds at its waking behind what made it end is none of its waits any more.
   */
  get openCalls(): number {
    return this.#open;
  }

  /** Starts it. */
  start(): void {
    const { observer } = this.#o;
    this.#tenure.run(this.#abort.signal).then(
      () => {
        observer.stopped(this);
        this.crash("stopped");
      },
      (error: unknown) => {
        const { message } = error as Error;
        if (message.startsWith("The lease was lost")) return this.crash("lost its lease"); // it begins anew (H1)
        this.#o.observer.log(this, "error", "The operator failed", { error: message });
      },
    );
  }

  /** Its doom does not come any more. */
  spare(): void {
    this.#spared = true;
  }

  /** Dies at once: nothing is sent, heard or run any more. */
  crash(why: string): void {
    if (this.#dead) return;
    this.#dead = true;
    this.clock.kill();
    this.#o.observer.died(this, why);
  }

  /** Ends as SIGTERM does. */
  stop(): void {
    this.clock.resume(() => this.#abort.abort(new Error("SIGTERM"))); // one that is frozen hears of it when it wakes
  }

  /** Passes one call on, unless the process is dead or dies of it. */
  #call<T>(what: string, send: () => Promise<T>, of?: "lease"): Promise<T> {
    if (this.#dead) return never();
    const { doom, observer } = this.#o;
    const nth = of === "lease" ? this.#leaseCalls++ : this.#calls++;
    const when = doom?.call === nth && doom.of === of && !this.#spared ? doom.when : undefined;
    observer.call(this, what);
    if (when === "before") {
      this.crash(`before ${what}`);
      return never();
    }
    const counted = what.startsWith("cloud ") ? 1 : 0;
    this.#open += counted;
    const answer = send();
    return new Promise<T>((resolve, reject) => {
      const settle = (outcome: string, result: unknown, fn: () => void) => {
        this.#open -= counted;
        this.clock.resume(() => {
          if (when === "answered") return this.crash(`at the answer of ${what}`);
          observer.answer(this, what, outcome, result);
          fn();
        });
      };
      answer.then(
        (value) => settle("ok", value, () => resolve(value)),
        (error: unknown) => settle(String(error), error, () => reject(error)),
      );
      if (when === "sent") this.crash(`after ${what} was sent`);
    });
  }

  #leasePort(inner: LeasePort): LeasePort {
    const call = <T>(what: string, send: () => Promise<T>) => this.#call(`lease ${what}`, send, "lease");
    return {
      get: (signal) => call("get", () => inner.get(signal)),
      create: (write, signal) => call("create", () => inner.create(write, signal)),
      update: (version, write, signal) =>
        call(write.holderIdentity === "" ? "release" : "update", () => inner.update(version, write, signal)),
    };
  }

  #unanswered(operations: readonly JsonPatchOperation[], error: unknown): never {
    const uid = operations.find((o) => o.op === "test" && o.path === "/metadata/uid");
    const records = operations.some((o) => o.op === "add" && o.path === "/status/providerId");
    const open = error instanceof KubeError && UNANSWERED.has(error.kind);
    if (open && records && uid?.op === "test") this.unsure.add(String(uid.value));
    throw error;
  }

  #cluster(inner: Cluster): Cluster {
    const call = this.#call.bind(this);
    /** Remembers what the process was told. */
    const told = async (answer: Promise<ExternalDatabase>) => {
      const object = await answer;
      // A namesake that a read of another resource met is told to nobody.
      const { uid } = object.metadata;
      if ([...this.operator.supervisor.keepers].some((k) => k.object.metadata.uid === uid)) {
        this.#read.set(uid, object);
      }
      return object;
    };
    /** How many status writes of each resource wait for their answers. */
    const writing = new Map<string, number>();
    const written = async <T>(of: ObjectKey, answer: Promise<T>): Promise<T> => {
      const key = keyText(of);
      writing.set(key, (writing.get(key) ?? 0) + 1);
      try {
        return await answer;
      } finally {
        writing.set(key, (writing.get(key) ?? 1) - 1);
      }
    };
    /**
     * Whether a read is made for another: an adoption that looks for an owner (rule 18), or the watch for orphans. Who
     * rests, sleeps, is only at the cloud or waits for the answer of its own write reads nothing.
     */
    const forAnother = (key: ObjectKey) => {
      if ((writing.get(keyText(key)) ?? 0) > 0) return true;
      const { namespace, name } = key;
      const keepers = [...this.operator.supervisor.keepers].filter((k) =>
        k.object.metadata.namespace === namespace && k.object.metadata.name === name
      );
      return keepers.length > 0 &&
        keepers.every((k) =>
          "snapshot" in k && (k.snapshot?.hasTag("rest") !== false || isAtCloud(k.snapshot.value))
        );
    };
    return {
      get: async (key: ObjectKey, o: RequestOptions) => {
        const sentAt = this.#o.clock.monotonic();
        const unheard = forAnother(key);
        const answer = call(`kube get ${key.name}`, () => inner.get(key, o));
        if (unheard) return await answer;
        const object = await told(answer);
        this.#asked.set(object.metadata.uid, { object, sentAt });
        return object;
      },
      list: (request) => call("kube list", () => inner.list(request)),
      watch: (request) => this.#watch(inner, request),
      patch: (key, operations, o) =>
        told(call(`kube patch ${key.name} ${brief(operations)}`, () => inner.patch(key, operations, o))),
      patchStatus: (key, operations, o) =>
        told(call(
          `kube patchStatus ${key.name} ${brief(operations)}`,
          () =>
            written(key, inner.patchStatus(key, operations, o)).catch((error: unknown) =>
              this.#unanswered(operations, error)
            ),
        )),
      crdState: (o) => call("kube crdState", () => inner.crdState(o)),
      clusterId: (o) => call("kube clusterId", () => inner.clusterId(o)),
    };
  }

  #secrets(inner: Secrets): Secrets {
    const call = this.#call.bind(this);
    return {
      get: (key, o) => call(`kube get Secret ${key.name}`, () => inner.get(key, o)),
      list: (request) => call("kube list Secrets", () => inner.list(request)),
      watch: (request) => this.#watch(inner, request),
      create: (secret, o) =>
        call(`kube create Secret ${secret.metadata.name}`, () => inner.create(secret, o)),
      patch: (key, operations, o) =>
        call(`kube write Secret ${key.name} ${brief(operations)}`, () => inner.patch(key, operations, o)),
      delete: (key, uid, o) => call(`kube delete Secret ${key.name}`, () => inner.delete(key, uid, o)),
    };
  }

  #classes(inner: ClassesDeps): ClassesDeps {
    const { port } = inner;
    const source = <T extends Watched>(what: string, from: Source<T>): Source<T> => ({
      get: (key, o) => this.#call(`kube get ${what} ${key.name}`, () => from.get(key, o)),
      list: (request) => this.#call(`kube list ${what}`, () => from.list(request)),
      watch: (request) => this.#watch(from, request),
    });
    return {
      ...inner,
      provide: (request, name) => this.#provider(inner.provide(request, name)),
      port: {
        classes: source("classes", port.classes),
        patchStatus: (name, operations, o) =>
          this.#call(`kube patchStatus class ${name}`, () => port.patchStatus(name, operations, o)),
        secret: (key) => source(`the Secret of a class`, port.secret(key)),
      },
    };
  }

  #watch<T extends Watched>(
    inner: Source<T>,
    request: Parameters<Cluster["watch"]>[0],
  ): AsyncIterable<WatchEvent<T>> {
    const { onOpen } = request;
    const opened = () => this.clock.resume(() => onOpen?.());
    const iterator = inner.watch({ ...request, onOpen: opened })[Symbol.asyncIterator]();
    const next = () =>
      new Promise<IteratorResult<WatchEvent<T>>>((resolve, reject) => {
        if (this.#dead) return;
        iterator.next().then(
          (result) => this.clock.resume(() => resolve(result)),
          (error: unknown) => this.clock.resume(() => reject(error)),
        );
      });
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  #provider(inner: DatabaseProvider): DatabaseProvider {
    const call = this.#call.bind(this);
    const mutate = <T>(
      mutation: Mutation,
      o: CallOptions,
      send: (o: { readonly beforeSend: () => void }) => Promise<T>,
    ): Promise<T> => {
      let end: ((error: unknown) => void) | undefined;
      const beforeSend = () => {
        o.beforeSend?.();
        end = this.#o.observer.mutation(this, mutation);
      };
      return call(`cloud ${mutation.verb} ${mutation.target}`, async () => {
        try {
          const value = await send({ beforeSend });
          end?.(undefined);
          return value;
        } catch (error) {
          end?.(error);
          throw error;
        }
      });
    };
    return {
      name: inner.name,
      info: (o) => call("cloud info", () => inner.info(o)),
      get: (id, o) => call(`cloud get ${id}`, () => inner.get(id, o)),
      list: (o) => call(`cloud list ${JSON.stringify(o.tags)}`, () => inner.list(o)),
      create: (request, o) => {
        const uid = request.tags["db.my.domain/uid"] ?? "";
        return mutate(
          { verb: "create", target: uid, uid, values: true },
          o,
          (b) => inner.create(request, { ...o, ...b }),
        );
      },
      modify: (id, request, o) =>
        mutate(
          {
            verb: "modify",
            target: id,
            uid: undefined,
            values: request.version !== undefined || request.sizeGb !== undefined ||
              request.password !== undefined,
            password: request.password !== undefined,
          },
          o,
          (b) => inner.modify(id, request, { ...o, ...b }),
        ),
      delete: (id, o) =>
        mutate(
          { verb: "delete", target: id, uid: undefined, values: true, finalSnapshot: o.finalSnapshot },
          o,
          (b) => inner.delete(id, { ...o, ...b }),
        ),
    };
  }
}

/** Effects that ask the cloud alone. */
const AT_CLOUD: ReadonlySet<unknown> = new Set<Effect>(["lookup", "observe", "confirm", "modify"]);

/** Whether an actor in this state has an effect under way that reads no resource. */
function isAtCloud(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((v) => AT_CLOUD.has(v));
}

function brief(
  operations: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[],
): string {
  return operations.filter((o) => o.op !== "test").map((o) =>
    `${o.op === "remove" ? "-" : "+"}${o.path}${
      o.path === "/status/state" || o.path === "/status/providerId" || o.path === "/status/incarnation"
        ? `=${o.value}`
        : ""
    }`
  ).join(" ");
}
