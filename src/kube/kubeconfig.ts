/**
 * Reads kubeconfig files into client-node's {@linkcode KubeConfig}, several merged by kubectl's rules: the first file
 * that names a thing wins, files that are missing are passed over as long as one is there
 * (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files).
 * client-node's own merge takes the last `current-context` and refuses names that repeat.
 *
 * @module
 */
import { dirname, isAbsolute, join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import { messageOf } from "../core/text.ts";
import { ConfigError, fileProblem, readText } from "./config_file.ts";

/** What was read. */
export interface LoadedKubeconfig {
  readonly config: KubeConfig;
  /** The paths that were read, for messages. */
  readonly file: string;
}

/** Reads `paths` (separated by `:`); `named` says who named them. Throws {@linkcode ConfigError}. */
export async function readKubeconfig(paths: string, named: string): Promise<LoadedKubeconfig> {
  const files = paths.split(":").map((path) => path.trim()).filter((path) => path !== "");
  const merged = new KubeConfig();
  const read: string[] = [];
  for (const file of files) {
    try {
      await Deno.stat(file);
    } catch (cause) {
      if (cause instanceof Deno.errors.NotFound && files.length > 1) continue;
      throw new ConfigError(`Reading the kubeconfig named by ${named}: ${fileProblem(file, cause)}`, {
        cause,
      });
    }
    merge(merged, await readOne(file, named));
    read.push(file);
  }
  if (read.length === 0) {
    throw new ConfigError(
      `Reading the kubeconfig named by ${named}: none of these files is there: "${paths}"`,
    );
  }
  return { config: merged, file: read.join(":") };
}

async function readOne(file: string, named: string): Promise<KubeConfig> {
  const action = `Reading the kubeconfig named by ${named}`;
  const text = await readText(action, file);
  const config = new KubeConfig();
  try {
    const parsed: unknown = parse(text);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      throw new Error("it holds no mapping");
    }
    const root = parsed as Record<string, unknown>;
    for (const list of ["clusters", "contexts", "users"]) {
      if (root[list] !== undefined && root[list] !== null && !Array.isArray(root[list])) {
        throw new Error(`${list} is not a list`);
      }
    }
    useTokenFiles(root["users"], dirname(file));
    config.loadFromString(JSON.stringify(root)); // JSON is YAML
    config.makePathsAbsolute(dirname(file));
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const why = messageOf(cause).split("\n")[0]?.replace(/:$/, "");
    throw new ConfigError(`${action}: "${file}" is malformed: ${why}`, { cause });
  }
  return config;
}

/** client-node knows the key `tokenFile` under another name only, and reads it once: hand it over as a provider of that name. */
function useTokenFiles(users: unknown, dir: string): void {
  if (!Array.isArray(users)) return;
  for (const entry of users) {
    const user = entry?.user;
    const file = user?.tokenFile ?? user?.["token-file"];
    if (typeof file !== "string" || file === "") continue;
    delete user["token-file"];
    user["auth-provider"] = {
      name: "tokenFile",
      config: { tokenFile: isAbsolute(file) ? file : join(dir, file) },
    };
  }
}

function merge(into: KubeConfig, from: KubeConfig): void {
  for (const cluster of from.getClusters()) {
    if (!into.getClusters().some((c) => c.name === cluster.name)) into.addCluster(cluster);
  }
  for (const user of from.getUsers()) {
    if (!into.getUsers().some((u) => u.name === user.name)) into.addUser(user);
  }
  for (const context of from.getContexts()) {
    if (!into.getContexts().some((c) => c.name === context.name)) into.addContext(context);
  }
  // Its type says string, but a file without one leaves it undefined.
  const current = from.getCurrentContext() as string | undefined;
  if (current && !into.getCurrentContext()) into.setCurrentContext(current);
}
