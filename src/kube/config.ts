/**
 * Finds the cluster: the service account of a pod, or a kubeconfig that was named. A kubeconfig in the home directory
 * is never taken by itself, for an operator must not start on whatever cluster somebody last worked with.
 *
 * Promised: only the named files are read (Deno's permissions can be as narrow), at most once here and again when
 * they rotate; every failure is a {@linkcode ConfigError} of one line that names the file or field.
 *
 * @module
 */
import { type Cluster, KubeConfig, type User } from "@kubernetes/client-node";
import type { Clock } from "../core/clock.ts";
import { ConfigError, readText, type TlsMaterial } from "./config_file.ts";
import { type Credentials, fileToken, pluginCredentials, staticCredentials } from "./credentials.ts";
import { readKubeconfig } from "./kubeconfig.ts";

export { ConfigError, type TlsMaterial } from "./config_file.ts";

/** Where the service account of a pod lies (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/). */
export const SERVICE_ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount";

/** What is needed to reach one cluster. */
export interface ClusterConfig {
  /** Where it came from, for logs: `service account` or `kubeconfig FILE, context NAME`. */
  readonly source: string;
  /** Base URL of the API server, without a slash at the end. */
  readonly server: string;
  /** Namespace of the service account or context. */
  readonly namespace: string | undefined;
  /** True for the service account of a pod. */
  readonly inCluster: boolean;
  readonly proxyUrl: string | undefined;
  /** True where the kubeconfig asks not to verify an HTTPS server, which Deno's fetch cannot do per client. */
  readonly skipTlsVerify: boolean;
  /** Reads CA and client certificate, each time anew, for files rotate. Throws {@linkcode ConfigError}. */
  readTls(): Promise<TlsMaterial>;
  readonly credentials: Credentials;
}

/** What {@linkcode loadClusterConfig} takes. */
export interface LoadConfigOptions {
  readonly clock: Clock;
  /** `--kubeconfig`: one path, or several separated by `:`; it goes ahead of everything else. */
  readonly kubeconfig?: string | undefined;
  /** `--context`: a context of the kubeconfig. @default its `current-context` */
  readonly context?: string | undefined;
  /** Reads an environment variable. @default Deno.env.get */
  readonly env?: (name: string) => string | undefined;
  /** @default "/var/run/secrets/kubernetes.io/serviceaccount" */
  readonly serviceAccountDir?: string;
}

/**
 * The cluster that flags and environment name: `--kubeconfig`, else the service account of a pod, else `KUBECONFIG`.
 * Throws {@linkcode ConfigError} when there is none or it cannot be read.
 */
export async function loadClusterConfig(options: LoadConfigOptions): Promise<ClusterConfig> {
  const env = options.env ?? ((name: string) => Deno.env.get(name));
  const explicit = options.kubeconfig?.trim();
  if (explicit) return await fromKubeconfig(explicit, "--kubeconfig", options);
  const fallback = env("KUBECONFIG")?.trim();
  const host = env("KUBERNETES_SERVICE_HOST");
  if (host && options.context && !fallback) {
    throw new ConfigError(
      "--context names a context of a kubeconfig, and the service account of a pod has none: " +
        "leave it out, or give --kubeconfig FILE (or KUBECONFIG)",
    );
  }
  if (host && !(options.context && fallback)) {
    try {
      return await fromServiceAccount(host, env("KUBERNETES_SERVICE_PORT") ?? "443", options);
    } catch (error) {
      if (!fallback) throw error; // a pod without a service account may be given a kubeconfig instead
    }
  }
  if (fallback) return await fromKubeconfig(fallback, "KUBECONFIG", options);
  throw new ConfigError(
    "No Kubernetes cluster is named: run inside a pod, or give --kubeconfig FILE (or KUBECONFIG) and, where needed, --context NAME; " +
      "to try the operator without a cluster, run demo",
  );
}

async function fromServiceAccount(
  host: string,
  port: string,
  options: LoadConfigOptions,
): Promise<ClusterConfig> {
  const dir = options.serviceAccountDir ?? SERVICE_ACCOUNT_DIR;
  const tokenFile = `${dir}/token`, caFile = `${dir}/ca.crt`;
  const what = "Reading the pod's service account";
  await readText(what, tokenFile);
  const namespace = await readText(what, `${dir}/namespace`).then((text) => text.trim(), () => undefined);
  const readTls = async () => ({ caCerts: [certificates(await readText(what, caFile), caFile)] });
  await readTls();
  return {
    source: "service account",
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    namespace: namespace || undefined,
    inCluster: true,
    proxyUrl: undefined,
    skipTlsVerify: false,
    readTls,
    credentials: fileToken(tokenFile, options.clock),
  };
}

