/**
 * What has a value at any time and is read when the metrics are: actors, queues, accounts, the process.
 *
 * @module
 */

/** One actor. */
export interface ActorReading {
  /** Top-level state of the statechart. */
  readonly state: string;
  /** Reason of the condition that says most. */
  readonly reason: string;
  readonly asleep: boolean;
  /** Age of a resource that was never Ready and waits neither for a person nor paused, in seconds. */
  readonly newForSeconds?: number | undefined;
}

/** One account of a provider. Times are Unix milliseconds. */
export interface AccountReading {
  /** Name of the class; `""` for the account of the flags. */
  readonly databaseClass: string;
  readonly provider: string;
  /** Calls that wait, by lane. */
  readonly queue: Readonly<Record<string, number>>;
  readonly running: number;
  /** Whether no call may start, as the provider throttles. */
  readonly throttled: boolean;
  /** How long it was throttled so far, in milliseconds. */
  readonly throttledMs: number;
  /** When the last complete list was begun; before the first, when the account began to be observed. */
  readonly listedAt: number;
  /** How often it is to be listed, in milliseconds. */
  readonly periodMs: number;
  /** Resources held back because many databases turned absent together. */
  readonly massAbsent: number;
  /** Databases whose resource is gone. */
  readonly orphans: number;
}

/** The operator at one moment. */
export interface Readings {
  /** Whether this process is the one that works. */
  readonly leading: boolean;
  readonly actors: Iterable<ActorReading>;
  /** Accounts that are observed; none in a process that stands by. */
  readonly accounts: readonly AccountReading[];
  /** Unix milliseconds of the last sign of life from the API server; absent before the first. */
  readonly kubernetesAt?: number | undefined;
  /** Whether the resources are listed and their watch lives. */
  readonly synced: boolean;
  /** Open connections to the HTTP server. @default 0 */
  readonly httpConnections?: number | undefined;
  /** Open streams of server-sent events. @default 0 */
  readonly streamClients?: number | undefined;
}
