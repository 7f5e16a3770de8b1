/**
 * `start`: the operator against a cluster.
 *
 * @module
 */
import { OPERATOR_NAME } from "../api/constants.ts";
import { loadClusterConfig } from "../kube/config.ts";
import { createClassProvider } from "../providers/from_class.ts";
import { createProvider } from "../providers/registry.ts";
import { readTokenFile } from "../providers/token.ts";
import { type HostEnvironment, hostOperator } from "./host.ts";
import type { StartOptions } from "./options.ts";

/** Runs until the signal aborts. Rejects with one clear error when the configuration does not do. */
export async function runStart(options: StartOptions, environment: HostEnvironment): Promise<void> {
  const { clock, random, log } = environment;
  const config = await loadClusterConfig({ clock, kubeconfig: options.kubeconfig, context: options.context });
  if (config.skipTlsVerify) {
    log.log("warn", "The kubeconfig asks to skip TLS verification, which is not done", {
      cluster: config.source,
    });
  }
  if (options.provider === "simulated") {
    log.log("warn", "The simulated cloud lives in this process alone: its databases are gone when it ends");
  }
  if (options.provider === "http" && options.cloudTokenFile !== undefined) {
    // Told now, not as a cloud that refuses; a file that goes later is told by every call.
    await readTokenFile(options.cloudTokenFile, { clock }).catch((cause: unknown) => {
      throw new Error("The file of --cloud-token-file cannot be used", { cause });
    });
  }
  if (options.provider === "postgres" && options.postgresUrlFile !== undefined) {
    const { readServersFile } = await import("../providers/postgres/servers.ts");
    await readServersFile({ clock, urlFile: options.postgresUrlFile }).catch((cause: unknown) => {
      throw new Error("The file of --postgres-url-file cannot be used", { cause });
    });
  }
  if (options.provider === "aws-rds") {
    const { readRdsParameters } = await import("../providers/aws-rds/parameters_file.ts");
    const { region } = await readRdsParameters(options);
    if (!region && !Deno.env.get("AWS_REGION") && !Deno.env.get("AWS_DEFAULT_REGION")) {
      throw new Error(
        "--provider aws-rds needs a region: set --aws-region (or EDB_AWS_REGION, or AWS_REGION)",
      );
    }
    if (options.awsCredentialsFile !== undefined) {
      await Deno.stat(options.awsCredentialsFile).catch((cause: unknown) => {
        throw new Error("The file of --aws-credentials-file cannot be used", { cause });
      });
    }
  }
  const identity = `${Deno.env.get("POD_NAME") || OPERATOR_NAME}_${crypto.randomUUID()}`;
  if (!options.leaderElect) {
    log.log(
      "warn",
      "Leader election is off: no second operator may run for the same resources (--leader-elect)",
    );
  }
  const provider = createProvider(options.provider, {
    clock,
    random,
    cloudUrl: options.cloudUrl,
    cloudTokenFile: options.cloudTokenFile,
    postgresUrlFile: options.postgresUrlFile,
    localFolder: options.localFolder,
    log,
    awsRegion: options.awsRegion,
    awsEndpointUrl: options.awsEndpointUrl,
    awsParametersFile: options.awsParametersFile,
    awsCredentialsFile: options.awsCredentialsFile,
    timeoutMs: options.callTimeoutMs,
    caller: identity, // so that the cloud's log tells the leader from one that was replaced (H1)
  });
  const ownNamespace = Deno.env.get("POD_NAMESPACE") || (config.inCluster ? config.namespace : undefined);
  await hostOperator({
    config,
    provider,
    classes: {
      ownNamespace: ownNamespace ?? "default",
      provide: (request) =>
        createClassProvider(request, {
          clock,
          random,
          timeoutMs: options.callTimeoutMs,
          caller: identity,
          log,
        }),
    },
    identity,
    listen: options.listen,
    httpAuth: options.httpAuth,
    tls: options.tls,
    namespaces: options.namespaces,
    pollIntervalMs: options.pollIntervalMs,
    cacheTtlMs: options.cacheTtlMs,
    concurrency: options.concurrency,
    rate: options.rate,
    callTimeoutMs: options.callTimeoutMs,
    clusterId: options.clusterId,
    lease: options.leaderElect
      ? { namespace: options.leaseNamespace ?? ownNamespace ?? "default", name: options.leaseName }
      : undefined,
  }, environment);
}
