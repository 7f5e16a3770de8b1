/**
 * What to believe of an account that does not describe itself.
 *
 * @module
 */
import type { ProviderInfo } from "./port.ts";

/**
 * What `GET /v1` answering 404 means (cloud-api.md): account unknown, no tokens, 15 s read lag, 30 s effect bound. Passwords
 * and final snapshots are of the contract.
 */
export const UNKNOWN_ACCOUNT: ProviderInfo = {
  account: undefined,
  clientTokens: false,
  readLagSeconds: 15,
  effectBoundSeconds: 30,
  passwords: "asked",
  snapshots: true,
};
