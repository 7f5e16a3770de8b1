/**
 * Leader election by a Lease, with client-go's rules, and the fence that every mutation passes (rule 21).
 *
 * Promised: of two electors whose clocks run at nearly the same rate, at most one is inside its fence at any time. A
 * process that was frozen finds itself outside when it wakes: {@linkcode LeaderElector.check} throws before anything
 * is sent. What it cannot prevent is a freeze between the check and the socket; tokens and derived names cover that.
 *
 * Assumed: nothing of other machines' wall clocks. A record is judged by the local monotonic time at which it was last
 * seen to change, never by the time written in it.
 *
 * @module
 */
import { backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { jitter, type Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { sleep, withDeadline } from "../core/wait.ts";
import type { LeasePort, LeaseRecord, LeaseWrite } from "./lease_port.ts";
import { KubeError } from "./port.ts";

/** A mutation was about to be sent without a lease that is young enough; nothing was sent. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/** What a {@linkcode LeaderElector} takes; the times are client-go's defaults. */
export interface LeaderElectorOptions {
  readonly lease: LeasePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Unique to this process: host name and a UUID. */
  readonly identity: string;
  /** How long others wait after the last change they saw. @default 15_000 */
  readonly leaseDurationMs?: number;
  /** How long after a renewal was sent the lease is held. @default 10_000 */
  readonly renewDeadlineMs?: number;
  /** Time between two tries. @default 2_000 */
  readonly retryPeriodMs?: number;
}

/** Who is told. */
export interface LeaderCallbacks {
  /** The lease was taken. */
  onStartedLeading(): void;
  /** The lease was lost: it could not be renewed in time, or another holds it. The process is to exit. */
  onStoppedLeading(reason: string): void;
}

/** Less time than this, in milliseconds, is none: a timer that fires a hair early must not make a loop of renewals. */
const LEAST_MS = 1;

/** Takes a Lease, renews it, and knows until when it is held. */
export class LeaderElector {
  readonly #o: LeaderElectorOptions;
  readonly #duration: number;
  readonly #deadline: number;
  readonly #retry: number;
  readonly #released = new AbortController();
  #record: LeaseRecord | undefined;
  /** Monotonic time at which the record was last seen to change. */
  #observedAt = -Infinity;
  #acquiredAt = 0;
  #transitions = 0;
  #held: { readonly monotonic: number; readonly wall: number } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #problem: string | undefined;

  constructor(options: LeaderElectorOptions) {
    this.#o = options;
    this.#duration = options.leaseDurationMs ?? 15_000;
    this.#deadline = options.renewDeadlineMs ?? 10_000;
    this.#retry = options.retryPeriodMs ?? 2_000;
    if (!(this.#duration > this.#deadline && this.#deadline > this.#retry * 1.2 && this.#retry > 0)) {
      throw new RangeError(
        "A lease's duration must exceed its renew deadline, and that its retry period by a fifth",
      );
    }
  }

  /** Until when the lease is held, on both clocks, in milliseconds; `undefined` when it is not. */
  get heldUntil(): { readonly monotonic: number; readonly wall: number } | undefined {
    return this.#held;
  }

  /** Who holds the lease, as last seen. */
  get holder(): string | undefined {
    return this.#record?.holderIdentity || undefined;
  }

  /** Why the last try to read, take or renew the lease failed; `undefined` once one ended well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether a mutation may be sent in this very tick. */
  get leading(): boolean {
    const { clock } = this.#o;
    return this.#held !== undefined && clock.monotonic() < this.#held.monotonic &&
      clock.now() < this.#held.wall;
  }

  /** To be called in the tick that sends a mutation; throws {@linkcode FencedError} unless the lease is held on both clocks. */
  check(): void {
    if (this.leading) return;
    throw new FencedError(
      this.#held
        ? "Sending a mutation: the lease was not renewed within its deadline"
        : "Sending a mutation: the lease is not held",
    );
  }

  /**
   * Tries to take the lease, then keeps it; resolves when `signal` aborts, when the lease was released, and after
   * `onStoppedLeading`. A lease that is held when `signal` aborts is left to expire (see {@linkcode release}).
   */
  async run(signal: AbortSignal, callbacks: LeaderCallbacks): Promise<void> {
    const ended = AbortSignal.any([signal, this.#released.signal]);
    if (!await this.#acquire(ended, signal) || ended.aborted) return;
    this.#o.log.log("info", "Took the lease", { identity: this.#o.identity });
    callbacks.onStartedLeading();
    const lost = await this.#keep(ended, signal);
    if (lost === undefined) return;
    this.#held = undefined;
    this.#o.log.log("error", "Lost the lease", { reason: lost });
    callbacks.onStoppedLeading(lost);
  }

  /**
   * Gives the lease away at once; only to be called with no mutation in flight. From the call on `check` throws. When
   * that fails the lease expires by itself. Resolves in any case.
   */
  async release(signal: AbortSignal): Promise<void> {
    const wasLeading = this.leading;
    this.#held = undefined;
    this.#released.abort();
    if (!wasLeading) return;
    const { lease, clock, log } = this.#o;
    try {
      await this.#exclusive(() =>
        withDeadline(
          { clock, ms: this.#retry * 2, action: "Releasing the lease", signal },
          async (inner) => {
            // Read first: a renewal whose answer was lost may have changed the record.
            const record = await lease.get(inner);
            if (record?.holderIdentity !== this.#o.identity) return;
            const write = { ...this.#write(), holderIdentity: "", leaseDurationSeconds: 1 };
            await lease.update(record.resourceVersion, write, inner);
          },
        )
      );
    } catch (error) {
      log.log("warn", "The lease was not released and will expire", { error: messageOf(error) });
    }
    this.#held = undefined;
  }

  // Waits end with `ended`, requests with `signal` alone: a release waits for a renewal in flight, and follows it.
  async #acquire(ended: AbortSignal, signal: AbortSignal): Promise<boolean> {
    const { clock, log, random } = this.#o;
    let failures = 0;
    while (!ended.aborted) {
      try {
        const taken = await this.#try(signal, this.#deadline);
        this.#problem = undefined;
        if (taken) return true;
        failures = 0;
      } catch (error) {
        if (ended.aborted) return false;
        const lostRace = isConflict(error); // of two standbys one is faster
        if (!lostRace) {
          failures++;
          this.#problem = messageOf(error);
        }
        log.log(failures === 1 && !lostRace ? "warn" : "debug", "The lease was not taken", {
          error: messageOf(error),
        });
      }
      // A standby polls at the retry period; one that is refused goes slower, up to the lease's duration.
      const slow = failures > 1
        ? backoffMs({ baseMs: this.#retry, capMs: this.#duration }, failures, random)
        : 0;
      await sleep(clock, Math.max(slow, jitter(random, this.#retry * 1.1)), ended).catch(() => {});
    }
    return false;
  }

  /** Renews until the lease is lost (why) or `ended` aborts (`undefined`). */
  async #keep(ended: AbortSignal, signal: AbortSignal): Promise<string | undefined> {
    const { clock, log, random } = this.#o;
    while (!ended.aborted) {
      const until = this.#held?.monotonic ?? -Infinity;
      const left = until - clock.monotonic();
      if (left < LEAST_MS) return "the lease was not renewed within its deadline";
      await sleep(clock, Math.min(left, jitter(random, this.#retry)), ended).catch(() => {});
      if (ended.aborted) return undefined;
      const time = until - clock.monotonic();
      if (time < LEAST_MS) return "the lease was not renewed within its deadline"; // frozen: not even a renewal is sent
      try {
        if (!await this.#try(signal, time)) {
          return `another holds the lease: "${this.#record?.holderIdentity ?? ""}"`;
        }
        this.#problem = undefined;
      } catch (error) {
        if (ended.aborted) return undefined;
        this.#problem = messageOf(error);
        log.log("warn", "The lease was not renewed, trying again", { error: messageOf(error) });
      }
    }
    return undefined;
  }

  /** One try to take or renew; false when another holds it. */
  #try(signal: AbortSignal, ms: number): Promise<boolean> {
    const { clock } = this.#o;
    const limit = Math.min(ms, this.#deadline / 2); // an answer that is lost leaves time for another try
    return this.#exclusive(() =>
      withDeadline(
        { clock, ms: limit, action: "Renewing the lease", signal },
        (inner) => this.#takeOrRenew(inner),
      )
    );
  }

  async #takeOrRenew(signal: AbortSignal): Promise<boolean> {
    const { lease, clock, identity } = this.#o;
    if (this.#record?.holderIdentity === identity && this.#held) {
      // The usual renewal is one request: the record is ours and guarded by its resourceVersion.
      try {
        return await this.#store(
          (write) => lease.update(this.#record?.resourceVersion ?? "", write, signal),
          signal,
        );
      } catch (error) {
        if (!(error instanceof KubeError) || (error.kind !== "conflict" && error.kind !== "notFound")) {
          throw error;
        }
      }
    }
    const record = await lease.get(signal);
    signal.throwIfAborted();
    if (!record) {
      this.#begin(0);
      return await this.#store((write) => lease.create(write, signal), signal);
    }
    this.#observe(record);
    const ours = record.holderIdentity === identity;
    const free = record.holderIdentity === "";
    const expired =
      clock.monotonic() - this.#observedAt >= Math.max(this.#duration, record.leaseDurationSeconds * 1_000);
    if (!ours && !free && !expired) return false;
    if (!ours) this.#begin(record.leaseTransitions + 1);
    else if (!this.#held) this.#begin(record.leaseTransitions);
    return await this.#store((write) => lease.update(record.resourceVersion, write, signal), signal);
  }

  /** Writes, and on success moves the fence: counted from when the write was sent. */
  async #store(send: (write: LeaseWrite) => Promise<LeaseRecord>, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#o;
    const sent = { monotonic: clock.monotonic() + this.#deadline, wall: clock.now() + this.#deadline };
    const record = await send(this.#write());
    signal.throwIfAborted(); // an answer after the deadline does not count
    this.#observe(record);
    if (!this.#released.signal.aborted) this.#held = sent;
    return true;
  }

  #begin(transitions: number): void {
    this.#acquiredAt = this.#o.clock.now();
    this.#transitions = transitions;
  }

  #write(): LeaseWrite {
    return {
      holderIdentity: this.#o.identity,
      leaseDurationSeconds: Math.ceil(this.#duration / 1_000),
      acquireTime: this.#acquiredAt,
      renewTime: this.#o.clock.now(),
      leaseTransitions: this.#transitions,
    };
  }

  #observe(record: LeaseRecord): void {
    const known = this.#record;
    this.#record = record;
    if (
      known && known.resourceVersion === record.resourceVersion && known.renewTime === record.renewTime &&
      known.holderIdentity === record.holderIdentity
    ) return;
    this.#observedAt = this.#o.clock.monotonic();
  }

  /** One request at a time: a release must not overtake a renewal. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.kind === "conflict";
}
