/**
 * Steps of a test that build on one another.
 *
 * @module
 */

/** Runs each as a step of `t`, and throws when one failed, so that what builds on it is not tried. */
export function inOrder(t: Deno.TestContext): (name: string, work: () => Promise<void>) => Promise<void> {
  return async (name, work) => {
    if (!await t.step(name, work)) throw new Error(`What follows builds on the step that failed: ${name}`);
  };
}
