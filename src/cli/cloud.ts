/**
 * `cloud`: a cloud as an HTTP server, the simulated one or (`--real`) a PostgreSQL for each database on this machine.
 *
 * @module
 */
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { type Random, seededRandom } from "../core/random.ts";
import { messageOf } from "../core/text.ts";
import { aborted } from "../core/wait.ts";
import { SimulatedCloud } from "../providers/simulated/cloud.ts";
import { loadFile, saveFile, StateFile } from "../providers/simulated/disk.ts";
import { serveCloud } from "../providers/simulated/server.ts";
import { type CloudSettings, DEFAULT_SETTINGS } from "../providers/simulated/settings.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { listening } from "./listening.ts";
import {
  durationBetween,
  integerBetween,
  type ListenAddress,
  listenAddress,
  numberBetween,
} from "./values.ts";

/** Result of `cloud`. */
export interface CloudOptions {
  /** Real databases on this machine; the knobs of the simulation do nothing then. */
  readonly real: boolean;
  readonly listen: ListenAddress;
  /** The cloud's knobs; times in milliseconds. */
  readonly settings: Partial<CloudSettings>;
  /** Absent: a different run each time. */
  readonly seed?: number | undefined;
  /** File that holds the cloud's state. Absent: in memory only. */
  readonly state?: string | undefined;
  /** File with one bearer token a line; others are refused. Absent: no authentication. */
  readonly tokenFile?: string | undefined;
  /** Whether `/admin/` is served. */
  readonly admin: boolean;
}

const time = durationBetween("0s", "24h");
const chance = numberBetween(0, 1);

function timeFlag(name: string, ms: number, description: string): Flag {
  return { name, value: "duration", default: `${ms}ms`, parse: time, description };
}

function chanceFlag(name: string, description: string): Flag {
  return { name, value: "0..1", default: "0", parse: chance, description };
}

const D = DEFAULT_SETTINGS;

/** The flags of `cloud`. */
export const cloudFlags: readonly Flag[] = [
  {
    name: "listen",
    value: "host:port",
    default: "127.0.0.1:8081",
    parse: listenAddress,
    description: "where the API is served; port 0: the system chooses",
  },
  {
    name: "real",
    default: "false",
    description:
      "serve real databases, a PostgreSQL each on this machine; the flags of times and chances do nothing",
  },
  timeFlag("latency", D.latencyMs, "time from a call to its answer"),
  timeFlag("provision-time", D.provisionMs, "time from a create to Available"),
  timeFlag("modify-time", D.modifyMs, "time from a change to Available"),
  timeFlag("delete-time", D.deleteMs, "time from a delete to gone"),
  {
    name: "jitter",
    value: "0..1",
    default: String(D.jitter),
    parse: chance,
    description: "spread of the times above, as a fraction",
  },
  timeFlag("read-lag", D.readLagMs, "how long a new database may be missing from lists"),
  timeFlag("effect-bound", D.effectBoundMs, "longest time after sending in which a call may take effect"),
  {
    name: "client-tokens",
    value: "yes|no",
    default: "yes",
    choices: ["yes", "no"],
    description: "whether a repeated create with the same token gives the first database",
  },
  timeFlag("token-memory", D.tokenMemoryMs, "how long a token is remembered after its last use; 0: for ever"),
  chanceFlag("lose-answers", "chance that a call takes effect and its answer is lost"),
  chanceFlag("fail-before", "chance of a 503 before the effect"),
  chanceFlag("fail-after", "chance of a 500 after the effect"),
  chanceFlag("late-effects", "chance that a change's answer is lost and its effect comes late"),
  chanceFlag("provision-failures", "chance that provisioning ends in Failed"),
  {
    name: "rate",
    value: "calls/s",
    default: "0",
    parse: numberBetween(0, 1_000_000),
    description: "calls a second before 429; 0: no limit",
  },
  {
    name: "burst",
    value: "calls",
    default: String(D.burst),
    parse: integerBetween(1, 1_000_000),
    description: "calls that may come at once before the rate counts",
  },
  timeFlag("autogrow-after", 0, "storage grows once by itself, this long after Available; 0: never"),
  timeFlag(
    "minor-upgrade-after",
    0,
    "the minor version rises once by itself, this long after Available; 0: never",
  ),
  { name: "deletion-protection", default: "false", description: "new databases refuse to be deleted" },
  { name: "describe-account", default: "true", description: "whether GET /v1 is known; false answers 404" },
  { name: "account", value: "name", default: D.account, description: "identity of the account" },
  {
    name: "seed",
    value: "number",
    parse: integerBetween(0, 2 ** 32 - 1),
    description: "seed of all chance (default: a different run each time)",
  },
  {
    name: "state",
    value: "file",
    description:
      "file that holds the state, read at start and written before each answer (default: in memory only); " +
      "with --real: folder that holds the databases and is kept (default: removed at the end)",
  },
  {
    name: "token-file",
    value: "file",
    description: "file with the bearer tokens that are let in, one a line, read at each call",
  },
  {
    name: "admin",
    default: "true",
    description: "serve /admin/: ledger, faults, changes by hand; for tests",
  },
];

