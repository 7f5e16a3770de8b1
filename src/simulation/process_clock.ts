/**
 * Time as one simulated process sees it: its own origin and wall clock, no timer while it is frozen, none after it died.
 *
 * @module
 */
import type { Clock, TimerId } from "../core/clock.ts";
import type { VirtualClock } from "./virtual_clock.ts";

interface Owned {
  world: TimerId;
  readonly fn: () => void;
}

/** A process's clock. */
export class ProcessClock implements Clock {
  readonly #timers = new Set<Owned>();
  readonly #world: VirtualClock;
  readonly #origin: number;
  #backlog: (() => void)[] | undefined;
  #dead = false;
  /** The wall clock's error, in milliseconds. */
  skewMs = 0;

  constructor(world: VirtualClock) {
    this.#world = world;
    this.#origin = world.monotonic() - 1;
  }

  now(): number {
    return this.#world.now() + this.skewMs;
  }

  monotonic(): number {
    return this.#world.monotonic() - this.#origin;
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Whether nothing runs now. */
  get frozen(): boolean {
    return this.#backlog !== undefined;
  }

  setTimeout(fn: () => void, ms: number): TimerId {
    if (this.#dead) return undefined;
    const owned: Owned = { world: undefined, fn };
    const fire = () => {
      if (!this.#timers.delete(owned)) return;
      fn();
    };
    owned.world = this.#world.setTimeout(() => this.resume(fire), ms);
    this.#timers.add(owned);
    return owned;
  }

  clearTimeout(id: TimerId): void {
    const owned = id as Owned | undefined;
    if (owned === undefined || !this.#timers.delete(owned)) return;
    this.#world.clearTimeout(owned.world);
  }

  /** Runs `fn` now, when the process wakes, or never. */
  resume(fn: () => void): void {
    if (this.#dead) return;
    if (this.#backlog === undefined) fn();
    else this.#backlog.push(fn);
  }

  /** Nothing runs until {@linkcode wake}. */
  freeze(): void {
    if (!this.#dead) this.#backlog ??= [];
  }

  /** What became due meanwhile runs, one after the other. */
  wake(): void {
    const backlog = this.#backlog ?? [];
    this.#backlog = undefined;
    for (const fn of backlog) this.#world.setTimeout(() => this.resume(fn), 0);
  }

  /** Nothing runs any more. */
  kill(): void {
    this.#dead = true;
    this.#backlog = undefined;
    for (const { world } of this.#timers) this.#world.clearTimeout(world);
    this.#timers.clear();
  }
}
