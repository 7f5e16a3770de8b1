/**
 * Awaiting a condition of the world, within a limit.
 *
 * @module
 */

/** Asks until the answer is something else than undefined or false, and returns it. Throws after `limitMs`, naming `what`. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  limitMs = 30_000,
  everyMs = 100,
): Promise<T> {
  const end = performance.now() + limitMs;
  while (true) {
    const answer = await probe();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`Waiting for ${what} took longer than ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
