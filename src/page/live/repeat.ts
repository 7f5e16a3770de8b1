/**
 * Something that is done now and again while somebody looks, and not at all while nobody does.
 *
 * @module
 */

/** What a {@linkcode Repeat} takes from the browser. */
export interface RepeatPorts {
  /** Milliseconds. */
  readonly now: () => number;
  /** Calls after so many milliseconds; what it answers calls that off. */
  readonly later: (work: () => void, ms: number) => () => void;
}

/** Repeats `work`, which must not throw; it rests until {@linkcode Repeat.resume}. */
export class Repeat {
  readonly #ports: RepeatPorts;
  readonly #work: () => void;
  readonly #everyMs: number;
  #last = -Infinity;
  #cancel: (() => void) | undefined;

  constructor(ports: RepeatPorts, work: () => void, everyMs: number) {
    this.#ports = ports;
    this.#work = work;
    this.#everyMs = everyMs;
  }

  /** Goes on: at once where it is due, else when it will be. */
  resume(): void {
    if (this.#cancel !== undefined) return;
    const wait = this.#last + this.#everyMs - this.#ports.now();
    if (wait > 0) this.#schedule(wait);
    else this.#do();
  }

  /** Rests. */
  pause(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #do(): void {
    this.#last = this.#ports.now();
    this.#schedule(this.#everyMs);
    this.#work();
  }

  #schedule(ms: number): void {
    this.#cancel = this.#ports.later(() => this.#do(), ms);
  }
}
