/**
 * What the local provider promises.
 *
 * @module
 */
import type { ProviderInfo } from "../port.ts";

/** The promises of a folder; `account` is its identity. */
export function localInfo(account: string, timeoutMs: number): ProviderInfo {
  return {
    account: `local/${account}`,
    clientTokens: true,
    readLagSeconds: 0,
    effectBoundSeconds: Math.ceil(timeoutMs / 1_000),
    passwords: "always",
    deletionProtection: true,
  };
}
