/**
 * The flags of `start` and `demo`, and the typed results they become.
 *
 * @module
 */
import type { LogLevel } from "../core/log.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { HTTP_FLAGS, type HttpOptions, LISTEN_FLAG, toHttpOptions } from "./http_options.ts";
import type { ListenAddress } from "./values.ts";
import {
  clusterIdentity,
  dnsLabel,
  dnsName,
  durationBetween,
  httpUrl,
  integerBetween,
  listenAddress,
  numberBetween,
} from "./values.ts";

/** The clouds that `--provider` knows. */
export const PROVIDERS = ["simulated", "http", "postgres", "aws-rds", "local", "none"] as const;
/** A value of `--provider`. */
export type ProviderName = typeof PROVIDERS[number];

/** How log lines are written. */
export interface LogOptions {
  readonly logFormat: "json" | "text";
  readonly logLevel: LogLevel;
}

/** Result of `start`. Durations are in milliseconds. */
export interface StartOptions extends LogOptions, HttpOptions {
  readonly provider: ProviderName;
  /** Base URL of the `http` provider's cloud, without a trailing slash. */
  readonly cloudUrl?: string | undefined;
  /** File that holds the cloud's token; read again whenever the cloud refuses it. */
  readonly cloudTokenFile?: string | undefined;
  /** File with the URLs of the `postgres` provider's servers, one a line; read again when it changes. */
  readonly postgresUrlFile?: string | undefined;
  /** Folder of the `local` provider's servers; they stay in it when the operator ends. */
  readonly localFolder?: string | undefined;
  /** Region of the `aws-rds` provider's account. */
  readonly awsRegion?: string | undefined;
  /** URL of RDS's and STS's API. */
  readonly awsEndpointUrl?: string | undefined;
  /** JSON file with the parameters of new instances. */
  readonly awsParametersFile?: string | undefined;
  /** AWS credentials file; read again each minute and whenever its keys are refused. */
  readonly awsCredentialsFile?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Namespaces to watch; empty: all. */
  readonly namespaces: readonly string[];
  readonly pollIntervalMs: number;
  readonly cacheTtlMs: number;
  /** Provider calls in flight, per account. */
  readonly concurrency: number;
  /** Provider calls a second; 0: no limit. */
  readonly rate: number;
  readonly leaderElect: boolean;
  /** Absent: the pod's own namespace, else `default`. */
  readonly leaseNamespace?: string | undefined;
  readonly leaseName: string;
  readonly shards: number;
  /** Absent: the UID of the namespace kube-system (rule 20). */
  readonly clusterId?: string | undefined;
  /** Deadline of one provider call. */
  readonly callTimeoutMs: number;
}

/** Result of `demo`. */
export interface DemoOptions extends LogOptions {
  /** Where the page and the metrics are served. */
  readonly listen: ListenAddress;
  /** Where the embedded Kubernetes API is served. */
  readonly apiListen: ListenAddress;
  /** How long the simulated cloud takes to make a database, in milliseconds. */
  readonly provisioningMs: number;
  /** Absent: the local one where it can be had. */
  readonly cloud?: "local" | "simulated" | undefined;
  readonly pollIntervalMs: number;
  /** How many sample databases are applied. */
  readonly samples: number;
}

const LOG_FLAGS: readonly Flag[] = [
  {
    name: "log-format",
    value: "format",
    choices: ["json", "text"],
    default: "json",
    description: "how log lines are written",
  },
  {
    name: "log-level",
    value: "level",
    choices: ["debug", "info", "warn", "error"],
    default: "info",
    description: "the least severe level that is written",
  },
];

