/**
 * What a connection Secret says beside the password, and what of a Secret an actor may know: never a password (K1).
 *
 * @module
 */

/** The keys of a connection Secret, as servicebinding.io names them, without `password` and `uri`, which hold the password. */
export interface ConnectionFacts {
  /** The URI scheme, such as `postgresql`. */
  readonly type: string;
  /** The provider's name. */
  readonly provider: string;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly database?: string | undefined;
  readonly username?: string | undefined;
}

/** What an actor knows of its connection Secret. */
export type SecretSeen =
  | {
    readonly kind: "ours";
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    /** Of the password; absent where that is damaged or missing. */
    readonly revision?: string | undefined;
    /** The `rotate-password` annotation that the password was made for. */
    readonly rotation?: string | undefined;
    /** {@linkcode factsText} of what it says, or something else where it is not in order. */
    readonly facts: string;
  }
  /** There is none that is ours. */
  | { readonly kind: "absent" }
  /** It is not asked for any more, and was removed. */
  | { readonly kind: "unasked" };

/** The URI scheme of an engine before a provider has told it; Kubernetes never lets a Secret's type change again. */
export function typeOfEngine(engine: string): string {
  const name = engine.toLowerCase();
  if (name.includes("postgres")) return "postgresql";
  if (name.includes("mysql") || name.includes("mariadb")) return "mysql";
  return name;
}

/** Host and port of `host:port`, the host of an IPv6 address without its brackets; `undefined` where it is neither. */
export function splitEndpoint(
  endpoint: string,
): { readonly host: string; readonly port: string } | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(endpoint);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3];
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** What a Secret is to say of a database; what is not known is left out. */
export function factsOf(
  provider: string,
  engine: string,
  database: {
    readonly access?:
      | { readonly type: string; readonly database: string; readonly username: string }
      | undefined;
    readonly endpoint?: string | undefined;
  } = {},
): ConnectionFacts {
  const { access, endpoint } = database;
  const where = endpoint === undefined ? undefined : splitEndpoint(endpoint);
  return {
    type: access?.type ?? typeOfEngine(engine),
    provider,
    host: where?.host,
    port: where?.port,
    database: access?.database,
    username: access?.username,
  };
}

/** Whether a client can connect by them, given the password. */
export function isComplete(facts: ConnectionFacts): boolean {
  return facts.host !== undefined && facts.port !== undefined && facts.database !== undefined &&
    facts.username !== undefined;
}

/** Facts as one text, for comparison. */
export function factsText({ type, provider, host, port, database, username }: ConnectionFacts): string {
  return JSON.stringify([type, provider, host ?? null, port ?? null, database ?? null, username ?? null]);
}