async function fromKubeconfig(
  paths: string,
  named: string,
  options: LoadConfigOptions,
): Promise<ClusterConfig> {
  const loaded = await readKubeconfig(paths, named);
  const { config, file } = loaded;
  const where = `the kubeconfig ${file}`;
  const name = options.context ?? config.getCurrentContext();
  const known = config.getContexts().map((c) => `"${c.name}"`).join(", ") || "none";
  if (!name) {
    throw new ConfigError(
      `Choosing a context: ${where} has no current-context; give --context (there: ${known})`,
    );
  }
  const context = config.getContextObject(name);
  if (!context) {
    throw new ConfigError(`Choosing a context: ${where} has no context "${name}" (there: ${known})`);
  }
  config.setCurrentContext(name);
  const cluster = config.getCluster(context.cluster);
  if (!cluster) {
    throw new ConfigError(
      `Choosing a context: "${name}" in ${where} names the cluster "${context.cluster}", which is not there`,
    );
  }
  const user = context.user ? config.getUser(context.user) : null;
  if (context.user && !user) {
    throw new ConfigError(
      `Choosing a context: "${name}" in ${where} names the user "${context.user}", which is not there`,
    );
  }
  if (!/^https?:\/\/[^/]/.test(cluster.server)) {
    throw new ConfigError(
      `Reading ${where}: server "${cluster.server}" of cluster "${cluster.name}" is not an http or https URL`,
    );
  }
  if (cluster.tlsServerName) {
    throw new ConfigError(
      `Reading ${where}: tls-server-name of cluster "${cluster.name}" is not supported; name the server by a host that its certificate holds`,
    );
  }
  const readTls = () => kubeconfigTls(where, cluster, user);
  await readTls();
  return {
    source: `kubeconfig ${file}, context ${name}`,
    server: cluster.server.replace(/\/+$/, ""),
    namespace: context.namespace,
    inCluster: false,
    proxyUrl: cluster.proxyUrl || undefined,
    skipTlsVerify: cluster.skipTLSVerify && /^https:/i.test(cluster.server),
    readTls,
    credentials: userCredentials(config, cluster, user, options.clock),
  };
}

async function kubeconfigTls(where: string, cluster: Cluster, user: User | null): Promise<TlsMaterial> {
  const pem = async (field: string, data: string | undefined, file: string | undefined) => {
    if (file) return await readText(`Reading ${field} of ${where}`, file);
    return data ? decodeBase64(data, `Reading ${field} of ${where}`) : undefined;
  };
  const ca = await pem("certificate-authority", cluster.caData, cluster.caFile);
  const cert = await pem("client-certificate", user?.certData, user?.certFile);
  const key = await pem("client-key", user?.keyData, user?.keyFile);
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError(
      `Reading ${where}: user "${user?.name}" needs client-certificate and client-key together`,
    );
  }
  return {
    ...(ca === undefined
      ? {}
      : { caCerts: [certificates(ca, cluster.caFile ?? `certificate-authority-data of ${where}`)] }),
    ...(cert === undefined || key === undefined ? {} : {
      cert: certificates(cert, user?.certFile ?? `client-certificate-data of ${where}`),
      key,
    }),
  };
}

function userCredentials(config: KubeConfig, cluster: Cluster, user: User | null, clock: Clock): Credentials {
  if (!user) return staticCredentials({});
  const impersonate: Record<string, string> = user.impersonateUser
    ? { "Impersonate-User": user.impersonateUser }
    : {};
  const tokenFile = user.authProvider?.name === "tokenFile" ? user.authProvider.config?.tokenFile : undefined;
  if (typeof tokenFile === "string") return fileToken(tokenFile, clock, impersonate); // goes ahead of token, as in client-go
  if (user.token) return staticCredentials({ ...impersonate, Authorization: `Bearer ${user.token.trim()}` });
  if (user.exec || user.authProvider) return pluginCredentials(config, cluster, user, clock, impersonate);
  if (user.username) {
    const bytes = new TextEncoder().encode(`${user.username}:${user.password ?? ""}`);
    return staticCredentials({
      ...impersonate,
      Authorization: `Basic ${btoa(String.fromCharCode(...bytes))}`,
    });
  }
  return staticCredentials(impersonate);
}

/** Deno takes garbage for a CA without a word and then trusts nobody: look now. */
function certificates(pem: string, from: string): string {
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) {
    throw new ConfigError(`Reading a certificate: "${from}" holds no PEM certificate`);
  }
  return pem;
}

function decodeBase64(data: string, action: string): string {
  try {
    return atob(data.replaceAll(/\s+/g, ""));
  } catch (cause) {
    throw new ConfigError(`${action}: the data is not base64`, { cause });
  }
}
