/**
 * What a reflector and its loops share: their times, their options, and how a failure reads.
 *
 * @module
 */
import { CRD_NAME } from "../api/constants.ts";
import type { ExternalDatabase } from "../api/schema.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { KubeError, type Source, type Watched } from "./port.ts";
import type { ReflectorStore } from "./reflector_store.ts";

/** The times of a reflector, in milliseconds unless the name says otherwise. */
export interface ReflectorTimes {
  /** The server ends a watch after this many seconds. @default 290 */
  readonly watchTimeoutSeconds: number;
  /** A watch that said nothing for its time-out and this much longer is dead. @default 5_000 */
  readonly idleMarginMs: number;
  /** Once the server has sent a bookmark, a watch that said nothing for this long is dead. @default 150_000 */
  readonly bookmarkLimitMs: number;
  /** First back-off. @default 800 */
  readonly backoffBaseMs: number;
  /** Longest back-off. @default 30_000 */
  readonly backoffCapMs: number;
  /** Contact without a failure for this long resets the back-off. @default 120_000 */
  readonly healthyMs: number;
  /** A list older than what was seen, which no read proves old or new, is refused for this long. @default 60_000 */
  readonly staleListMs: number;
  /** A list is at most this old when a watch is opened. @default 1_800_000 */
  readonly relistMs: number;
}

/** What a loop takes from its reflector. */
export interface LoopOptions<T extends Watched = ExternalDatabase> {
  readonly cluster: Source<T>;
  /** What is followed, for people. */
  readonly what: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly store: ReflectorStore<T>;
  readonly namespace: string | undefined;
  readonly pageSize: number;
  readonly times: ReflectorTimes;
  /** The newest copy of a UID that whoever is told holds, such as the answer of its own write. */
  readonly held: ((uid: string) => T | undefined) | undefined;
  /** Whether a copy shows an object as it was before whoever is told let it go. */
  readonly released: ((object: T) => boolean) | undefined;
  onUpsert(object: T, lost?: string): void;
  onGone(object: T): void;
  onListed(): void;
  onReadiness(): void;
}

/** A watch said nothing for longer than a living one does (W2). */
export class SilentWatchError extends Error {
  override readonly name = "SilentWatchError";
}

/** Why there is no contact, for readiness. */
export function reasonOf(error: unknown, namespace: string | undefined): string {
  const message = messageOf(error);
  if (!(error instanceof KubeError)) return message;
  if (error.kind === "notFound") return `the CRD ${CRD_NAME} is not installed`;
  if (error.kind === "forbidden") {
    return `forbidden: ${message}${namespace === undefined ? "" : ` (namespace ${namespace})`}`;
  }
  return message;
}
