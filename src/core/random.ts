/**
 * Randomness as the operator sees it: injected, so that a run can be replayed from a seed.
 *
 * @module
 */

/** A source of uniform random numbers. */
export interface Random {
  /** The next number in [0, 1). */
  next(): number;
}

/** The platform's random source. */
export const systemRandom: Random = { next: () => Math.random() };

/** A small seeded source (mulberry32): the same seed gives the same numbers. */
export function seededRandom(seed: number): Random {
  let a = seed >>> 0;
  return {
    next() {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = a;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/** `ms` ± `fraction` (default 10 %), so that timers set together do not fire together. */
export function jitter(random: Random, ms: number, fraction = 0.1): number {
  return ms * (1 + fraction * (2 * random.next() - 1));
}
