/**
 * Counts of the last minute, in a few slots of time.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";

/** Length of one slot, in milliseconds. */
const SLOT_MS = 5_000;
/** Slots that are kept: a minute. */
const SLOTS = 12;

/** The time in slots, as {@linkcode MinuteCount} takes it. */
export function slotOf(clock: Clock): number {
  return Math.floor(clock.monotonic() / SLOT_MS);
}

/** How often something happened, since the start and in the last minute. */
export class MinuteCount {
  /** Since the start. */
  total = 0;
  readonly #counts = new Uint32Array(SLOTS);
  readonly #slots = new Int32Array(SLOTS).fill(-1);

  /** Counts it; `slot` is the time by {@linkcode slotOf}. */
  count(slot: number): void {
    const at = slot % SLOTS;
    if (this.#slots[at] !== slot) {
      this.#slots[at] = slot;
      this.#counts[at] = 0;
    }
    this.#counts[at]!++;
    this.total++;
  }

  /** How often in the minute that ends with `slot`. */
  lastMinute(slot: number): number {
    let sum = 0;
    for (let i = 0; i < SLOTS; i++) {
      const of = this.#slots[i]!;
      if (of >= 0 && of > slot - SLOTS) sum += this.#counts[i]!;
    }
    return sum;
  }
}
