/**
 * Which of two copies of an object is the newer, by their resourceVersion.
 *
 * @module
 */
const DECIMAL = /^\d+$/;

/** Whether resourceVersion `x` is older than `y`: only where both are decimal (KEP-5504); else nothing is known and it is not. */
export function isOlderVersion(x: string, y: string): boolean {
  if (!DECIMAL.test(x) || !DECIMAL.test(y)) return false;
  return x.length === y.length ? x < y : BigInt(x) < BigInt(y);
}

/** Anything that the API server gives a version. */
interface Versioned {
  readonly metadata: { readonly resourceVersion: string };
}

/** Whether `a` is an older copy than `b`. */
export function isOlder(a: Versioned, b: Versioned): boolean {
  return isOlderVersion(a.metadata.resourceVersion, b.metadata.resourceVersion);
}

/** The newer of two copies, the first where neither is; `undefined` is no copy. */
export function newerOf<T extends Versioned>(a: T, b: T | undefined): T;
export function newerOf<T extends Versioned>(a: T | undefined, b: T | undefined): T | undefined;
export function newerOf<T extends Versioned>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return isOlder(a, b) ? b : a;
}
