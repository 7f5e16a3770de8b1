/**
 * One seed, many streams: each part of a world draws from its own, so that a change of one part's script leaves the
 * others' luck as it was (which is what makes shrinking work).
 *
 * @module
 */
import { type Random, seededRandom } from "../core/random.ts";

/** A source with the draws that scripts are made of. */
export class Dice implements Random {
  readonly #random: Random;

  constructor(seed: number, stream: string) {
    let h = seed >>> 0 ^ 0x9e3779b9;
    for (let i = 0; i < stream.length; i++) h = Math.imul(h ^ stream.charCodeAt(i), 0x01000193) >>> 0;
    this.#random = seededRandom(h);
    for (let i = 0; i < 3; i++) this.#random.next();
  }

  next(): number {
    return this.#random.next();
  }

  /** True with probability `p`. */
  chance(p: number): boolean {
    return p > 0 && this.next() < p;
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** A number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** One of `items`. */
  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error("Picking from nothing");
    return item;
  }

  /** One of the keys, as likely as its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let at = this.next() * entries.reduce((sum, [, w]) => sum + w, 0);
    for (const [key, weight] of entries) if ((at -= weight) < 0) return key;
    return entries.at(-1)![0];
  }
}
