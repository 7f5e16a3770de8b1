/**
 * Says that an actor crashed (F4): in the log, and in the condition `ActorFailed`, written past the actor that cannot
 * write it.
 *
 * @module
 */
import type { ExternalDatabase } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { messageOf } from "../core/text.ts";
import { patchStatus } from "../kube/patches.ts";
import { type Cluster, KubeError } from "../kube/port.ts";
import { withTimes } from "../statechart/status.ts";
import { keyOf, timestamp } from "./effects/env.ts";

/** What a report works with. */
export interface CrashEnv {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Logs the `crashes`th crash in a row and writes the condition; a write that fails is logged and not tried again, for the restart follows. */
export function reportCrash(
  env: CrashEnv,
  object: ExternalDatabase,
  error: unknown,
  crashes: number,
  signal: AbortSignal,
): void {
  const { namespace, name, uid } = object.metadata;
  const message = messageOf(error);
  env.log.log("error", "An actor crashed and will be restarted from cluster state", {
    namespace,
    name,
    uid,
    crashes,
    error: message,
  });
  writeCondition(env, object, message, signal).catch((failed: unknown) => {
    env.log.log("warn", "Failed to report a crashed actor", {
      namespace,
      name,
      error: messageOf(failed),
    });
  });
}

async function writeCondition(
  { cluster, clock }: CrashEnv,
  object: ExternalDatabase,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const failed = {
    status: "Unknown" as const,
    reason: "ActorFailed",
    message: `The operator failed on this resource and tries again: ${message}`.slice(0, 512),
    observedGeneration: object.metadata.generation,
  };
  const quota = object.status?.conditions?.filter(({ type }) => type === "WithinQuota") ?? []; // no word on that
  const conditions = withTimes(
    object.status,
    [{ type: "Ready", ...failed }, { type: "Synced", ...failed }, ...quota],
    timestamp(clock),
  );
  const operations = patchStatus(object, { conditions });
  if (operations === undefined) return;
  try {
    await cluster.patchStatus(keyOf(object), operations, { signal });
  } catch (error) {
    if (!(error instanceof KubeError) || error.kind !== "notFound") throw error;
  }
}
