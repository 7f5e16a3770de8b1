/**
 * What an operator is given.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Entropy } from "../core/passwords.ts";
import type { Random } from "../core/random.ts";
import type { Tracing } from "../core/tracing.ts";
import type { Cluster, EventRecorder } from "../kube/port.ts";
import type { ReflectorOptions } from "../kube/reflector.ts";
import type { Secrets } from "../kube/secrets_port.ts";
import type { DatabaseProvider } from "../providers/port.ts";
import type { ClassesDeps } from "./classes.ts";
import type { History } from "./history/history.ts";
import type { KeeperEnv, Transition } from "./keeper.ts";

/** What the operator is made of and tuned by. Times are in milliseconds. */
export interface OperatorDeps {
  readonly cluster: Cluster;
  readonly provider: DatabaseProvider;
  /** The way to Secrets; absent: a resource that asks for a connection Secret is told that there is none. */
  readonly secrets?: Secrets | undefined;
  /** What passwords are made of. @default the platform's cryptographic source */
  readonly entropy?: Entropy | undefined;
  /** Absent: there are no classes. */
  readonly classes?: ClassesDeps | undefined;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Told of passes, effects and calls. @default nobody is */
  readonly tracing?: Tracing | undefined;
  /** @default all */
  readonly namespaces?: readonly string[] | undefined;
  /** Period of the bulk list. @default 300_000 */
  readonly pollIntervalMs?: number;
  /** @default 300_000 */
  readonly cacheTtlMs?: number;
  /** Calls to the provider at once. @default 64 */
  readonly concurrency?: number;
  /** Calls to the provider a second; 0 means no limit. @default 0 */
  readonly ratePerSecond?: number;
  /** @default 30_000 */
  readonly callTimeoutMs?: number;
  /** Identity of the cluster; absent means the UID of the namespace kube-system. */
  readonly clusterId?: string | undefined;
  /** Throws when this process may not change anything at the provider now (rule 21). */
  readonly fence?: (() => void) | undefined;
  /** @default 600_000 */
  readonly hibernateAfterMs?: number;
  readonly onTransition?: (transition: Transition) => void;
  readonly inspect?: KeeperEnv["inspect"];
  /** Keeps what each actor went through. @default nothing is kept */
  readonly history?: History | undefined;
  readonly reflector?: Partial<ReflectorOptions>;
}
