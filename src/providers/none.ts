/**
 * No account: what stands where the operator has none of its own (`--provider none`), or a class is not there.
 *
 * @module
 */
import { type DatabaseProvider, ProviderError } from "./port.ts";

/** Its name, by which it is known. */
export const NO_PROVIDER = "none";

/** A provider that answers every call with `message`, and does nothing. */
export function createNoProvider(message: string): DatabaseProvider {
  const refuse = () => Promise.reject(new ProviderError("retryable", message));
  return {
    name: NO_PROVIDER,
    info: refuse,
    get: refuse,
    list: refuse,
    create: refuse,
    modify: refuse,
    delete: refuse,
  };
}
