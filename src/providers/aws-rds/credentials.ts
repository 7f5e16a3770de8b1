/**
 * Where the keys that requests are signed with come from.
 *
 * In this order: a Secret of a class, a file, the environment, the pod's web identity (IRSA), the agent of EKS Pod
 * Identity. The instance metadata of a node is not asked: its role is the node's, not the operator's.
 *
 * @module
 */
import type { Clock } from "../../core/clock.ts";
import { DeadlineError, withDeadline } from "../../core/wait.ts";
import { readText } from "../http_answer.ts";
import type { Fetch } from "../transport.ts";
import { type AwsKeys, keysFrom, keysInFile } from "./keys.ts";

/** A token that STS changes into keys of a role. */
export interface WebIdentity {
  readonly roleArn: string;
  readonly sessionName: string;
  readonly token: string;
}

/** What {@linkcode createKeySource} takes. */
export interface KeySourceOptions {
  readonly clock: Clock;
  /** Data of a class's Secret, as it is now: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`. */
  readonly credentials?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
  /** Path of an AWS credentials file. */
  readonly file?: string | undefined;
  /** Section of the file. */
  readonly profile: string;
  readonly env: (name: string) => string | undefined;
  readonly readFile: (path: string) => Promise<string>;
  readonly fetch: Fetch;
  /** Changes a web identity, or keys and a role, into keys. */
  readonly exchange: (identity: WebIdentity, signal: AbortSignal) => Promise<AwsKeys>;
}

/** Gives the keys in force. */
export interface KeySource {
  /** Rejects with an Error that says what is missing and quotes nothing secret. The same object until they change. */
  current(signal: AbortSignal): Promise<AwsKeys>;
  /** They were refused: the next call gets them anew. */
  refused(keys: AwsKeys): void;
}

/** How long keys from a file or without an end are used before they are looked for again, in milliseconds. */
const FRESH_MS = 60_000;
/** Keys that end are renewed this long before, in milliseconds. */
const EARLY_MS = 300_000;
/** Longest wait for a file or the agent, in milliseconds. */
const READ_MS = 5_000;

/** Makes the source. Nothing is read before it is asked. */
export function createKeySource(options: KeySourceOptions): KeySource {
  const { clock, credentials } = options;
  let held: { readonly keys: AwsKeys; readonly at: number } | undefined;
  const isFresh = (keys: AwsKeys, at: number) =>
    keys.expiresAt === undefined
      ? clock.monotonic() - at < FRESH_MS
      : clock.now() < keys.expiresAt - EARLY_MS || clock.monotonic() - at < FRESH_MS;
  return {
    async current(signal) {
      // A Secret is watched by whoever gives it: the newest is free.
      if (held !== undefined && credentials === undefined && isFresh(held.keys, held.at)) return held.keys;
      const found = await find(options, signal);
      const keys = held !== undefined && isSame(held.keys, found) ? held.keys : found;
      held = { keys, at: clock.monotonic() };
      return keys;
    },
    refused(keys) {
      if (held?.keys === keys) held = undefined;
    },
  };
}

function isSame(a: AwsKeys, b: AwsKeys): boolean {
  return a.accessKeyId === b.accessKeyId && a.secretAccessKey === b.secretAccessKey &&
    a.sessionToken === b.sessionToken && a.expiresAt === b.expiresAt;
}

async function find(options: KeySourceOptions, signal: AbortSignal): Promise<AwsKeys> {
  const { credentials, file, env } = options;
  if (credentials !== undefined) return keysFrom(await credentials(), "the Secret");
  if (file !== undefined) {
    const action = `Reading the credentials file "${file}"`;
    const text = await readFile(options, file, action, signal);
    try {
      return keysInFile(text, options.profile);
    } catch (cause) {
      throw new Error(`${action}: ${cause instanceof Error ? cause.message : "it cannot be used"}`, {
        cause,
      });
    }
  }
  if (env("AWS_ACCESS_KEY_ID")) {
    const names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
    return keysFrom(
      Object.fromEntries(names.map((name) => [name, env(name) ?? ""])),
      "the environment",
    );
  }
  const [tokenFile, roleArn] = [env("AWS_WEB_IDENTITY_TOKEN_FILE"), env("AWS_ROLE_ARN")];
  if (tokenFile && roleArn) {
    const token = await readFile(options, tokenFile, `Reading the web identity token "${tokenFile}"`, signal);
    const sessionName = env("AWS_ROLE_SESSION_NAME") || "externaldatabase-operator";
    return await options.exchange({ roleArn, sessionName, token: token.trim() }, signal);
  }
  const agent = env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (agent) return await fromAgent(options, agent, signal);
  throw new Error(
    "Looking for AWS credentials: there are none; give the pod a web identity, or set --aws-credentials-file",
  );
}

async function readFile(
  { clock, readFile }: KeySourceOptions,
  path: string,
  action: string,
  signal: AbortSignal,
): Promise<string> {
  return await withDeadline({ clock, ms: READ_MS, action, signal }, () => readFile(path))
    .catch((cause: unknown) => {
      if (cause instanceof DeadlineError || signal.aborted) throw cause;
      // Deno's own words end in the path once more.
      const why = cause instanceof Error ? cause.message.replace(/: readfile '.*'$/s, "") : String(cause);
      throw new Error(`${action}: ${why}`, { cause });
    });
}

/** Hosts that the agent of EKS Pod Identity and of ECS is at: the token goes nowhere else. */
const AGENT_HOSTS = ["127.0.0.1", "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

async function fromAgent(options: KeySourceOptions, uri: string, signal: AbortSignal): Promise<AwsKeys> {
  const action = "Asking the pod identity agent for AWS credentials";
  const { clock, env, fetch } = options;
  if (!URL.canParse(uri) || !AGENT_HOSTS.includes(new URL(uri).hostname)) {
    throw new Error(`${action}: AWS_CONTAINER_CREDENTIALS_FULL_URI is not the address of an agent`);
  }
  const tokenFile = env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const token = tokenFile
    ? (await readFile(options, tokenFile, `Reading the token "${tokenFile}"`, signal)).trim()
    : env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const text = await withDeadline({ clock, ms: READ_MS, action, signal }, async (inner) => {
    const headers = token ? { authorization: token } : {};
    const response = await fetch(uri, { method: "GET", redirect: "manual", headers, signal: inner });
    const body = await readText(response, 100_000);
    if (response.status !== 200) throw new Error(`${action}: HTTP status ${response.status}`);
    return body;
  });
  let json: Readonly<Record<string, unknown>>;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(`${action}: the answer is not JSON`); // not quoted: it may be half a key
  }
  const of = (key: string) => typeof json?.[key] === "string" ? json[key] : "";
  const expiresAt = Date.parse(of("Expiration"));
  const record = {
    AWS_ACCESS_KEY_ID: of("AccessKeyId"),
    AWS_SECRET_ACCESS_KEY: of("SecretAccessKey"),
    AWS_SESSION_TOKEN: of("Token"),
  };
  return {
    ...keysFrom(record, "the pod identity agent"),
    ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
  };
}
