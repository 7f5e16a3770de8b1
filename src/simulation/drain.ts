/**
 * Runs a simulation step by step, with all microtasks run between two steps.
 *
 * Inside a `setImmediate` callback Deno's own `runMicrotasks` drains them in 0.4 µs; where that is missing, one turn of
 * the event loop a step does the same, five times slower.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { type Ambience, withoutAmbience } from "./ambience.ts";

interface Core {
  readonly runMicrotasks?: () => void;
}

function core(): Core | undefined {
  const deno = Deno as unknown as Record<PropertyKey, { readonly core?: Core } | undefined> & {
    readonly internal?: PropertyKey;
  };
  return deno.internal === undefined ? undefined : deno[deno.internal]?.core;
}

/** Steps between two turns of the event loop, so that an unhandled rejection shows and signals are heard. */
const STEPS_A_TURN = 20_000;

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Calls `step` until it returns `false`, without ambient time, timers and chance; rejects with what it throws, and when
 * anything that ran reached for what was taken away. `fast: false` takes the public way.
 */
export async function drive(step: () => boolean, options: { readonly fast?: boolean } = {}): Promise<void> {
  const runMicrotasks = options.fast === false ? undefined : core()?.runMicrotasks;
  if (runMicrotasks === undefined) await driveSlowly(step);
  else {
    while (await someSteps(step, runMicrotasks));
    await turn(); // an unhandled rejection shows now
  }
}

async function driveSlowly(step: () => boolean): Promise<void> {
  const ambience = withoutAmbience();
  try {
    let more = true;
    while (more) {
      await turn();
      more = step();
      check(ambience);
    }
  } finally {
    ambience.restore();
  }
}

function someSteps(step: () => boolean, runMicrotasks: () => void): Promise<boolean> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      const ambience = withoutAmbience();
      try {
        let more = true;
        for (let n = 0; more && n < STEPS_A_TURN; n++) {
          runMicrotasks();
          more = step();
          check(ambience);
        }
        resolve(more);
      } catch (error) {
        reject(error);
      } finally {
        ambience.restore();
      }
    });
  });
}

function check({ stray }: Ambience): void {
  if (stray !== undefined) throw stray;
}
