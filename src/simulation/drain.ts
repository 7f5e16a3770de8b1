/**
 * Runs a simulation step by step, with all microtasks run between two steps.
 *
 * Inside a `setImmediate` callback Deno's own `runMicrotasks` drains them in 0.4 µs; where that is missing, one turn of
 * the event loop a step does the same, five times slower.
 *
 * @module
 */
import { setImmediate } from "node:timers";

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

/**
 * Runs `work` without ambient time and timers: what reached for them would differ from run to run. `Date.now` stands
 * still, for XState stamps its inspection events with it; its random ids tell its timers apart and nothing else.
 */
function withoutAmbience<T>(work: () => T): T {
  const ambient = { setTimeout: globalThis.setTimeout, setInterval: globalThis.setInterval };
  const { now } = Date;
  const refuse = (what: string) => (): never => {
    throw new Error(`The simulation reached for the ambient ${what}`);
  };
  Date.now = () => 0;
  Object.assign(globalThis, { setTimeout: refuse("setTimeout"), setInterval: refuse("setInterval") });
  try {
    return work();
  } finally {
    Date.now = now;
    Object.assign(globalThis, ambient);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Calls `step` until it returns `false`; rejects with what it throws. `fast: false` takes the public way. */
export async function drive(step: () => boolean, options: { readonly fast?: boolean } = {}): Promise<void> {
  const runMicrotasks = options.fast === false ? undefined : core()?.runMicrotasks;
  if (runMicrotasks === undefined) {
    do await turn(); while (step());
    return;
  }
  let more = true;
  while (more) {
    more = await new Promise<boolean>((resolve, reject) => {
      setImmediate(() => {
        try {
          resolve(withoutAmbience(() => {
            for (let n = 0; n < STEPS_A_TURN; n++) {
              runMicrotasks();
              if (!step()) return false;
            }
            return true;
          }));
        } catch (error) {
          reject(error);
        }
      });
    });
  }
  await turn(); // an unhandled rejection shows now
}
