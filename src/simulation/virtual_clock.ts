/**
 * The one clock of a simulated world: it jumps from timer to timer, in order of their due time.
 *
 * @module
 */
import { type Clock, MAX_TIMER_MS, type TimerId } from "../core/clock.ts";

interface Timer {
  readonly order: number;
  readonly due: number;
  /** Cleared when it fired or was cancelled. */
  fn: (() => void) | undefined;
}

/** Wall time at which every world begins. */
const WALL_ORIGIN = 1_760_000_000_000;

/** A clock that {@linkcode VirtualClock.step} moves. */
export class VirtualClock implements Clock {
  #now = 1_000;
  #order = 0;
  #pending = 0;
  readonly #heap: Timer[] = [];

  now(): number {
    return WALL_ORIGIN + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#pending;
  }

  setTimeout(fn: () => void, ms: number): TimerId {
    const wait = Math.min(Math.max(0, Number.isNaN(ms) ? 0 : ms), MAX_TIMER_MS);
    const timer: Timer = { order: this.#order++, due: this.#now + wait, fn };
    this.#push(timer);
    this.#pending++;
    return timer;
  }

  clearTimeout(id: TimerId): void {
    const timer = id as Timer | undefined;
    if (timer?.fn === undefined) return;
    timer.fn = undefined;
    this.#pending--;
  }

  /** Fires the next timer and moves to its time; `false` when none is due by `until`, to which the clock then moves. */
  step(until: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.due > until) {
        this.#now = Math.max(this.#now, until);
        return false;
      }
      this.#pop();
      const { fn } = next;
      if (fn === undefined) continue;
      this.#now = Math.max(this.#now, next.due);
      next.fn = undefined;
      this.#pending--;
      fn();
      return true;
    }
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let i = heap.push(timer) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (before(heap[parent]!, timer)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (before(last, heap[child]!)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}
