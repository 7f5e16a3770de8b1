/**
 * The provider for Amazon RDS: one DB instance for each database.
 *
 * What it promises, and why:
 *
 * - `clientTokens`: the identifier of an instance is derived from the token, and RDS has it once (see `create.ts`).
 * - `readLagSeconds`: RDS promises no consistency of its lists; half a minute is far beyond what is seen.
 * - `effectBoundSeconds`: a request is signed as it is sent, and AWS refuses a signature that is older than five minutes: what a
 *   frozen process or a stuck network holds back comes to nothing after that.
 *
 * A database's id is the instance's resource id (`DbiResourceId`), which RDS gives once; see `names.ts`. Deleting and
 * changing go by identifier, as RDS has it, which is read by the id just before.
 *
 * @module
 */
import { GetCallerIdentityCommand } from "@aws-sdk/client-sts";
import type { Clock } from "../../core/clock.ts";
import { type Entropy, systemEntropy } from "../../core/passwords.ts";
import { withDeadline } from "../../core/wait.ts";
import { ACTIONS, type CallVerb } from "../classify.ts";
import { AnswerError } from "../http_answer.ts";
import type { CallOptions, DatabaseProvider } from "../port.ts";
import { ProviderError } from "../port.ts";
import { createTransport, type Fetch } from "../transport.ts";
import { Call } from "./call.ts";
import { AwsClients } from "./clients.ts";
import { create } from "./create.ts";
import { byId } from "./describe.ts";
import { asProviderError } from "./errors.ts";
import type { OnRequest } from "./handler.ts";
import { listPage } from "./list.ts";
import { modify } from "./modify.ts";
import type { RdsParameters } from "./parameters.ts";
import { databaseOf } from "./record.ts";
import { remove } from "./remove.ts";

/** What {@linkcode createRdsProvider} takes. */
export interface RdsProviderOptions {
  readonly clock: Clock;
  /** From `parseRdsParameters`. */
  readonly parameters: RdsParameters;
  /** The data of a class's Secret as it is now; asked for every call. Absent: the file, else the pod's own identity. */
  readonly credentials?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
  /** Path of an AWS credentials file; read again every minute and when its keys are refused. */
  readonly credentialsFile?: string | undefined;
  /** Longest time of a call, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** Sends requests, none twice by itself. @default `createTransport()` */
  readonly fetch?: Fetch | undefined;
  /** @default Deno.env.get */
  readonly env?: ((name: string) => string | undefined) | undefined;
  /** @default Deno.readTextFile */
  readonly readFile?: ((path: string) => Promise<string>) | undefined;
  /** Of the password of an instance that nobody asked one for. @default systemEntropy */
  readonly entropy?: Entropy | undefined;
  /** Told of each request in the tick that sends it. */
  readonly onRequest?: OnRequest | undefined;
  /** Who calls, for CloudTrail. */
  readonly caller?: string | undefined;
}

/** Makes the provider. Nothing is read or sent before the first call. */
export function createRdsProvider(options: RdsProviderOptions): DatabaseProvider {
  const { clock, parameters, timeoutMs = 30_000 } = options;
  const { fetch, entropy = systemEntropy } = options;
  const clients = new AwsClients({
    ...options,
    file: options.credentialsFile,
    env: options.env ?? ((name) => Deno.env.get(name)),
    readFile: options.readFile ?? Deno.readTextFile,
    transport: fetch === undefined ? createTransport() : { read: fetch, mutate: fetch },
  });
  const now = () => clock.now();

  /** Runs one call under its deadline; every error comes out in a class. */
  async function perform<T>(
    verb: CallVerb,
    { signal, beforeSend }: CallOptions,
    work: (call: Call) => Promise<T>,
    secrets: readonly (string | undefined)[] = [],
  ): Promise<T> {
    const hidden = secrets.filter((secret) => secret !== undefined);
    let call = new Call(verb, signal, beforeSend, hidden);
    try {
      return await withDeadline({ clock, ms: timeoutMs, action: ACTIONS[verb], signal }, (inner) => {
        call = new Call(verb, inner, beforeSend, hidden);
        return work(call);
      });
    } catch (cause) {
      const error = asProviderError(call, cause, now());
      if (error instanceof ProviderError && error.errorClass === "unauthorised") clients.refused(call);
      throw error;
    }
  }

  return {
    name: "aws-rds",
    async info(call) {
      return await perform("info", call, async (call) => {
        const command = new GetCallerIdentityCommand({});
        const { Account } = await clients.sts(call, (client, send) => client.send(command, send));
        if (Account === undefined || !/^\d{12}$/.test(Account)) {
          throw new AnswerError("the answer names no account");
        }
        return {
          account: `aws/${Account}/${clients.region}`,
          clientTokens: true,
          readLagSeconds: parameters.readLagSeconds,
          effectBoundSeconds: parameters.effectBoundSeconds,
          passwords: parameters.managedMasterPassword ? undefined : "always",
          snapshots: true,
          deletionProtection: true,
        };
      });
    },
    async get(id, options) {
      return await perform("get", options, async (call) => {
        return databaseOf((await byId(clients, call, id)).instance, now());
      });
    },
    async list(options) {
      return await perform("list", options, (call) => listPage(clients, call, options, now));
    },
    async create(request, options) {
      const work = (call: Call) => create(clients, call, request, parameters, { now, entropy });
      return await perform("create", options, work, [request.password]);
    },
    async modify(id, request, options) {
      const work = (call: Call) => modify(clients, call, id, request, parameters, now);
      return await perform("modify", options, work, [request.password]);
    },
    async delete(id, options) {
      await perform("delete", options, (call) => {
        return remove(clients, call, id, options.finalSnapshot, parameters, now);
      });
    },
  };
}
