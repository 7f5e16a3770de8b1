/** The part of `@std/async` that this project uses. */
export declare function abortable<T>(p: Promise<T>, signal: AbortSignal): Promise<T>;
export declare function abortable<T>(p: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T>;
export declare function pooledMap<T, R>(
  poolLimit: number,
  array: Iterable<T> | AsyncIterable<T>,
  iteratorFn: (data: T) => Promise<R>,
): AsyncIterableIterator<R>;
