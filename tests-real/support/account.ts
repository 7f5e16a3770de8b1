/**
 * Kubeconfigs of service accounts, for tests of what the operator may and may not do.
 *
 * @module
 */
import type { Kube } from "./kube.ts";

/** Writes a kubeconfig with a fresh token of a service account, and returns its path. */
export async function accountKubeconfig(kube: Kube, namespace: string, account: string): Promise<string> {
  const token = await kube.kubectl("create", "token", account, "-n", namespace);
  if (token.code !== 0) throw new Error(`Making a token of "${account}" failed: ${token.stderr}`);
  const path = `${kube.dir}/${namespace}.${account}.kubeconfig`;
  const config = {
    clusters: [{ name: "c", cluster: { server: kube.url, "certificate-authority": `${kube.dir}/ca.crt` } }],
    users: [{ name: "u", user: { token: token.stdout.trim() } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await Deno.writeTextFile(path, JSON.stringify(config));
  return path;
}
