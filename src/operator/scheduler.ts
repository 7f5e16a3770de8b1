/**
 * One scheduler per provider account: who may call the cloud next (design.md 5, L3).
 *
 * Promised: at most `concurrency` calls at once, and after a throttled call far fewer, growing again with every call
 * that succeeds, so that the end of a pause is no burst that is throttled again (Q2); at most `ratePerSecond` starts a second; after `pause` no call
 * starts until its time, whoever's it is (Q2); the higher lane goes first, yet every lane with work gets at least
 * one start in ten; a call whose signal aborts leaves the queue; the queue is bounded.
 *
 * @module
 */
import { type BackoffPolicy, growingMs } from "../core/backoff.ts";
import type { Clock, TimerId } from "../core/clock.ts";

/** Lanes, most urgent first. */
export const LANES = ["urgent", "create", "followUp", "poll"] as const;
/** `urgent`: deletes and edits of people; `create`; `followUp`: what is in transition; `poll`: everything else. */
export type Lane = (typeof LANES)[number];

/**
 * Starts for which a lane with work may be passed over before it goes first. All the other lanes may reach this at
 * once, and the last of them then still has its start within ten (L3).
 */
const PATIENCE = 10 - LANES.length;

/** The share of its calls at once that a throttled account keeps is one in this many. */
const WINDOW_CUT = 4;

/** First and longest pause of an account that is throttled without a time. */
const PAUSE: BackoffPolicy = { baseMs: 1_000, capMs: 60_000 };

/** The queue is full. */
export class QueueFullError extends Error {
  override readonly name = "QueueFullError";
}

/** Options of a {@linkcode Scheduler}. */
export interface SchedulerOptions {
  readonly clock: Clock;
  /** Calls at once. @default 64 */
  readonly concurrency?: number;
  /** Starts a second; 0 means no limit. @default 0 */
  readonly ratePerSecond?: number;
  /** Longest queue. @default 100_000 */
  readonly limit?: number;
  /** Told how long each call that starts has waited, in milliseconds. */
  readonly onStart?: (lane: Lane, waitedMs: number) => void;
}

interface Job {
  readonly start: () => void;
  cancelled: boolean;
}

