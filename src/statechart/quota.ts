/**
 * The soft quota: what is said of a database that holds more than its `sizeGb`, where nothing enforces that.
 *
 * It is told and nothing more: such a database is neither made read-only nor taken for drifted.
 *
 * @module
 */
import type { Verdict } from "./decision.ts";
import type { ExternalState } from "./knowledge.ts";

/**
 * What the condition `WithinQuota` is to say of a database that was just seen; `undefined` where it was not measured.
 * `usedGb` is rounded up, so that it says more than `sizeGb` exactly when the database holds more.
 */
export function quotaVerdict({ usedGb, sizeGb }: ExternalState): Verdict | undefined {
  if (usedGb === undefined) return undefined;
  if (usedGb <= sizeGb) {
    return {
      status: "True",
      reason: "WithinQuota",
      message: `The database holds no more than its quota of ${sizeGb} GiB`,
    };
  }
  return {
    status: "False",
    reason: "QuotaExceeded",
    message:
      `The database holds ${usedGb} GiB, more than its quota of ${sizeGb} GiB. Nothing is refused or ` +
      "stopped; raise sizeGb, or remove data",
  };
}
