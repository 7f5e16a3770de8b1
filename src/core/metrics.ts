/**
 * The metrics port: what the operator's parts count; Prometheus is one implementation of it (`src/server/`).
 *
 * What has a value at any time, such as the length of a queue, is not told but read when the metrics are.
 *
 * @module
 */

/** Outcome of one pass of an actor's effect, as controller-runtime names them. */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after";

/** The account that a call goes to. */
export interface AccountLabels {
  /** Name of the provider. */
  readonly provider: string;
  /** Name of the class of databases; `""` for the account of the flags. */
  readonly databaseClass: string;
}

/** Counters and observations. Durations are in seconds, as Prometheus has them. */
export interface Metrics {
  /** One effect of an actor ended. */
  reconcile(result: ReconcileResult, seconds: number, effect: string): void;
  /** One transition between top-level states; `from` is `undefined` for a new actor, `to` for one that stopped. */
  transition(from: string | undefined, to: string | undefined): void;
  /** One provider call ended; `outcome` is `ok` or a provider error class. */
  cloudCall(account: AccountLabels, verb: string, outcome: string, seconds: number): void;
  /** One provider call was started, after so long in its lane. */
  queued(databaseClass: string, lane: string, seconds: number): void;
  /** One Kubernetes request ended; `code` is the HTTP status or an error kind. */
  kubeRequest(verb: string, code: string, seconds: number): void;
  /** An actor asked its cache. */
  cache(hit: boolean): void;
  /** A watch was opened again. */
  watchRestart(cause: string): void;
  /** A failed effect is to be retried. */
  retry(errorClass: string, effect: string): void;
  /** An external database was left behind on purpose or by force. */
  released(cause: "retain" | "abandon" | "observeOnly" | "crdDeleted"): void;
  /** A resource is Ready for the first time, so long after it was made. */
  ready(databaseClass: string, seconds: number): void;
  /** A database was found to differ though its spec had not changed, for that reason; or is as the spec asks again. */
  drift(what: "found" | "repaired", reason: string): void;
  /** An actor crashed. */
  crash(): void;
  /** A step or a call of an actor could not be noted in its history. */
  noteFailed(): void;
}

/** Metrics that count nothing. */
export const noMetrics: Metrics = {
  reconcile: () => {},
  transition: () => {},
  cloudCall: () => {},
  queued: () => {},
  kubeRequest: () => {},
  cache: () => {},
  watchRestart: () => {},
  retry: () => {},
  released: () => {},
  ready: () => {},
  drift: () => {},
  crash: () => {},
  noteFailed: () => {},
};
