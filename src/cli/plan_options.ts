/**
 * The flags of `plan`, and the options that they become.
 *
 * @module
 */
import type { Flag, FlagValues } from "./flag.ts";
import { START_FLAGS, type StartOptions, toStartOptions } from "./options.ts";

/** Result of `plan`. */
export interface PlanOptions {
  /** The provider and the cluster, by the flags of `start`. */
  readonly start: StartOptions;
  /** Files of manifests; `-` is standard input. */
  readonly files: readonly string[];
  /** The whole cluster is planned. */
  readonly all: boolean;
  readonly output: "text" | "json";
}

/** The flags of `start` that say which cloud and which cluster. */
const SHARED: ReadonlySet<string> = new Set([
  ...["provider", "cloud-url", "cloud-token-file", "postgres-url-file", "local-folder"],
  ...["aws-region", "aws-endpoint-url", "aws-parameters-file", "aws-credentials-file"],
  ...["kubeconfig", "context", "namespace", "cluster-id", "poll-interval"],
  ...["concurrency", "rate", "call-timeout"],
]);

/** Flags of `plan`. */
export const PLAN_FLAGS: readonly Flag[] = [
  {
    name: "file",
    short: "f",
    value: "file",
    repeatable: true,
    description: "manifests to plan, - for standard input; repeat it (default: what is in the cluster)",
  },
  {
    name: "all",
    description: "plan all that is in the cluster too, where --file is given",
    default: "false",
  },
  {
    name: "output",
    short: "o",
    value: "format",
    choices: ["text", "json"],
    default: "text",
    description: "how the plan is printed",
  },
  ...START_FLAGS.filter(({ name }) => SHARED.has(name)),
];

/** The options of `plan`. Throws an Error that names the flag when flags do not go together. */
export function toPlanOptions(values: FlagValues): PlanOptions {
  const files = [...new Set((values["file"] ?? []) as string[])];
  return {
    start: toStartOptions(values, false),
    files,
    all: files.length === 0 || values["all"] === true,
    output: values["output"] as PlanOptions["output"],
  };
}
