/**
 * Waits for a condition in real time, bounded.
 *
 * @module
 */

/** Resolves once `condition` holds, looked at every `everyMs` milliseconds; throws after `limitMs`, naming `what`. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 10_000,
  everyMs = 3,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`${what}: not within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