/** Turns the values of {@linkcode cloudFlags} into options. */
export function toCloudOptions(values: FlagValues): CloudOptions {
  const number = (name: string) => values[name] as number;
  const text = (name: string) => values[name] as string | undefined;
  return {
    listen: values["listen"] as ListenAddress,
    real: values["real"] as boolean,
    settings: {
      latencyMs: number("latency"),
      provisionMs: number("provision-time"),
      modifyMs: number("modify-time"),
      deleteMs: number("delete-time"),
      jitter: number("jitter"),
      readLagMs: number("read-lag"),
      effectBoundMs: number("effect-bound"),
      clientTokens: values["client-tokens"] === "yes",
      tokenMemoryMs: number("token-memory"),
      loseAnswers: number("lose-answers"),
      failBefore: number("fail-before"),
      failAfter: number("fail-after"),
      lateEffects: number("late-effects"),
      provisionFailures: number("provision-failures"),
      ratePerSecond: number("rate"),
      burst: number("burst"),
      autogrowAfterMs: number("autogrow-after"),
      minorUpgradeAfterMs: number("minor-upgrade-after"),
      deletionProtection: values["deletion-protection"] as boolean,
      describesItself: values["describe-account"] as boolean,
      account: text("account") ?? D.account,
    },
    seed: values["seed"] as number | undefined,
    state: text("state"),
    tokenFile: text("token-file"),
    admin: values["admin"] as boolean,
  };
}

/** What {@linkcode runCloud} takes from outside. */
export interface CloudEnvironment {
  readonly log: Logger;
  /** Ends the server. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Used unless a seed is given. */
  readonly random: Random;
  /** Told the base URL once it listens. */
  readonly onListen?: (url: string, cloud: SimulatedCloud) => void;
}

/** Serves the cloud until the signal aborts. Rejects when the state or token file cannot be read or the port is taken. */
export async function runCloud(options: CloudOptions, environment: CloudEnvironment): Promise<void> {
  const { log, signal, clock, onListen } = environment;
  const { tokenFile } = options;
  if (tokenFile !== undefined) readTokens(tokenFile); // a file that cannot be read is told now, not at the first call
  const tokens = tokenFile === undefined ? undefined : () => readTokens(tokenFile);
  const onError = (error: unknown) => log.log("error", messageOf(error), causeOf(error));
  if (options.real) {
    const { runRealCloud } = await import("./cloud_real.ts");
    return await runRealCloud({ ...options, tokens }, { ...environment, onError });
  }
  const random = options.seed === undefined ? environment.random : seededRandom(options.seed);
  const cloud = new SimulatedCloud({ clock, random, ...options.settings });
  if (options.state !== undefined) await loadFile(cloud, options.state);
  const file = options.state === undefined ? undefined : new StateFile(cloud, options.state, clock);
  const server = await listening(options.listen, "listen", () =>
    serveCloud(cloud, {
      hostname: options.listen.hostname,
      port: options.listen.port,
      admin: options.admin,
      tokens,
      ...(file === undefined ? {} : { durable: () => file.durable() }),
      onError,
    }));
  try {
    log.log("info", "The simulated cloud listens", { url: server.url, account: cloud.settings.account });
    onListen?.(server.url, cloud);
    await (file === undefined ? aborted(signal) : file.keep({ signal, onError }));
  } finally {
    await server.close();
    if (options.state !== undefined) await saveFile(cloud, options.state); // nobody can change it any more
  }
}

function readTokens(path: string): string[] {
  try {
    return Deno.readTextFileSync(path).split("\n").map((line) => line.trim()).filter((line) => line !== "");
  } catch (cause) {
    throw new Error(`Reading the bearer tokens from "${path}" failed`, { cause });
  }
}

function causeOf(error: unknown): { cause?: string } {
  return error instanceof Error && error.cause instanceof Error ? { cause: error.cause.message } : {};
}
