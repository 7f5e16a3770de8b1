/**
 * What goes wrong at the simulated cloud: scripted ("the next create loses its answer"), for a time, or by chance.
 *
 * @module
 */
import type { Random } from "../../core/random.ts";
import type { CloudSettings } from "./settings.ts";
import type { Refusal, Verb } from "./types.ts";
import { isMutation } from "./types.ts";

/** One thing that goes wrong with one call. */
export interface Fault {
  /** What the caller gets: the true answer (absent), nothing and a broken connection, nothing at all, or a refusal. */
  readonly answer?: "lost" | "stall" | Refusal | undefined;
  /**
   * Whether the call takes effect: never, in time, or late (within the effect bound).
   * @default "none" with a refusal, else "done"
   */
  readonly effect?: "none" | "done" | "late" | undefined;
  /** Extra time before the effect, in milliseconds, cut to the effect bound. */
  readonly delayMs?: number | undefined;
}

/** When a {@linkcode Fault} happens. All that is given must match. */
export interface FaultRule {
  readonly verbs?: readonly Verb[] | undefined;
  /** Id of the database. */
  readonly id?: string | undefined;
  /** UID tag of the database or of the create. */
  readonly uid?: string | undefined;
  /** Calls of this caller. */
  readonly caller?: string | undefined;
  /** Matching calls that pass before the first fault. @default 0 */
  readonly skip?: number | undefined;
  /** How often it happens. @default without end */
  readonly times?: number | undefined;
  /** How long it lasts from now, in milliseconds. @default without end */
  readonly forMs?: number | undefined;
  /** @default 1 */
  readonly probability?: number | undefined;
  readonly fault: Fault;
}

/** What rules are matched against. */
export interface FaultContext {
  readonly verb: Verb;
  readonly id: string | undefined;
  readonly uid: string | undefined;
  readonly caller: string | undefined;
}

/** The answers that clouds give, for short rules. */
export const REFUSALS = {
  internalError: { status: 500, code: "InternalError", message: "Internal error" },
  unavailable: { status: 503, code: "Unavailable", message: "Service unavailable" },
  unauthenticated: { status: 401, code: "Unauthenticated", message: "The credentials are not valid" },
  forbidden: { status: 403, code: "Forbidden", message: "The credentials do not allow this" },
  notFound: { status: 404, code: "NotFound", message: "Not found" },
  throttled: { status: 429, code: "Throttled", message: "Too many requests", retryAfterSeconds: 1 },
  snapshotFailed: { status: 409, code: "SnapshotFailed", message: "The final snapshot failed" },
} as const satisfies Record<string, Refusal>;

interface LiveRule extends FaultRule {
  readonly number: number;
  readonly until: number;
  toSkip: number;
  left: number;
}

/** The rules in force. The first that matches decides. */
export class Faults {
  #rules: LiveRule[] = [];
  #number = 0;

  constructor(
    private readonly random: Random,
    private readonly settings: CloudSettings,
    private readonly monotonic: () => number,
  ) {}

  /** Adds a rule; the result removes it. */
  add(rule: FaultRule): () => void {
    const number = ++this.#number;
    this.#rules.push({
      ...rule,
      number,
      until: rule.forMs === undefined ? Infinity : this.monotonic() + rule.forMs,
      toSkip: rule.skip ?? 0,
      left: rule.times ?? Infinity,
    });
    return () => {
      this.#rules = this.#rules.filter((r) => r.number !== number);
    };
  }

  /** The next `times` calls of `verb` take effect and lose their answer. */
  loseAnswer(verb: Verb, times = 1): void {
    this.add({ verbs: [verb], times, fault: { answer: "lost", effect: "done" } });
  }

  /** The next `times` calls of `verb` lose their answer, and take effect late. */
  lateEffect(verb: Verb, times = 1, delayMs?: number): void {
    this.add({ verbs: [verb], times, fault: { answer: "lost", effect: "late", delayMs } });
  }

  /** The next `times` calls of `verb` are refused; with `effect: "done"` after they took effect. */
  refuse(verb: Verb, refusal: Refusal, times = 1, effect: "none" | "done" | "late" = "none"): void {
    this.add({ verbs: [verb], times, fault: { answer: refusal, effect } });
  }

  /** Every call is refused without effect, for `forMs` or until the result is called (C5, A3). */
  outage(refusal: Refusal, forMs?: number): () => void {
    return this.add({ forMs, fault: { answer: refusal, effect: "none" } });
  }

  /** Ends all rules; the chances in the settings stay. */
  clear(): void {
    this.#rules = [];
  }

  /** The rules in force, as they were given. */
  list(): FaultRule[] {
    return this.#rules.map(({ number: _number, until: _until, toSkip: _toSkip, left, ...rule }) => ({
      ...rule,
      ...(left === Infinity ? {} : { times: left }),
    }));
  }

  /** What goes wrong with this call, or `undefined`. Draws only where there is a chance to draw for. */
  pick(context: FaultContext): Fault | undefined {
    const now = this.monotonic();
    if (this.#rules.length > 0) this.#rules = this.#rules.filter((r) => r.left > 0 && r.until > now);
    for (const rule of this.#rules) {
      if (rule.verbs !== undefined && !rule.verbs.includes(context.verb)) continue;
      if (rule.id !== undefined && rule.id !== context.id) continue;
      if (rule.uid !== undefined && rule.uid !== context.uid) continue;
      if (rule.caller !== undefined && rule.caller !== context.caller) continue;
      if (rule.toSkip > 0) {
        rule.toSkip--;
        continue;
      }
      if (!this.#chance(rule.probability ?? 1)) continue;
      rule.left--;
      return rule.fault;
    }
    const s = this.settings;
    if (this.#chance(s.failBefore)) return { answer: REFUSALS.unavailable, effect: "none" };
    if (this.#chance(s.loseAnswers)) return { answer: "lost", effect: "done" };
    if (this.#chance(s.failAfter)) return { answer: REFUSALS.internalError, effect: "done" };
    if (isMutation(context.verb) && this.#chance(s.lateEffects)) return { answer: "lost", effect: "late" };
    return undefined;
  }

  #chance(p: number): boolean {
    return p >= 1 || (p > 0 && this.random.next() < p);
  }
}