/** Queues calls and starts them by the rules above. */
export class Scheduler {
  readonly #clock: Clock;
  #concurrency: number;
  #rate: number;
  readonly #limit: number;
  readonly #onStart: (lane: Lane, waitedMs: number) => void;
  readonly #queues: Record<Lane, Queue> = {
    urgent: new Queue(),
    create: new Queue(),
    followUp: new Queue(),
    poll: new Queue(),
  };
  /** Calls at once for now: `concurrency`, cut when the account is throttled. */
  #window: number;
  /** Pauses since the last call that succeeded. */
  #pauses = 0;
  #running = 0;
  #waiting = 0;
  #tokens: number;
  #refilledAt: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** All pauses so far, the rest of the one that goes on included. */
  #pausedMs = 0;
  #timer: TimerId | undefined;

  constructor(options: SchedulerOptions) {
    this.#clock = options.clock;
    this.#concurrency = options.concurrency ?? 64;
    this.#window = this.#concurrency;
    this.#rate = options.ratePerSecond ?? 0;
    this.#limit = options.limit ?? 100_000;
    this.#onStart = options.onStart ?? (() => {});
    this.#tokens = Math.max(1, this.#rate);
    this.#refilledAt = this.#clock.monotonic();
  }

  /** Sets other bounds; what is under way goes on. */
  limit(
    { concurrency, ratePerSecond }: { readonly concurrency: number; readonly ratePerSecond: number },
  ): void {
    if (concurrency === this.#concurrency && ratePerSecond === this.#rate) return;
    this.#concurrency = concurrency;
    this.#window = concurrency;
    this.#rate = ratePerSecond;
    this.#tokens = Math.max(1, ratePerSecond);
    this.#refilledAt = this.#clock.monotonic();
    this.#pump();
  }

  /** Calls that wait. */
  get depth(): number {
    return this.#waiting;
  }

  /** Calls that wait, by lane. */
  get queue(): Readonly<Record<Lane, number>> {
    return Object.fromEntries(LANES.map((lane) => [lane, this.#queues[lane].waiting])) as Record<
      Lane,
      number
    >;
  }

  /** Calls at once that are allowed. */
  get concurrency(): number {
    return this.#concurrency;
  }

  /** Starts a second that are allowed; 0 means no limit. */
  get ratePerSecond(): number {
    return this.#rate;
  }

  /** When the account is no longer throttled, monotonic milliseconds; may be past. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** How long the account was throttled so far, all pauses together, in milliseconds. */
  get pausedMs(): number {
    return this.#pausedMs - Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** Calls that are held in memory: the waiting ones and some that were cancelled. */
  get held(): number {
    return LANES.reduce((n, lane) => n + this.#queues[lane].size, 0);
  }

  /** Pauses in a row that brought no call that succeeded. */
  get pauses(): number {
    return this.#pauses;
  }

  /** Calls under way. */
  get running(): number {
    return this.#running;
  }

  /**
   * The account is throttled: no call starts for `ms` milliseconds; a longer pause that is under way stays. Where the
   * cloud names no time it is 1 s, twice as long after each pause that brought no success, up to a minute.
   */
  pause(ms?: number): void {
    const now = this.#clock.monotonic();
    // Once a pause: those that were under way when it began are throttled with the first.
    if (now >= this.#pausedUntil) {
      this.#window = Math.max(1, Math.floor(this.#window / WINDOW_CUT));
      this.#pauses++;
    }
    const from = Math.max(this.#pausedUntil, now);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + (ms ?? growingMs(PAUSE, this.#pauses - 1)));
    this.#pausedMs += Math.max(0, this.#pausedUntil - from);
  }

  /** Runs `work` when its turn comes. Rejects with the signal's reason if that aborts first, with {@linkcode QueueFullError}, or as `work` does. */
  run<T>(lane: Lane, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.#waiting >= this.#limit) {
        return reject(new QueueFullError(`The provider's queue is full (${this.#limit} calls wait)`));
      }
      const onAbort = () => {
        job.cancelled = true;
        this.#queues[lane].cancelledOne();
        this.#setWaiting(this.#waiting - 1);
        reject(signal.reason);
      };
      const queuedAt = this.#clock.monotonic();
      const job: Job = {
        cancelled: false,
        start: () => {
          this.#onStart(lane, this.#clock.monotonic() - queuedAt);
          signal.removeEventListener("abort", onAbort);
          this.#running++;
          // In an async function, so that one that throws at once gives its slot back too.
          (async () => await work())().then((value) => {
            this.#pauses = 0;
            this.#window = Math.min(this.#concurrency, this.#window + 1 / this.#window);
            resolve(value);
          }, reject).finally(() => {
            this.#running--;
            this.#pump();
          });
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#queues[lane].push(job);
      this.#setWaiting(this.#waiting + 1);
      this.#pump();
    });
  }

  #setWaiting(n: number): void {
    this.#waiting = n;
    if (n === 0) this.#sleepOn(); // nobody waits any more
  }

  #pump(): void {
    while (this.#running < Math.floor(this.#window) && this.#waiting > 0) {
      const wait = this.#notBefore() - this.#clock.monotonic();
      if (wait > 0) return this.#wakeIn(wait);
      const job = this.#next();
      if (job === undefined) return;
      if (this.#rate > 0) this.#tokens -= 1;
      this.#setWaiting(this.#waiting - 1);
      job.start();
    }
  }

  #notBefore(): number {
    const now = this.#clock.monotonic();
    if (this.#rate > 0) {
      this.#tokens = Math.min(
        Math.max(1, this.#rate),
        this.#tokens + (now - this.#refilledAt) / 1_000 * this.#rate,
      );
      this.#refilledAt = now;
    }
    // A hair of slack, or floating point would make a timer of zero length spin.
    const byRate = this.#rate > 0 && this.#tokens < 1 - 1e-6
      ? now + (1 - this.#tokens) / this.#rate * 1_000
      : now;
    return Math.max(byRate, this.#pausedUntil);
  }

  #wakeIn(ms: number): void {
    this.#sleepOn();
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, Math.ceil(ms));
  }

  #sleepOn(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #next(): Job | undefined {
    for (const lane of this.#order()) {
      const job = this.#queues[lane].shift();
      if (job !== undefined) {
        for (const other of LANES) if (other !== lane) this.#queues[other].passedOver++;
        this.#queues[lane].passedOver = 0;
        return job;
      }
    }
    return undefined;
  }

  /** The lanes, most urgent first, but before all those that were passed over for long, the longest first. */
  #order(): readonly Lane[] {
    const neglected = LANES.filter((lane) => this.#queues[lane].passedOver >= PATIENCE);
    if (neglected.length === 0) return LANES;
    neglected.sort((a, b) => this.#queues[b].passedOver - this.#queues[a].passedOver);
    return [...neglected, ...LANES];
  }
}

/** A queue that forgets cancelled jobs, with a head index in place of costly shifts. */
class Queue {
  #jobs: Job[] = [];
  #head = 0;
  /** Cancelled jobs that are still held. */
  #cancelled = 0;
  /** Starts of other lanes since the last of this one, counted while there is work. */
  passedOver = 0;

  /** Jobs held, the cancelled ones too. */
  get size(): number {
    return this.#jobs.length - this.#head;
  }

  /** Jobs that wait. */
  get waiting(): number {
    return this.size - this.#cancelled;
  }

  push(job: Job): void {
    if (this.size <= this.#cancelled) this.passedOver = 0;
    this.#jobs.push(job);
  }

  /** One of the jobs was cancelled; they are let go before they are many, whether or not any call starts. */
  cancelledOne(): void {
    this.#cancelled++;
    if (this.#cancelled < 1_024 || this.#cancelled * 2 < this.size) return;
    this.#jobs = this.#jobs.slice(this.#head).filter((job) => !job.cancelled);
    this.#head = 0;
    this.#cancelled = 0;
  }

  shift(): Job | undefined {
    while (this.#head < this.#jobs.length) {
      const job = this.#jobs[this.#head++];
      if (this.#head > 1_024 && this.#head * 2 > this.#jobs.length) {
        this.#jobs = this.#jobs.slice(this.#head);
        this.#head = 0;
      }
      if (job === undefined) continue;
      if (!job.cancelled) return job;
      this.#cancelled--;
    }
    this.#jobs = [];
    this.#head = 0;
    this.#cancelled = 0;
    return undefined;
  }
}
