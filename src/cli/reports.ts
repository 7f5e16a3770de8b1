/**
 * What `/healthz` and `/readyz` say of a hosted operator.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Operator } from "../operator/operator.ts";
import type { Phase } from "../operator/tenure.ts";
import type { HealthReport, ReadyReport } from "../server/http.ts";
import type { LoopMonitor } from "../server/loop.ts";

/** The part of an operator that the reports read. */
export interface Reported {
  readonly operator: {
    readonly reflector: Pick<
      Operator["reflector"],
      "synced" | "reason" | "lastContact" | "lastAttempt" | "size"
    >;
    readonly account: Pick<Operator["account"], "error">;
    /** Throws until the cluster's identity was read; only then the reflector runs. */
    readonly clusterId: string;
    /** Why it could not be read last. */
    readonly identityError: string | undefined;
  };
  readonly clock: Clock;
  readonly loop: Pick<LoopMonitor, "lagMs">;
  /** Who holds the lease, as last seen. */
  readonly holder: () => string | undefined;
  /** Why the lease could not be read or taken last, while that is so. */
  readonly leaseError: () => string | undefined;
}

/** Attempts to reach the API server come at least this often, in milliseconds: a watch lasts 290 s, a back-off 30 s. */
const ATTEMPT_LIMIT_MS = 600_000;
/** The event loop is stuck when a tick is this late, in milliseconds. */
const LAG_LIMIT_MS = 30_000;
/** A quiet watch gives a sign of life a minute; three are missing when this many milliseconds passed. */
const CONTACT_LIMIT_MS = 180_000;

/** Healthy while the event loop turns and attempts to reach the API server are made; whether they succeed is no matter. */
export function healthOf({ operator, clock, loop }: Reported, phase: Phase): HealthReport {
  const reasons: string[] = [];
  const lag = loop.lagMs();
  if (lag > LAG_LIMIT_MS) reasons.push(`The event loop is ${seconds(lag)} late`);
  if (phase === "working" && isIdentified(operator)) {
    const { lastAttempt, lastContact } = operator.reflector;
    const idle = clock.monotonic() - Math.max(lastAttempt, lastContact);
    if (idle > ATTEMPT_LIMIT_MS) reasons.push(`No attempt to reach the API server for ${seconds(idle)}`);
  }
  return { healthy: reasons.length === 0, reasons };
}

/** Ready when the resources are listed and the watch lives; a standby is ready to take over. */
export function readyOf({ operator, clock, holder, leaseError }: Reported, phase: Phase): ReadyReport {
  if (phase === "stopping") return { ready: false, reasons: ["The operator is stopping"] };
  if (phase === "standby") {
    const by = holder();
    const error = leaseError();
    const reasons = [by ? `Standing by: the lease is held by ${by}` : "Waiting for the lease"];
    if (error !== undefined) reasons.push(`The lease cannot be had: ${error}`);
    // One that never saw the lease may lack the right to, and would take over nothing.
    return { ready: by !== undefined || error === undefined, reasons };
  }
  if (!isIdentified(operator)) {
    const { identityError } = operator;
    const reason = identityError === undefined
      ? "The API server has not answered yet: the cluster's identity is not known"
      : `The cluster's identity is not known yet: ${identityError}`;
    return { ready: false, reasons: [reason] };
  }
  const { reflector, account } = operator;
  const silent = clock.monotonic() - reflector.lastContact;
  const reasons: string[] = [];
  if (!reflector.synced) {
    reasons.push(`Not in step with the cluster: ${reflector.reason ?? "the list is not done"}`);
  }
  if (silent > CONTACT_LIMIT_MS) reasons.push(`No sign of life from the API server for ${seconds(silent)}`);
  const ready = reasons.length === 0;
  if (ready) {
    reasons.push(`${reflector.size} resources; last sign of life from the API server ${seconds(silent)} ago`);
    if (reflector.reason !== undefined) reasons.push(`Reconnecting: ${reflector.reason}`);
  }
  // A cloud that does not answer is seen in each resource's conditions; another process would not help.
  if (account.error !== undefined) reasons.push(`The provider does not answer: ${account.error}`);
  return { ready, reasons };
}

function isIdentified(operator: Reported["operator"]): boolean {
  try {
    return operator.clusterId !== "";
  } catch {
    return false; // the getter's way to say "not yet"; reading it is tried again with back-off for as long as it takes
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
