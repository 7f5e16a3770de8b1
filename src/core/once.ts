/**
 * Work that is done for whoever asks first, and kept for all who ask after.
 *
 * @module
 */

/** `make`, done at the first call and kept; one that failed is done anew at the next call. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
}
