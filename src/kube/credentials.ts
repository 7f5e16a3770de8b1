/**
 * Who the operator is to the API server: fixed headers, a token file that rotates, or a credential plugin.
 *
 * @module
 */
import { type Cluster, KubeConfig, type User } from "@kubernetes/client-node";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/text.ts";
import { withDeadline } from "../core/wait.ts";
import { ConfigError, readText } from "./config_file.ts";

/** How long a token is used before its file or plugin is asked again, in milliseconds (client-go: one minute). */
const REUSE_MS = 60_000;
/** How long a credential plugin may take, in milliseconds: it may have to reach an identity provider. */
const PLUGIN_MS = 60_000;

/** What one request is sent with. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  /** A client certificate that a plugin gave. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The source of identities. */
export interface Credentials {
  /** The identity for the next request. Throws {@linkcode ConfigError}. */
  current(): Promise<Identity>;
  /** After a 401: reads anew, unless that happened since `used` was given out. True when there is another identity to try (F5). */
  refresh(used: Identity): Promise<boolean>;
}

/** An identity that never changes. */
export function staticCredentials(headers: Readonly<Record<string, string>>): Credentials {
  const identity: Identity = { headers };
  return { current: () => Promise.resolve(identity), refresh: () => Promise.resolve(false) };
}

/** The bearer token in a file, trimmed (tokens end in a line feed where people write them). */
export function fileToken(
  file: string,
  clock: Clock,
  headers: Readonly<Record<string, string>> = {},
): Credentials {
  return rereading(clock, async () => {
    const token = (await readText("Reading the token file", file)).trim();
    if (token === "") throw new ConfigError(`Reading the token file: "${file}" is empty`);
    return { headers: { ...headers, Authorization: `Bearer ${token}` } };
  });
}

/** What an `exec` or `auth-provider` entry of a kubeconfig gives; client-node runs it. */
export function pluginCredentials(
  config: KubeConfig,
  cluster: Cluster,
  user: User,
  clock: Clock,
  headers: Readonly<Record<string, string>> = {},
): Credentials {
  const command = user.exec?.command ?? user.authProvider?.name ?? "?";
  const action = `Asking the credential plugin "${command}" of the kubeconfig's user "${user.name}"`;
  // A KubeConfig caches what its plugin said: after a 401 a new one is needed.
  const fresh = () => {
    const own = new KubeConfig();
    own.loadFromOptions({
      // client-node refuses plain http here unless it is told not to verify; the connection is ours anyway.
      clusters: [cluster.server.startsWith("http:") ? { ...cluster, skipTLSVerify: true } : cluster],
      users: config.getUsers(),
      contexts: config.getContexts(),
      currentContext: config.getCurrentContext(),
    });
    return own;
  };
  let source = fresh();
  return rereading(
    clock,
    async () => {
      const options: { headers?: Record<string, string>; cert?: unknown; key?: unknown } = { headers: {} };
      try {
        await withDeadline(
          { clock, ms: PLUGIN_MS, action },
          () => source.applyToHTTPSOptions(options as never),
        );
      } catch (cause) {
        const why = messageOf(cause).trim().split("\n")[0]?.slice(0, 300);
        throw new ConfigError(`${action}: ${why || "it failed without a message"}`, { cause });
      }
      // What the kubeconfig itself holds as a certificate is read elsewhere; a plugin's certificate is a string.
      const pem = typeof options.cert === "string" && typeof options.key === "string"
        ? { cert: options.cert, key: options.key }
        : {};
      return { headers: { ...options.headers, ...headers }, ...pem };
    },
    () => source = fresh(),
  );
}

/** Reads once a minute, and at once when what was given out is refused; concurrent callers share one read. */
function rereading(clock: Clock, read: () => Promise<Identity>, drop: () => void = () => {}): Credentials {
  let known: Identity | undefined;
  let readAt = 0;
  let reading: Promise<Identity> | undefined;
  const readNow = () =>
    reading ??= (async () => {
      try {
        const next = await read();
        readAt = clock.monotonic();
        if (!known || !same(known, next)) known = next;
        return known;
      } finally {
        reading = undefined;
      }
    })();
  return {
    async current() {
      if (known && clock.monotonic() - readAt < REUSE_MS) return known;
      try {
        return await readNow();
      } catch (error) {
        if (known) return known; // a file being replaced: the old token may still do, a 401 reads again
        throw error;
      }
    },
    async refresh(used) {
      if (known && !same(known, used)) return true;
      drop();
      return !same(await readNow(), used);
    },
  };
}

function same(a: Identity, b: Identity): boolean {
  return a.cert === b.cert && a.key === b.key && JSON.stringify(a.headers) === JSON.stringify(b.headers);
}
