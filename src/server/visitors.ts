/**
 * What is known of those who come with a token: who they are and what they may get, those who were let in apart from
 * strangers, and how many reviews each of the two may cost.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import { type Rate, TokenBucket } from "../core/token_bucket.ts";
import type { Identity } from "../kube/reviews.ts";

/** Visitors that are kept of each kind. */
const MAX_KEPT = 1_000;
/** Paths that are kept of a visitor that was let in; a stranger's are fewer. */
const MAX_PATHS = 64;
const STRANGERS_PATHS = 4;
/** Reviews that one who was let in may cost: one a minute, and one for each path. */
const KNOWN: Rate = { ratePerSecond: 5, burst: 100 };
/** How long after he was let in a visitor is no stranger, in milliseconds. */
const KNOWN_MS = 600_000;

/** An answer, or the way to one. */
export interface Kept<T> {
  readonly answer: Promise<T>;
  /** Monotonic milliseconds; infinite while the answer is not there. */
  until: number;
}

/** One token's owner. */
export interface Visitor {
  identity: Kept<Identity | undefined> | undefined;
  /** By path, the newest last. */
  readonly rights: Map<string, Kept<boolean>>;
  /** When he was let in last, monotonic milliseconds. */
  letInAt: number;
  /** Once he was let in he has one of his own. */
  lane: Lane | undefined;
}

/** Requests that wait for reviews, and how many reviews they may begin. */
export class Lane {
  /** Requests that wait. */
  waiting = 0;
  readonly #bucket: TokenBucket;

  constructor(clock: Clock, rate: Rate) {
    this.#bucket = new TokenBucket(rate, () => clock.monotonic());
  }

  /** Whether one more review may begin now, which then counts. */
  take(): boolean {
    return this.#bucket.take() === undefined;
  }
}

/** All visitors, by the digest of their token; the one that came longest ago is let go first. */
export class Visitors {
  readonly #clock: Clock;
  readonly #known = new Map<string, Visitor>();
  readonly #strangers = new Map<string, Visitor>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is kept of one who comes now; he has a lane if he was let in a while ago. */
  of(key: string): Visitor {
    const before = this.#known.get(key);
    const known = before !== undefined && this.#clock.monotonic() - before.letInAt < KNOWN_MS;
    const visitor = before ?? this.#strangers.get(key) ??
      { identity: undefined, rights: new Map(), letInAt: Number.NEGATIVE_INFINITY, lane: undefined };
    if (before !== undefined && !known) {
      this.#known.delete(key);
      visitor.lane = undefined;
    }
    keep(known ? this.#known : this.#strangers, key, visitor, MAX_KEPT);
    return visitor;
  }

  /** He was let in. */
  letIn(key: string, visitor: Visitor): void {
    visitor.letInAt = this.#clock.monotonic();
    visitor.lane ??= new Lane(this.#clock, KNOWN);
    this.#strangers.delete(key);
    keep(this.#known, key, visitor, MAX_KEPT);
  }

  /** Keeps, or forgets, what a visitor may get. */
  keepRight({ rights, lane }: Visitor, path: string, kept: Kept<boolean> | undefined): void {
    if (kept === undefined) rights.delete(path);
    else keep(rights, path, kept, lane === undefined ? STRANGERS_PATHS : MAX_PATHS);
  }
}

/** Adds it as the newest of at most `most`. */
function keep<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}
