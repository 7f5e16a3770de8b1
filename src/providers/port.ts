/**
 * The port to a cloud: what the operator asks of a provider, and the classes its errors come in.
 *
 * A provider translates; it decides nothing, retries nothing and caches nothing. Scheduling, back-off, deadlines
 * and fencing happen around it. The contract suite in `tests/providers/` is what every provider must pass.
 *
 * @module
 */

/** What a cloud says a database is doing. Unknown words of a cloud are mapped to the nearest by its provider. */
export type DatabaseState = "Provisioning" | "Available" | "Modifying" | "Deleting" | "Failed";

/** One external database as the provider last saw it. */
export interface Database {
  /** Assigned by the cloud, opaque, never reused. */
  readonly id: string;
  readonly name: string;
  readonly engine: string;
  readonly version: string;
  /** Size in GiB. */
  readonly sizeGb: number;
  /**
   * What the database holds, in GiB rounded up, where `sizeGb` is a quota that nothing enforces; absent where it is not
   * measured.
   */
  readonly usedGb?: number | undefined;
  readonly state: DatabaseState;
  /** The cloud's own word for its state, shown as `status.providerState`; equals `state` where there is none. */
  readonly providerState: string;
  /** `providerState` is a word that the provider does not know: nobody can say whether the database serves. */
  readonly unknownState?: true | undefined;
  /** `host:port`; absent until the first `Available`. */
  readonly endpoint?: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  /** RFC 3339. */
  readonly createdAt: string;
  /**
   * How a client logs in, beside the endpoint and the password; absent where the provider gives no logins. `type` is the
   * URI scheme, such as `postgresql` or `mysql`.
   */
  readonly access?:
    | { readonly type: string; readonly database: string; readonly username: string }
    | undefined;
  /** The provider refuses to delete it; absent where it knows no such protection (D5). */
  readonly deletionProtection?: boolean | undefined;
  /** A change accepted but not yet visible in the values above (RDS: PendingModifiedValues). */
  readonly pending?: { readonly version?: string; readonly sizeGb?: number } | undefined;
}

/** What a provider account is and promises; rule 5 and cloud-api.md. */
export interface ProviderInfo {
  /** Identity of the account, or `undefined` when it cannot be known. */
  readonly account: string | undefined;
  /** Whether a repeated create with the same token gives the first database. */
  readonly clientTokens: boolean;
  /** How long a new database may be missing from lists, in seconds. */
  readonly readLagSeconds: number;
  /** The longest time after sending in which a call may still take effect, in seconds. */
  readonly effectBoundSeconds: number;
  /**
   * Whether passwords can be set, by a create and by a change. `always`: its databases are of no use without, so that a
   * connection Secret is the rule; `asked`: where a resource asks for one. @default never
   */
  readonly passwords?: "always" | "asked" | undefined;
  /** Whether a delete can take a final snapshot first (D7). @default false */
  readonly snapshots?: boolean | undefined;
  /** Whether deletion protection can be set (D5). @default false */
  readonly deletionProtection?: boolean | undefined;
}

/** A request for a new database. */
export interface CreateRequest {
  readonly name: string;
  readonly engine: string;
  readonly version: string;
  readonly sizeGb: number;
  readonly tags: Readonly<Record<string, string>>;
  /** UID + incarnation (rule 4). */
  readonly clientToken: string;
  /** Of the login that {@linkcode Database.access} names; sent only to a provider that takes passwords. Never logged. */
  readonly password?: string | undefined;
  readonly deletionProtection?: boolean | undefined;
}

