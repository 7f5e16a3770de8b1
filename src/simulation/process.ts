/**
 * One process of the operator in a simulated world: the whole, unchanged operator over gated ports, so that it can die
 * before, during and after every call, freeze and wake, lose its lease, or end in order.
 *
 * @module
 */
import type { Logger } from "../core/log.ts";
import { noMetrics } from "../core/metrics.ts";
import type { EventRecord } from "../kube/port.ts";
import type { Transition } from "../operator/keeper.ts";
import { createOperator, type OperatorDeps } from "../operator/operator.ts";
import { Tenure } from "../operator/tenure.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import type { SimulatedCloud } from "../providers/simulated/cloud.ts";
import { createSimulatedProvider } from "../providers/simulated/provider.ts";
import { type Gate, gatedClasses, gatedLease, gatedProvider, gatedSecrets, type Mutation } from "./gates.ts";
import { Hearing } from "./hearing.ts";
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
  /** What it was told of the resources. */
  readonly hearing: Hearing;
  readonly #o: ProcessOptions;
  readonly #abort = new AbortController();
  readonly #tenure: Tenure<Subject>;
  #calls = 0;
  #leaseCalls = 0;
  #open = 0;
  #dead = false;
  #spared = false;

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
    const gate: Gate = {
      call: (what, send, of) => this.#call(what, send, of),
      resume: (hand) => this.clock.resume(hand),
      mutation: (mutation) => observer.mutation(this, mutation),
    };
    this.hearing = new Hearing(options.clock, () => this.operator.supervisor);
    const provider = createSimulatedProvider(options.cloud, { clock: this.clock, caller: options.name });
    const make = (fence: (() => void) | undefined) =>
      subject({
        cluster: this.hearing.cluster(options.kube.port(options.name), gate),
        secrets: gatedSecrets(options.kube.secretsPort(options.name), gate),
        provider: gatedProvider(wrapProvider(provider), gate),
        recorder: { record: (event) => observer.event(this, event) },
        ...shared,
        metrics: noMetrics,
        onTransition: (transition) => observer.transition(this, transition),
        fence,
        ...options.deps,
        classes: options.deps.classes && gatedClasses(options.deps.classes, gate),
      });
    this.#tenure = new Tenure({
      operator: make,
      ...shared,
      identity: options.name,
      lease: lease && gatedLease(options.kube.leasePort(lease), gate),
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
}
