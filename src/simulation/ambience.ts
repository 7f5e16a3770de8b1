/**
 * Takes ambient time, timers and chance away from the code that a simulation runs: what reached for them would differ
 * from run to run.
 *
 * `Date.now` stands still instead, for XState stamps what it schedules with it and nothing reads the stamp.
 *
 * @module
 */

/** What a simulation took away. */
export interface Ambience {
  /** The first reach for what was taken; to be thrown, for the code that reached may have swallowed it. */
  readonly stray: Error | undefined;
  /** Gives everything back. */
  restore(): void;
}

type Descriptors = readonly (readonly [object: object, name: string, value: unknown])[];

/** Replaces ambient time, timers and chance by functions that throw, until {@linkcode Ambience.restore}. */
export function withoutAmbience(): Ambience {
  let stray: Error | undefined;
  const refuse = (what: string) => (): never => {
    const error = new Error(`The simulation reached for the ambient ${what}`);
    stray ??= error;
    throw error;
  };
  const put = replace([
    ...["setTimeout", "setInterval", "setImmediate", "fetch"].map((n) => [globalThis, n, refuse(n)] as const),
    [globalThis, "Date", datesOnly(refuse("Date"))],
    [Math, "random", refuse("Math.random")],
    [performance, "now", refuse("performance.now")],
    [AbortSignal, "timeout", refuse("AbortSignal.timeout")],
    ...["randomUUID", "getRandomValues"].map((n) => [crypto, n, refuse(`crypto.${n}`)] as const),
  ]);
  return {
    get stray() {
      return stray;
    },
    restore: put,
  };
}

/** Dates that were given a time; `refuse` is called for the present one. */
function datesOnly(refuse: () => never): DateConstructor {
  const dates = function (...of: readonly number[]): Date {
    return of.length === 0 ? refuse() : Reflect.construct(OriginalDate, of);
  };
  dates.now = () => 0;
  dates.parse = OriginalDate.parse;
  dates.UTC = OriginalDate.UTC;
  dates.prototype = OriginalDate.prototype;
  return dates as unknown as DateConstructor;
}

const OriginalDate = Date;

/** Sets the values; the result puts back what was there. */
function replace(values: Descriptors): () => void {
  const before = values.map(([object, name]) =>
    [object, name, Object.getOwnPropertyDescriptor(object, name)] as const
  );
  for (const [object, name, value] of values) {
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const [object, name, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(object, name);
      else Object.defineProperty(object, name, descriptor);
    }
  };
}
