/**
 * The metrics port: what the operator's parts count; Prometheus is one implementation of it (`src/server/`).
 *
 * @module
 */

/** Outcome of one pass of an actor's effect, as controller-runtime names them. */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after";

/** Counters and observations. Durations are in seconds, as Prometheus has them. */
export interface Metrics {
  /** One effect of an actor ended. */
  reconcile(result: ReconcileResult, seconds: number): void;
  /** One transition between top-level states; `from` is `undefined` for a new actor, `to` for one that stopped. */
  transition(from: string | undefined, to: string | undefined): void;
  /** One provider call ended; `outcome` is `ok` or a provider error class. */
  cloudCall(verb: string, outcome: string, seconds: number): void;
  /** One Kubernetes request ended; `code` is the HTTP status or an error kind. */
  kubeRequest(verb: string, code: string, seconds: number): void;
  /** An actor asked its cache. */
  cache(hit: boolean): void;
  /** Calls waiting in the provider's scheduler. */
  queueDepth(depth: number): void;
  /** A watch was opened again. */
  watchRestart(cause: string): void;
  /** A failed effect is to be retried. */
  retry(errorClass: string): void;
  /** An external database without a CR is known (S2). */
  orphans(count: number): void;
  /** An external database was left behind on purpose or by force. */
  released(cause: "retain" | "abandon" | "observeOnly" | "crdDeleted"): void;
}

/** Metrics that count nothing. */
export const noMetrics: Metrics = {
  reconcile: () => {},
  transition: () => {},
  cloudCall: () => {},
  kubeRequest: () => {},
  cache: () => {},
  queueDepth: () => {},
  watchRestart: () => {},
  retry: () => {},
  orphans: () => {},
  released: () => {},
};