/** A change of an existing database; absent fields stay. `null` removes a tag. */
export interface ModifyRequest {
  readonly version?: string | undefined;
  readonly sizeGb?: number | undefined;
  readonly tags?: Readonly<Record<string, string | null>> | undefined;
  /** A new password of the login that {@linkcode Database.access} names. Setting the one it has changes nothing. Never logged. */
  readonly password?: string | undefined;
  readonly deletionProtection?: boolean | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call; the provider rejects with a {@linkcode ProviderError} of class `unknown` (mutations) or `retryable` (reads). */
  readonly signal: AbortSignal;
  /**
   * Called by every mutating verb synchronously, in the very tick in which the request is handed to the transport;
   * what it throws is rethrown unchanged and nothing is sent (fencing, rule 21).
   */
  readonly beforeSend?: (() => void) | undefined;
}

/** What a list takes. */
export interface ListOptions extends CallOptions {
  /** All of them must match. A provider without a tag filter filters itself. */
  readonly tags: Readonly<Record<string, string>>;
  readonly pageToken?: string | undefined;
  /** Items of a page, at most 100. Missing: as many as the provider gives at once. */
  readonly limit?: number;
}

/** A database on a page that the provider cannot make sense of: it is there, and nothing else is known of it (S6). */
export interface UnreadableDatabase {
  /** Absent when not even the id can be used. */
  readonly id?: string;
  /** Names the database and the field at fault; fit for a status. */
  readonly message: string;
}

/** One page of a list. */
export interface DatabasePage {
  readonly items: readonly Database[];
  /** What hides no other item, and is never to be taken as absent (S6). @default none */
  readonly unreadable?: readonly UnreadableDatabase[];
  readonly nextPageToken?: string | undefined;
}

/** A cloud that can hold databases. Every method rejects with {@linkcode ProviderError} only (and what `beforeSend` throws). */
export interface DatabaseProvider {
  /** Its name in flags, logs and metrics. */
  readonly name: string;
  /** Account identity and promises. Asked again whenever credentials may have changed. */
  info(options: CallOptions): Promise<ProviderInfo>;
  /** One database; class `absent` when the cloud says it is not there. Reads its own writes. */
  get(id: string, options: CallOptions): Promise<Database>;
  /** One page of the databases that carry all of `tags`. */
  list(options: ListOptions): Promise<DatabasePage>;
  /** Sends a create; resolves with the (new or, by token, first) database. */
  create(request: CreateRequest, options: CallOptions): Promise<Database>;
  /** Sends a change; class `busy` when the database's state does not allow it now. */
  modify(id: string, request: ModifyRequest, options: CallOptions): Promise<Database>;
  /** Sends a delete; resolves once it was accepted (the database may live on in `Deleting`). Class `absent` when gone. */
  delete(id: string, options: CallOptions & { readonly finalSnapshot?: string | undefined }): Promise<void>;
  /** Ends what it holds, such as connections; a later call opens it anew. Absent where there is nothing to end. */
  close?(): Promise<void>;
}

/**
 * What an error means for what happens next (design.md 6).
 *
 * - `absent`: the cloud says it is not there
 * - `throttled`: wait `retryAfterMs`, the whole account
 * - `busy`: not in this state; wait for the state
 * - `exists`: a create met an earlier one (token used, name taken); look up
 * - `unauthorised`: credentials refused; re-read them, retry
 * - `retryable`: no effect; retry
 * - `unknown`: a mutating call that may or may not have taken effect
 * - `rejected`: the request itself is refused; needs a change, still retried slowly
 */
export type ProviderErrorClass =
  | "absent"
  | "throttled"
  | "busy"
  | "exists"
  | "unauthorised"
  | "retryable"
  | "unknown"
  | "rejected";

/** The only error that a provider rejects with. Its message is fit for a status: no header, no secret, at most 512 characters. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  constructor(
    readonly errorClass: ProviderErrorClass,
    message: string,
    options: {
      /** The cloud's own code, such as `InvalidParameter`. */
      readonly code?: string;
      /** For `throttled`, in milliseconds. */
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message.slice(0, 512), options.cause === undefined ? {} : { cause: options.cause });
    this.code = options.code;
    this.retryAfterMs = options.retryAfterMs;
  }
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;
}
