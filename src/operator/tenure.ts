/**
 * One process's time as the operator: it waits for the lease where there is one, works under it, and ends in order.
 *
 * Promised at the end, in this order: no new work; calls in flight get their answers, within a bound; the lease is
 * released, but only with no mutation in flight (rule 21), else left to expire. A process that loses the lease ends
 * too: one that was frozen past its lease is not to go on, but to begin anew (H1). `start`, `demo` and the simulation
 * run this same code.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { aborted } from "../core/wait.ts";
import { LeaderElector } from "../kube/lease.ts";
import type { LeasePort } from "../kube/lease_port.ts";

/** What a process is doing. */
export type Phase = "standby" | "working" | "stopping";

/** What {@linkcode Tenure} asks of an operator. */
export interface Tenant {
  run(signal: AbortSignal): Promise<void>;
  drain(graceMs: number): Promise<void>;
  readonly gateway: { readonly mutationsInFlight: number };
}

/** What a {@linkcode Tenure} takes. Times are in milliseconds. */
export interface TenureOptions<O extends Tenant> {
  /** Makes the operator; `fence` throws in the tick in which a mutation must not be sent, and is absent without a lease. */
  readonly operator: (fence: (() => void) | undefined) => O;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Holder of the lease, unique to this process. */
  readonly identity: string;
  /** Absent: no election. */
  readonly lease?: LeasePort | undefined;
  /** How long one call to the provider may take. */
  readonly callTimeoutMs: number;
}

/** Time beyond one call's own limit for recording its answer, in milliseconds. */
const DRAIN_EXTRA_MS = 5_000;
/** The longest drain, in milliseconds: a pod's grace period in `deploy/` is 60 s. */
const DRAIN_CAP_MS = 50_000;

/** An operator under its lease. */
export class Tenure<O extends Tenant> {
  readonly operator: O;
  readonly elector: LeaderElector | undefined;
  readonly #o: TenureOptions<O>;
  #phase: Phase;

  constructor(options: TenureOptions<O>) {
    this.#o = options;
    const { lease, clock, random, log, identity } = options;
    const elector = lease && new LeaderElector({ lease, clock, random, log, identity });
    this.elector = elector;
    this.operator = options.operator(elector && (() => elector.check()));
    this.#phase = elector === undefined ? "working" : "standby";
  }

  /** What it is doing now. */
  get phase(): Phase {
    return this.#phase;
  }

  /** Works until the signal aborts, then ends in order and resolves. Rejects, after the same end, when the lease was lost. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      if (this.elector === undefined) await this.operator.run(signal);
      else await this.#elect(this.elector, signal);
    } finally {
      await this.#end();
    }
  }

  async #elect(elector: LeaderElector, signal: AbortSignal): Promise<void> {
    const { log } = this.#o;
    const leading = Promise.withResolvers<void>();
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => {}); // raced below; after the end of the race nobody listens
    // Not under `signal`: the lease is kept while calls in flight end. `release` ends the renewals.
    elector.run(new AbortController().signal, {
      onStartedLeading: () => leading.resolve(),
      onStoppedLeading: (reason) => lost.reject(new Error(`The lease was lost: ${reason}`)),
    }).catch((error: unknown) => lost.reject(error));
    await Promise.race([leading.promise, lost.promise, aborted(signal)]);
    if (signal.aborted) return;
    this.#phase = "working";
    const work = this.operator.run(signal);
    work.catch((error: unknown) => log.log("error", "The operator failed", { error: messageOf(error) }));
    await Promise.race([work, lost.promise]);
  }

  async #end(): Promise<void> {
    const { log, callTimeoutMs } = this.#o;
    this.#phase = "stopping";
    log.log("info", "The operator is stopping");
    await this.operator.drain(Math.min(callTimeoutMs + DRAIN_EXTRA_MS, DRAIN_CAP_MS));
    const open = this.operator.gateway.mutationsInFlight;
    if (open === 0) await this.elector?.release(new AbortController().signal);
    else log.log("warn", "Calls to the cloud did not end in time; the lease is left to expire", { open });
  }
}