/** Flags of `start`. */
export const START_FLAGS: readonly Flag[] = [
  {
    name: "provider",
    value: "name",
    choices: PROVIDERS,
    description: "the cloud to manage databases in (required in a cluster; else default: simulated)",
  },
  {
    name: "cloud-url",
    value: "url",
    parse: httpUrl,
    description: "base URL of the cloud of --provider http",
  },
  {
    name: "cloud-token-file",
    value: "file",
    description: "file with the cloud's bearer token, re-read when it rotates",
  },
  {
    name: "postgres-url-file",
    value: "file",
    description: "file with one postgres:// URL a line, the servers of --provider postgres",
  },
  {
    name: "local-folder",
    value: "folder",
    description: "folder of the databases of --provider local, a PostgreSQL each on this machine; it is kept",
  },
  {
    name: "aws-region",
    value: "region",
    description: "region of the account of --provider aws-rds (default: the AWS_REGION variable)",
  },
  {
    name: "aws-endpoint-url",
    value: "url",
    parse: httpUrl,
    description: "URL of the API of --provider aws-rds (default: the region's)",
  },
  {
    name: "aws-parameters-file",
    value: "file",
    description: "JSON file with instance class, subnet group and such for --provider aws-rds",
  },
  {
    name: "aws-credentials-file",
    value: "file",
    description: "AWS credentials file, re-read when it rotates (default: the pod's own identity)",
  },
  {
    name: "kubeconfig",
    value: "file",
    description: "kubeconfig to use outside a pod (default: the KUBECONFIG variable)",
  },
  { name: "context", value: "name", description: "context of the kubeconfig (default: its current one)" },
  {
    name: "namespace",
    value: "name",
    repeatable: true,
    parse: dnsLabel,
    description: "namespace to watch; repeat it, or list several with commas (default: all)",
  },
  {
    name: "poll-interval",
    value: "duration",
    default: "5m",
    parse: durationBetween("10s", "24h"),
    description: "how often each database is looked at when nothing changes",
  },
  {
    name: "cache-ttl",
    value: "duration",
    default: "5m",
    parse: durationBetween("1s", "24h"),
    description: "how long the last look at a database counts as known",
  },
  {
    name: "concurrency",
    value: "calls",
    default: "64",
    parse: integerBetween(1, 4096),
    description: "cloud calls in flight at most",
  },
  {
    name: "rate",
    value: "calls",
    default: "0",
    parse: numberBetween(0, 100_000),
    description: "cloud calls a second at most; 0 means no limit",
  },
  {
    name: "call-timeout",
    value: "duration",
    default: "30s",
    parse: durationBetween("1s", "10m"),
    description: "how long one cloud call may take",
  },
  ...HTTP_FLAGS,
  {
    name: "leader-elect",
    description: "work only while holding the Lease (default: on in a pod, else off)",
  },
  {
    name: "lease-namespace",
    value: "name",
    parse: dnsLabel,
    description: "namespace of the Lease (default: the pod's own, else default)",
  },
  {
    name: "lease-name",
    value: "name",
    default: "externaldatabase-operator",
    parse: dnsName,
    description: "name of the Lease",
  },
  {
    name: "shards",
    value: "count",
    default: "1",
    parse: integerBetween(1, 256),
    description: "operators that share the work; only 1 in this build",
  },
  {
    name: "cluster-id",
    value: "id",
    parse: clusterIdentity,
    description:
      "this cluster's identity in the cloud's tags (default: the UID of the namespace kube-system)",
  },
  ...LOG_FLAGS,
];

/** Flags of `demo`. */
export const DEMO_FLAGS: readonly Flag[] = [
  LISTEN_FLAG,
  {
    name: "api-listen",
    value: "host:port",
    default: "127.0.0.1:0",
    parse: listenAddress,
    description: "where the embedded Kubernetes API is served; port 0 means any free one",
  },
  {
    name: "cloud",
    value: "name",
    choices: ["local", "simulated"],
    description:
      "real PostgreSQL servers on this machine, or a simulated cloud (default: local where npm has the binaries)",
  },
  {
    name: "provisioning",
    value: "duration",
    default: "3s",
    parse: durationBetween("0s", "10m"),
    description: "how long the simulated cloud takes to make a database",
  },
  {
    name: "poll-interval",
    value: "duration",
    default: "10s",
    parse: durationBetween("10s", "24h"),
    description: "how often each database is looked at when nothing changes",
  },
  {
    name: "samples",
    value: "count",
    default: "3",
    parse: integerBetween(0, 1000),
    description: "sample databases to begin with",
  },
  ...LOG_FLAGS.map((flag) => {
    if (flag.name === "log-format") return { ...flag, default: "text" };
    return flag.name === "log-level" ? { ...flag, default: "warn" } : flag;
  }),
];

