/**
 * From the name in `--provider` to a provider.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { createHttpProvider } from "./http.ts";
import { createLazyProvider } from "./lazy.ts";
import { createNoProvider } from "./none.ts";
import type { DatabaseProvider } from "./port.ts";
import { ProviderError } from "./port.ts";
import { SimulatedCloud } from "./simulated/cloud.ts";
import { createSimulatedProvider } from "./simulated/provider.ts";
import type { Fetch } from "./transport.ts";

/** The names that `--provider` takes. */
export const PROVIDER_NAMES = ["simulated", "http", "postgres", "aws-rds", "local", "none"] as const;

/** One of {@linkcode PROVIDER_NAMES}. */
export type ProviderName = typeof PROVIDER_NAMES[number];

/** What providers are made of. A provider takes what it needs and ignores the rest. */
export interface ProviderOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** `--cloud-url`, for `http`. */
  readonly cloudUrl?: string | undefined;
  /** `--cloud-token-file`, for `http`. */
  readonly cloudTokenFile?: string | undefined;
  /** `--postgres-url-file`, for `postgres`. */
  readonly postgresUrlFile?: string | undefined;
  /** `--aws-region`, for `aws-rds`. */
  readonly awsRegion?: string | undefined;
  /** `--aws-endpoint-url`, for `aws-rds`. */
  readonly awsEndpointUrl?: string | undefined;
  /** `--aws-parameters-file`, for `aws-rds`. */
  readonly awsParametersFile?: string | undefined;
  /** `--aws-credentials-file`, for `aws-rds`. */
  readonly awsCredentialsFile?: string | undefined;
  /** `--local-folder`, for `local`. */
  readonly localFolder?: string | undefined;
  /** For `local`: looks at the folder beside the process that works with it; every change is refused. @default false */
  readonly look?: boolean | undefined;
  /** For `local`. @default none */
  readonly log?: Logger | undefined;
  /** Longest wait for an answer, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** For `http` and `aws-rds`. @default `createTransport()` */
  readonly fetch?: Fetch | undefined;
  /** For `simulated`. @default a new cloud with its default settings */
  readonly cloud?: SimulatedCloud | undefined;
  /** Who calls, for the cloud's log. */
  readonly caller?: string | undefined;
}

/** Makes the provider `name`. Throws when it is unknown or lacks what it needs. */
export function createProvider(name: string, options: ProviderOptions): DatabaseProvider {
  const { clock, random, timeoutMs, caller } = options;
  switch (name) {
    case "simulated":
      return createSimulatedProvider(options.cloud ?? new SimulatedCloud({ clock, random }), {
        clock,
        timeoutMs,
        caller,
      });
    case "http":
      if (options.cloudUrl === undefined) throw new Error("Choosing the provider: http needs --cloud-url");
      return createHttpProvider({
        url: options.cloudUrl,
        clock,
        tokenFile: options.cloudTokenFile,
        fetch: options.fetch,
        timeoutMs,
        caller,
      });
    case "postgres": {
      const urlFile = options.postgresUrlFile;
      if (urlFile === undefined) throw new Error("Choosing the provider: postgres needs --postgres-url-file");
      return createLazyProvider("postgres", async () => {
        const { createPostgresProvider } = await import("./postgres/provider.ts");
        return createPostgresProvider({ clock, urlFile, timeoutMs });
      });
    }
    case "aws-rds":
      return createLazyProvider("aws-rds", async () => {
        const [{ createRdsProvider }, { readRdsParameters }] = await Promise.all([
          import("./aws-rds/provider.ts"),
          import("./aws-rds/parameters_file.ts"),
        ]);
        return createRdsProvider({
          clock,
          parameters: await readRdsParameters(options),
          credentialsFile: options.awsCredentialsFile,
          fetch: options.fetch,
          timeoutMs,
          caller,
        });
      });
    case "local": {
      const { localFolder: folder, log } = options;
      if (folder === undefined) throw new Error("Choosing the provider: local needs --local-folder");
      return createLazyProvider("local", async () => {
        if (options.look === true) {
          const { createLocalLook } = await import("./local/look.ts");
          return createLocalLook({ clock, folder, timeoutMs });
        }
        const { openLocalProvider } = await import("./local/provider.ts");
        return await openLocalProvider({ clock, random, folder, log, timeoutMs }).catch((cause: unknown) => {
          const why = messageOf(cause);
          throw new ProviderError("retryable", `Opening the local provider: ${why}`, { cause });
        });
      });
    }
    case "none":
      return createNoProvider("The operator has no account of its own (--provider none)");
    default:
      throw new Error(
        `Choosing the provider: there is no "${name}"; there are ${PROVIDER_NAMES.join(", ")}`,
      );
  }
}
