/**
 * The port to the cluster: the few requests that the operator makes of a Kubernetes API, and the one error they
 * fail with. `client.ts` implements it over `@kubernetes/client-node`; the simulation over a model.
 *
 * @module
 */
import type { ExternalDatabase, ObjectKey } from "../api/schema.ts";

/** One operation of an RFC 6902 JSON patch. */
export type JsonPatchOperation =
  | { readonly op: "test" | "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** What every request takes. */
export interface RequestOptions {
  readonly signal: AbortSignal;
}

/** What a list takes. */
export interface ListRequest extends RequestOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly limit?: number;
  readonly continueToken?: string | undefined;
}

/** One page of a list. */
export interface ListPage<T = ExternalDatabase> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continueToken?: string | undefined;
}

/** What a watch takes. */
export interface WatchRequest extends RequestOptions {
  readonly namespace?: string | undefined;
  readonly resourceVersion: string;
  /** The server ends the watch after this many seconds. */
  readonly timeoutSeconds: number;
  /** Called once the server has accepted the watch, which may be long before its first event. */
  readonly onOpen?: (() => void) | undefined;
}

/** One event of a watch. An `ERROR` event is thrown as a {@linkcode KubeError}. */
export type WatchEvent<T = ExternalDatabase> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

/** An object that can be followed: what a reflector reads of it. */
export interface Watched {
  readonly metadata: Pick<ExternalDatabase["metadata"], "name" | "namespace" | "uid" | "resourceVersion"> & {
    readonly generation?: number;
    readonly deletionTimestamp?: string | undefined;
    readonly finalizers?: readonly string[] | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** What a reflector follows one kind of object by. */
export interface Source<T extends Watched = ExternalDatabase> {
  /** Quorum read of one; kind `notFound` when it is gone. */
  get(key: ObjectKey, options: RequestOptions): Promise<T>;
  list(request: ListRequest): Promise<ListPage<T>>;
  /** Opens a watch with bookmarks. The iterable ends when the server ends it and throws when the stream breaks. */
  watch(request: WatchRequest): AsyncIterable<WatchEvent<T>>;
}

/** What the operator knows of its own CRD (rule 13). */
export type CrdState = "established" | "terminating" | "missing";

/** An Event to be recorded about a CR (events.k8s.io/v1). */
export interface EventRecord {
  readonly regarding: ExternalDatabase;
  readonly type: "Normal" | "Warning";
  /** CamelCase, for machines. */
  readonly reason: string;
  /** What was done or tried, CamelCase. */
  readonly action: string;
  /** For people; cut to 1,024 bytes. */
  readonly note: string;
}

/** The requests that the operator makes. Each rejects with {@linkcode KubeError} only, or the signal's reason. */
export interface Cluster extends Source {
  /** JSON patch on the object. Every caller tests `/metadata/uid` (rule 6). */
  patch(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions,
  ): Promise<ExternalDatabase>;
  /** JSON patch on the status subresource. */
  patchStatus(
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: RequestOptions,
  ): Promise<ExternalDatabase>;
  /** Reads the operator's own CRD. */
  crdState(options: RequestOptions): Promise<CrdState>;
  /** UID of the namespace kube-system, the cluster's identity (S3). */
  clusterId(options: RequestOptions): Promise<string>;
}

/** Records Events: best effort, deduplicated, never awaited, never throws. */
export interface EventRecorder {
  record(event: EventRecord): void;
}

/** What a failed request means. */
export type KubeErrorKind =
  | "notFound"
  | "conflict"
  | "invalid"
  | "expired"
  | "throttled"
  | "unauthorised"
  | "forbidden"
  | "badRequest"
  | "tooLarge"
  | "server"
  | "unavailable"
  | "network"
  | "timeout";

/** Kinds after which nobody knows whether a write took effect. */
export const UNANSWERED: ReadonlySet<string | undefined> = new Set<KubeErrorKind>([
  "server",
  "unavailable",
  "network",
  "timeout",
]);

/**
 * The one error of the Kubernetes port, made at the boundary. Its message is readable and holds no header and no
 * token. After `server`, `unavailable`, `network` and `timeout` a write may or may not have taken effect.
 */
export class KubeError extends Error {
  override readonly name = "KubeError";
  constructor(
    readonly kind: KubeErrorKind,
    message: string,
    options: {
      /** HTTP status, where there was an answer. */
      readonly status?: number;
      /** `Status.reason` of the answer. */
      readonly reason?: string;
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.status = options.status;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
}
