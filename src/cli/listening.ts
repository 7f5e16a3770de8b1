/**
 * Addresses that are listened on, and what is said when one is taken.
 *
 * @module
 */
import type { ListenAddress } from "./values.ts";

/** Listens by `start`. Rejects with an Error that names the address and the `flag` that changes it. */
export async function listening<T>(
  address: ListenAddress,
  flag: string,
  start: () => T | Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    const where = hostOf(address);
    throw new Error(`Listening on ${where} failed; choose another address with --${flag}`, { cause });
  }
}

/** `host:port`, as it stands in a URL. */
export function hostOf({ hostname, port }: ListenAddress): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