/**
 * The options of `start`. `inPod` says whether the process runs in a cluster. Throws an Error that names the flag
 * when flags do not go together.
 */
export function toStartOptions(values: FlagValues, inPod: boolean): StartOptions {
  const provider = values["provider"] as ProviderName | undefined;
  if (provider === undefined && inPod) {
    throw new Error(
      `--provider is required in a cluster: choose one of ${PROVIDERS.join(", ")} (or set EDB_PROVIDER)`,
    );
  }
  if (provider === "http" && values["cloud-url"] === undefined) {
    throw new Error("--provider http needs --cloud-url (or EDB_CLOUD_URL): the base URL of the cloud");
  }
  const goesWith = (flag: string, owner: ProviderName) => {
    if (provider === owner || values[flag] === undefined) return;
    const used = provider ?? "simulated";
    throw new Error(`--${flag} goes with --provider ${owner}, not with ${used}: leave one of them out`);
  };
  goesWith("cloud-url", "http");
  goesWith("cloud-token-file", "http");
  if (provider === "postgres" && values["postgres-url-file"] === undefined) {
    throw new Error(
      "--provider postgres needs --postgres-url-file (or EDB_POSTGRES_URL_FILE): a file with one URL a line",
    );
  }
  goesWith("postgres-url-file", "postgres");
  if (provider === "local" && values["local-folder"] === undefined) {
    throw new Error("--provider local needs --local-folder (or EDB_LOCAL_FOLDER): a folder of its own");
  }
  goesWith("local-folder", "local");
  for (const flag of ["aws-region", "aws-endpoint-url", "aws-parameters-file", "aws-credentials-file"]) {
    goesWith(flag, "aws-rds");
  }
  const leaderElect = (values["leader-elect"] as boolean | undefined) ?? inPod;
  if (!leaderElect && values["lease-namespace"] !== undefined) {
    throw new Error("--lease-namespace goes with --leader-elect, which is off: leave one of them out");
  }
  if ((values["shards"] as number) > 1) {
    throw new Error(`--shards ${values["shards"]} is not in this build yet: leave it out or set it to 1`);
  }
  return {
    provider: provider ?? "simulated",
    cloudUrl: values["cloud-url"] as string | undefined,
    cloudTokenFile: values["cloud-token-file"] as string | undefined,
    postgresUrlFile: values["postgres-url-file"] as string | undefined,
    localFolder: values["local-folder"] as string | undefined,
    awsRegion: values["aws-region"] as string | undefined,
    awsEndpointUrl: values["aws-endpoint-url"] as string | undefined,
    awsParametersFile: values["aws-parameters-file"] as string | undefined,
    awsCredentialsFile: values["aws-credentials-file"] as string | undefined,
    kubeconfig: values["kubeconfig"] as string | undefined,
    context: values["context"] as string | undefined,
    namespaces: [...new Set((values["namespace"] ?? []) as string[])],
    pollIntervalMs: values["poll-interval"] as number,
    cacheTtlMs: values["cache-ttl"] as number,
    concurrency: values["concurrency"] as number,
    rate: values["rate"] as number,
    ...toHttpOptions(values),
    leaderElect,
    leaseNamespace: values["lease-namespace"] as string | undefined,
    leaseName: values["lease-name"] as string,
    shards: values["shards"] as number,
    clusterId: values["cluster-id"] as string | undefined,
    callTimeoutMs: values["call-timeout"] as number,
    ...logOptions(values),
  };
}

/** The options of `demo`. */
export function toDemoOptions(values: FlagValues): DemoOptions {
  return {
    listen: values["listen"] as ListenAddress,
    apiListen: values["api-listen"] as ListenAddress,
    provisioningMs: values["provisioning"] as number,
    cloud: values["cloud"] as DemoOptions["cloud"],
    pollIntervalMs: values["poll-interval"] as number,
    samples: values["samples"] as number,
    ...logOptions(values),
  };
}

function logOptions(values: FlagValues): LogOptions {
  return {
    logFormat: values["log-format"] as LogOptions["logFormat"],
    logLevel: values["log-level"] as LogLevel,
  };
}
