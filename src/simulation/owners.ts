/**
 * Whose each database was, and when that changed, by the cloud's own ledger: what a process read just before still guides it.
 *
 * @module
 */
import { TAG } from "../api/constants.ts";
import type { Effect } from "../providers/simulated/ledger.ts";
import type { World } from "./world.ts";

/** What an effect met. */
export interface Met {
  /** The tags before it, where it was there. */
  readonly before: Readonly<Record<string, string>> | undefined;
  /** It was sent before another resource took the database: no other process could know that it would land. */
  readonly late: boolean;
}

/** Keeps the owners of all databases. */
export class Owners {
  readonly #tags = new Map<string, Readonly<Record<string, string>>>();
  /** Databases with each UID that they ever carried. */
  readonly #ever = new Set<string>();
  /** When a call of the API last gave a database another owner, in milliseconds of the cloud's clock. */
  readonly #transferAt = new Map<string, number>();
  /** The same in those of the world. */
  readonly #takenAt = new Map<string, number>();
  /** When a UID last lost a database so, by both. */
  readonly #lostAt = new Map<string, number>();

  /** `noticeMs`: how long a process may go by what it read before. */
  constructor(private readonly world: World, private readonly noticeMs: number) {}

  /** Notes an effect; says what it met. */
  note(effect: Effect): Met {
    const { id, uid, kind, by, at, tags } = effect;
    const before = this.#tags.get(id);
    this.#tags.set(id, tags);
    this.#ever.add(key(id, tags[TAG.uid]));
    if (by !== "api" || kind !== "modify" || before === undefined || before[TAG.uid] === uid) {
      return { before, late: false };
    }
    const late = this.#sentAt(effect) < (this.#transferAt.get(id) ?? Number.NEGATIVE_INFINITY);
    const now = this.world.clock.monotonic();
    this.#transferAt.set(id, at);
    this.#takenAt.set(id, now);
    this.#lostAt.set(key(id, before[TAG.uid]), now);
    return { before, late };
  }

  /** Whether a database ever carried a UID. */
  wasEver(id: string, uid: string): boolean {
    return this.#ever.has(key(id, uid));
  }

  /** Whether it has another owner since a moment ago: whoever read it just before records it still. */
  isTakenLately(id: string): boolean {
    return this.#isLately(this.#takenAt.get(id));
  }

  /** Whether it was this UID's until a moment ago. */
  isLostLately(id: string, uid: string): boolean {
    return this.#isLately(this.#lostAt.get(key(id, uid)));
  }

  #isLately(at: number | undefined): boolean {
    return at !== undefined && this.world.clock.monotonic() - at < this.noticeMs;
  }

  /** When the last call that gave a database this owner was sent. */
  #sentAt({ id, uid, at }: Effect): number {
    const calls = this.world.cloud.ledger.calls({ verb: "modify" });
    return calls.findLast((call) => call.id === id && call.tags?.[TAG.uid] === uid)?.at ?? at;
  }
}

function key(id: string, uid: string | undefined): string {
  return `${id} ${uid}`;
}
