/**
 * What goes over the wire between a caller and the simulated cloud: the calls and answers of the cloud's HTTP API as values.
 *
 * @module
 */
import type { DatabaseState } from "../port.ts";

/** The calls that a cloud knows. */
export type Verb = "info" | "get" | "list" | "create" | "modify" | "delete";

/** Every {@linkcode Verb}. */
export const VERBS: readonly Verb[] = ["info", "get", "list", "create", "modify", "delete"];

/** The verbs that change something. */
export function isMutation(verb: Verb): boolean {
  return verb === "create" || verb === "modify" || verb === "delete";
}

/** Body of a create. `sizeGb` is in GiB. */
export interface CreateBody {
  readonly name: string;
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly clientToken?: string | undefined;
  readonly masterUsername?: string | undefined;
  readonly masterPassword?: string | undefined;
  /** Heeded with the setting `protectable`. */
  readonly deletionProtection?: boolean | undefined;
}

/** Body of a modify; `null` removes a tag. */
export interface ModifyBody {
  readonly sizeGb?: number | undefined;
  readonly version?: string | undefined;
  readonly tags?: Readonly<Record<string, string | null>> | undefined;
  readonly masterPassword?: string | undefined;
  /** Heeded with the setting `protectable`. */
  readonly deletionProtection?: boolean | undefined;
}

/** One call as data, so that a late one can wait in the timeline and on disk. */
export type CloudCall =
  | { readonly verb: "info" }
  | { readonly verb: "get"; readonly id: string }
  | {
    readonly verb: "list";
    readonly tags: readonly (readonly [string, string])[];
    readonly limit?: number | undefined;
    readonly pageToken?: string | undefined;
  }
  | { readonly verb: "create"; readonly body: CreateBody }
  | { readonly verb: "modify"; readonly id: string; readonly body: ModifyBody }
  | { readonly verb: "delete"; readonly id: string; readonly finalSnapshot?: string | undefined };

/** A database as the API shows it. `state` may be a word outside the contract (`storage-full`), as real clouds have them. */
export interface DatabaseView {
  readonly id: string;
  readonly name: string;
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  readonly usedGb?: number;
  readonly state: string;
  readonly endpoint?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Only with the setting `showPending`. */
  readonly pending?: { readonly version?: string; readonly sizeGb?: number };
  /** Only with the setting `protectable`. */
  readonly deletionProtection?: boolean;
}

/** Body of a list's answer. */
export interface PageView {
  readonly items: readonly DatabaseView[];
  readonly nextPageToken?: string;
}

/** Body of `GET /v1`. */
export interface InfoView {
  readonly account: string;
  readonly clientTokens: boolean;
  readonly readLagSeconds: number;
  readonly effectBoundSeconds: number;
  readonly passwords: "always" | "asked" | "never";
  readonly snapshots: boolean;
  /** Only with the setting `protectable`. */
  readonly deletionProtection?: true;
}

/** A refusal: HTTP status, code and message of the cloud-API's error body. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** For 429, in seconds. */
  readonly retryAfterSeconds?: number | undefined;
}

/** What the cloud answers. */
export type CloudAnswer =
  | { readonly status: number; readonly body: unknown; readonly refusal?: undefined }
  | { readonly status: number; readonly refusal: Refusal };

/** Thrown by the model when it refuses a call. */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

/** The connection broke: the caller never learns what became of its call. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

/** A login; the cloud keeps no password but its digest ({@linkcode passwordDigest}). */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** One database inside the cloud. Times `…At` are wall milliseconds, `listedFrom` is monotonic. */
export interface CloudRecord {
  /** Creation order; the cursor of lists. */
  readonly seq: number;
  readonly id: string;
  readonly account: string;
  readonly name: string;
  engine: string;
  version: string;
  sizeGb: number;
  /** What it holds, where this cloud's sizes are quotas that nothing enforces. */
  usedGb?: number | undefined;
  state: DatabaseState;
  /** A word outside the contract that lists and reads show instead of `state`. */
  word?: string | undefined;
  endpoint?: string | undefined;
  tags: Record<string, string>;
  readonly createdAt: number;
  updatedAt: number;
  /** Lists do not show it before this moment. */
  listedFrom: number;
  /** Deletion protection. */
  protected: boolean;
  pending?: { version?: string; sizeGb?: number } | undefined;
  /** The master login in force; absent where nobody set a password. */
  login?: Login | undefined;
  /** The digest of the password that comes into force when the change under way ends. */
  nextPassword?: string | undefined;
  /** Counts operations: a timed end belongs to one of them. */
  op: number;
}

/** A final snapshot. */
export interface SnapshotRecord {
  readonly name: string;
  readonly account: string;
  readonly databaseId: string;
  readonly at: number;
}
