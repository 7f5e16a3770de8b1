/**
 * What becomes of an error inside of the history: it is the operator's eye, and must never hurt its hand.
 *
 * @module
 */
import type { Logger } from "../../core/log.ts";
import type { Metrics } from "../../core/metrics.ts";
import { messageOf } from "../../core/text.ts";

/** Takes an error that came while something was noted. */
export type Failed = (error: unknown) => void;

/** Throws it on, into the actor or the call that was noted: for tests and simulations, where it is to be seen. */
export const thrownOn: Failed = (error) => {
  throw error;
};

/** Counts each and logs the first; what was to be noted is missing, and nothing else. */
export function toldOnce(
  { log, metrics }: { readonly log: Logger; readonly metrics: Pick<Metrics, "noteFailed"> },
): Failed {
  let told = false;
  return (error) => {
    metrics.noteFailed();
    if (told) return;
    told = true;
    log.log("error", "A step could not be noted in the history; further ones are only counted", {
      error: messageOf(error),
    });
  };
}
