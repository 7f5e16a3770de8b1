/**
 * The SDK's clients, made so that they do nothing by themselves: no retry, no credentials, files or variables of their
 * own, no connection but through {@linkcode createHandler}.
 *
 * @module
 */
import { RDSClient } from "@aws-sdk/client-rds";
import { AssumeRoleCommand, AssumeRoleWithWebIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/text.ts";
import { printable } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import { ProviderError } from "../port.ts";
import type { Transport } from "../transport.ts";
import { Call } from "./call.ts";
import { createKeySource, type KeySource, type KeySourceOptions, type WebIdentity } from "./credentials.ts";
import { asProviderError } from "./errors.ts";
import { createHandler, type OnRequest, type SendOptions } from "./handler.ts";
import type { AwsKeys } from "./keys.ts";
import type { RdsParameters } from "./parameters.ts";

/** What {@linkcode AwsClients} takes. */
export interface AwsClientsOptions extends Omit<KeySourceOptions, "profile" | "exchange" | "fetch"> {
  readonly clock: Clock;
  readonly parameters: RdsParameters;
  readonly transport: Transport;
  readonly onRequest?: OnRequest | undefined;
  /** Who calls, for CloudTrail. */
  readonly caller?: string | undefined;
}

interface Pair {
  readonly rds: RDSClient;
  readonly sts: STSClient;
}

/** Gives clients that sign with the keys in force. */
export class AwsClients {
  readonly #o: AwsClientsOptions;
  readonly #source: KeySource;
  readonly #handler: ReturnType<typeof createHandler>;
  readonly #made = new WeakMap<AwsKeys, Pair>();
  #role: { readonly base: AwsKeys; readonly keys: AwsKeys } | undefined;

  constructor(options: AwsClientsOptions) {
    this.#o = options;
    this.#handler = createHandler(options.transport, options.onRequest);
    this.#source = createKeySource({
      ...options,
      profile: options.parameters.profile,
      fetch: options.transport.read,
      exchange: (identity, signal) => this.#exchange(identity, signal),
    });
  }

  /** The region in force. Throws when none is named. */
  get region(): string {
    const { parameters, env } = this.#o;
    const region = parameters.region ?? (env("AWS_REGION") || env("AWS_DEFAULT_REGION"));
    if (!region) {
      throw new ProviderError("rejected", "Choosing the region of AWS: none is named; set --aws-region", {
        code: "NoRegion",
      });
    }
    return region;
  }

  /** Asks RDS. */
  async rds<T>(call: Call, ask: (client: RDSClient, options: SendOptions) => Promise<T>): Promise<T> {
    const { rds } = this.#pair(await this.#keys(call));
    return await ask(rds, { abortSignal: call.signal, call });
  }

  /** Asks STS. */
  async sts<T>(call: Call, ask: (client: STSClient, options: SendOptions) => Promise<T>): Promise<T> {
    const { sts } = this.#pair(await this.#keys(call));
    return await ask(sts, { abortSignal: call.signal, call });
  }

  /** AWS refused the keys of this call: the next call gets them anew. */
  refused({ keys }: Call): void {
    if (keys === undefined) return;
    if (this.#role?.keys === keys) {
      this.#source.refused(this.#role.base);
      this.#role = undefined;
    } else this.#source.refused(keys);
  }

  async #keys(call: Call): Promise<AwsKeys> {
    let base: AwsKeys;
    try {
      base = await this.#source.current(call.signal);
    } catch (cause) {
      if (cause instanceof ProviderError || call.signal.aborted) throw cause;
      const why = printable(messageOf(cause), 400);
      throw new ProviderError("unauthorised", why, { code: "NoCredentials", cause });
    }
    return call.keys = await this.#inRole(base, call.signal);
  }

  async #inRole(base: AwsKeys, signal: AbortSignal): Promise<AwsKeys> {
    const { clock, parameters: { assumeRoleArn, assumeRoleExternalId } } = this.#o;
    if (assumeRoleArn === undefined) return base;
    const held = this.#role;
    if (held?.base === base && clock.now() < (held.keys.expiresAt ?? 0) - RENEW_MS) return held.keys;
    const command = new AssumeRoleCommand({
      RoleArn: assumeRoleArn,
      RoleSessionName: SESSION_NAME,
      ExternalId: assumeRoleExternalId,
    });
    const what = `Taking on the role ${assumeRoleArn}`;
    const keys = await this.#exchanged(what, signal, [], base, (sts, options) => sts.send(command, options));
    this.#role = { base, keys };
    return keys;
  }

  async #exchange({ roleArn, sessionName, token }: WebIdentity, signal: AbortSignal): Promise<AwsKeys> {
    const command = new AssumeRoleWithWebIdentityCommand({
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      WebIdentityToken: token,
    });
    const what = `Taking on the role ${roleArn} by web identity`;
    return await this.#exchanged(what, signal, [token], NOBODY, (sts, options) => sts.send(command, options));
  }

  /** Asks STS for keys. Whatever it refuses is a matter of credentials; what is lost can be tried again. */
  async #exchanged(
    what: string,
    signal: AbortSignal,
    secrets: readonly string[],
    keys: AwsKeys,
    ask: (client: STSClient, options: SendOptions) => Promise<{ readonly Credentials?: StsKeys | undefined }>,
  ): Promise<AwsKeys> {
    const call = new Call("info", signal, undefined, secrets);
    call.keys = keys;
    try {
      return keysOf((await ask(this.#pair(keys).sts, { abortSignal: signal, call })).Credentials);
    } catch (error) {
      const known = asProviderError(call, error, this.#o.clock.now());
      if (!(known instanceof ProviderError)) throw known;
      const { errorClass, code, message, retryAfterMs } = known;
      if (errorClass === "unauthorised") this.#source.refused(keys);
      throw new ProviderError(
        errorClass === "rejected" ? "unauthorised" : errorClass,
        message.replace(/^[^:]*/, printable(what, 200)),
        {
          ...(code === undefined ? {} : { code }),
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          cause: known,
        },
      );
    }
  }

  #pair(keys: AwsKeys): Pair {
    let pair = this.#made.get(keys);
    if (pair === undefined) {
      const { parameters, caller } = this.#o;
      const { accessKeyId, secretAccessKey, sessionToken } = keys;
      const agent: [string, string][] = [["externaldatabase-operator", "1"]];
      if (caller !== undefined) agent.push(["caller", caller.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 50)]);
      const common = {
        region: this.region,
        maxAttempts: 1,
        retryMode: "standard",
        requestHandler: this.#handler as never,
        credentials: {
          accessKeyId,
          secretAccessKey,
          ...(sessionToken === undefined ? {} : { sessionToken }),
        },
        useDualstackEndpoint: false,
        useFipsEndpoint: false,
        defaultsMode: "standard" as const,
        // What is not said here the SDK would look for in files and variables.
        authSchemePreference: [],
        ignoreConfiguredEndpointUrls: true,
        disableClockSkewCorrection: false,
        // The SDK's own would ask the system for its name.
        defaultUserAgentProvider: () => Promise.resolve(agent),
        userAgentAppId: "externaldatabase-operator",
      };
      const { endpointUrl } = parameters;
      // A double of AWS has both APIs at one place; AWS's own endpoint of RDS has no STS.
      const together = endpointUrl !== undefined &&
        !/\.amazonaws\.com(\.cn)?$/.test(new URL(endpointUrl).hostname);
      const { stsEndpointUrl = together ? endpointUrl : undefined } = parameters;
      pair = {
        rds: new RDSClient({ ...common, ...(endpointUrl === undefined ? {} : { endpoint: endpointUrl }) }),
        sts: new STSClient({
          ...common,
          ...(stsEndpointUrl === undefined ? {} : { endpoint: stsEndpointUrl }),
        }),
      };
      this.#made.set(keys, pair);
    }
    return pair;
  }
}

/** Keys of a role are renewed this long before they end, in milliseconds. */
const RENEW_MS = 300_000;
const SESSION_NAME = "externaldatabase-operator";
/** For what is not signed. */
const NOBODY: AwsKeys = { accessKeyId: "none", secretAccessKey: "none" };

interface StsKeys {
  readonly AccessKeyId?: string | undefined;
  readonly SecretAccessKey?: string | undefined;
  readonly SessionToken?: string | undefined;
  readonly Expiration?: Date | undefined;
}

function keysOf(credentials: StsKeys | undefined): AwsKeys {
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = credentials ?? {};
  if (!AccessKeyId || !SecretAccessKey || !SessionToken || Expiration === undefined) {
    throw new AnswerError("there are no keys in the answer");
  }
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    expiresAt: Expiration.getTime(),
  };
}
