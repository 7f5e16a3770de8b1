/**
 * From what a class says to a provider: the parameters are checked by the provider's own schema, and the credentials come
 * from a Secret that may change at any time.
 *
 * @module
 */
import { z } from "zod";
import type { ClassProvider } from "../api/constants.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { Random } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { parseRdsParameters } from "./aws-rds/parameters.ts";
import { createHttpProvider } from "./http.ts";
import { createLazyProvider } from "./lazy.ts";
import { type DatabaseProvider, ProviderError } from "./port.ts";
import { SimulatedCloud } from "./simulated/cloud.ts";
import { createSimulatedProvider } from "./simulated/provider.ts";
import type { Fetch } from "./transport.ts";

/** The data of a class's Secret, as they are now. Rejects when there are none. */
export type Credentials = () => Promise<Readonly<Record<string, string>>>;

/** What a class asks for. */
export interface ClassRequest {
  readonly provider: ClassProvider;
  readonly parameters: Readonly<Record<string, string>>;
  /** Absent where the class names no Secret. */
  readonly credentials: Credentials | undefined;
}

/** What providers of classes are made of beside that. */
export interface ClassProviderOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Longest wait for an answer, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number | undefined;
  /** For `http` and `aws-rds`. @default `createTransport()` */
  readonly fetch?: Fetch | undefined;
  /** Who calls, for the cloud's log. */
  readonly caller?: string | undefined;
  /** For `local`: looks at the folder beside the process that works with it; every change is refused. @default false */
  readonly look?: boolean | undefined;
  /** For `local`. @default none */
  readonly log?: Logger | undefined;
}

/** The class asks for what cannot be: its message names the field, such as `parameters.url`, and quotes no credential. */
export class ClassError extends Error {
  override readonly name = "ClassError";
}

const httpUrl = z.string().refine((text) => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "";
}, "is not an http or https URL without credentials");

const none = z.strictObject({});

/** The parameters of the providers that have no schema of their own. */
const PARAMETERS = {
  simulated: none,
  http: z.strictObject({ url: httpUrl.describe("Base URL of the cloud.") }),
  postgres: none,
  local: z.strictObject({
    folder: z.string().min(1).max(4_096).describe(
      "Folder of the databases on the operator's machine; one class has it.",
    ),
  }),
} as const;

/** Makes the provider of a class. Throws a {@linkcode ClassError} when the class asks for what cannot be. */
export function createClassProvider(request: ClassRequest, options: ClassProviderOptions): DatabaseProvider {
  const { credentials } = request;
  const { clock, random, timeoutMs, caller, fetch } = options;
  switch (request.provider) {
    case "simulated":
      check(PARAMETERS.simulated, request);
      return createSimulatedProvider(new SimulatedCloud({ clock, random }), { clock, timeoutMs, caller });
    case "http": {
      const { url } = check(PARAMETERS.http, request);
      const token = credentials && (() => take(credentials, "token"));
      return createHttpProvider({ url, clock, currentToken: token, fetch, timeoutMs, caller });
    }
    case "postgres": {
      check(PARAMETERS.postgres, request);
      if (credentials === undefined) {
        throw new ClassError(
          "credentialsSecretRef is missing: it names the Secret whose key servers holds one URL a line",
        );
      }
      return createLazyProvider("postgres", async () => {
        const { createPostgresProvider } = await import("./postgres/provider.ts");
        return createPostgresProvider({
          clock,
          urlFile: "servers of the class's Secret",
          readFile: () => take(credentials, "servers"),
          freshMs: 0,
          timeoutMs,
        });
      });
    }
    case "aws-rds": {
      const parameters = refused(() => parseRdsParameters(request.parameters));
      return createLazyProvider("aws-rds", async () => {
        const { createRdsProvider } = await import("./aws-rds/provider.ts");
        return createRdsProvider({ clock, parameters, credentials, timeoutMs, fetch, caller });
      });
    }
    case "local": {
      const { folder } = check(PARAMETERS.local, request);
      return createLazyProvider("local", async () => {
        if (options.look === true) {
          const { createLocalLook } = await import("./local/look.ts");
          return createLocalLook({ clock, folder, timeoutMs });
        }
        const { openLocalProvider } = await import("./local/provider.ts");
        return await openLocalProvider({ clock, random, folder, log: options.log, timeoutMs }).catch(
          (cause: unknown) => {
            const why = messageOf(cause);
            throw new ProviderError("retryable", `Opening the local provider: ${why}`, { cause });
          },
        );
      });
    }
    default:
      throw new ClassError(`provider "${request.provider}" is not in this build`);
  }
}

/** One key of the Secret. Rejects when it is missing. */
async function take(credentials: Credentials, key: string): Promise<string> {
  const value = (await credentials())[key];
  if (value === undefined) throw new Error(`the Secret has no key "${key}"`);
  return value;
}

function check<T extends z.ZodType>(schema: T, { parameters }: ClassRequest): z.output<T> {
  const result = schema.safeParse(parameters);
  if (result.success) return result.data;
  const faults = result.error.issues.slice(0, 5).map((issue) => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => `there is no parameters.${key}`).join(", ");
    }
    const path = ["parameters", ...issue.path.map(String)].join(".");
    const missing = issue.path.length === 1 && parameters[String(issue.path[0])] === undefined;
    return missing ? `${path} is missing` : `${path} ${issue.message}`;
  });
  throw new ClassError(faults.join("; "));
}

function refused<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new ClassError(messageOf(cause), { cause });
  }
}
