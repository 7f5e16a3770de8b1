/**
 * The operator as its Deployment describes it, run as a process of this machine: the manifest's own arguments, environment
 * and permissions, and a token of its ServiceAccount. Only addresses are others: a kubelet and a DNS are not here.
 *
 * @module
 */
import { Child } from "../../tests/cli/support.ts";
import { accountKubeconfig } from "./account.ts";
import type { Kube } from "./kube.ts";
import type { Manifest } from "./helm.ts";
import { freePorts } from "./process.ts";

/** Starts the one container of a Deployment that is in the cluster. `hosts` says where a `host:port` really is. */
export async function startDeployed(
  kube: Kube,
  namespace: string,
  name: string,
  hosts: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const answer = await kube.fetch(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  const deployment: Manifest = await answer.json();
  if (!answer.ok) throw new Error(`Reading the Deployment "${name}" failed: ${deployment["message"]}`);
  const { serviceAccountName, containers: [container] } = deployment["spec"].template.spec;
  const [port] = freePorts(1) as [number];
  const places = Object.entries({
    ...hosts,
    "kubernetes.default.svc:443": new URL(kube.url).host,
    "0.0.0.0:8080": `127.0.0.1:${port}`,
  });
  const here = (text: string) => places.reduce((said, [from, to]) => said.replaceAll(from, to), text);
  const fields: Record<string, string> = { "metadata.name": "operator-0", "metadata.namespace": namespace };
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env) {
    env[name] = here(value ?? fields[valueFrom.fieldRef.fieldPath]);
  }
  // Found by the kubeconfig instead, which holds the same token and authority as the pod's own files.
  delete env["KUBERNETES_SERVICE_HOST"];
  const words: string[] = container.command.map((word: string) =>
    word.replace(/\$\((\w+)\)/g, (_, variable) => env[variable] ?? `$(${variable})`)
  );
  const kubeconfig = await accountKubeconfig(kube, namespace, serviceAccountName);
  const permissions = words.filter((word) => /^--(allow|ignore)-/.test(word)).map((word) =>
    word.startsWith("--allow-read=") ? `${word},${kube.dir}` : word
  );
  const args = [...container.args.map(here), `--kubeconfig=${kubeconfig}`];
  return new Child(args, permissions, { env });
}
