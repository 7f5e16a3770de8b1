/**
 * The image as a pod of deploy/simulated runs it: the manifest's own command, arguments and environment, a token of its
 * service account and the rights of that alone, against a real API server. Whatever right, permission or file were
 * missing, the database would not come.
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, requestResource } from "../support/crd.ts";
import { Image } from "../support/image.ts";
import { freshNamespace, type Kube, startKube } from "../support/kube.ts";
import { freePorts } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const SYSTEM = "externaldatabase-system";
const ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";

/** The container of the Deployment, as the API server holds it. */
// deno-lint-ignore no-explicit-any
async function container(kube: Kube): Promise<any> {
  const applied = await kube.kubectl("apply", "--validate=strict", "-k", `${ROOT}deploy/simulated`);
  if (applied.code !== 0) throw new Error(applied.stderr);
  const answer = await kube.kubectl(
    "get",
    "deployment",
    "externaldatabase-operator",
    "-n",
    SYSTEM,
    "-o",
    "yaml",
  );
  return parse(answer.stdout).spec.template.spec.containers[0];
}

/** Variables as a kubelet sets them, and `$(NAME)` in words as a kubelet expands it. */
// deno-lint-ignore no-explicit-any
function kubelet(spec: any, ports: { readonly api: number; readonly http: number }) {
  const fields: Record<string, string> = { "metadata.name": "operator-0", "metadata.namespace": SYSTEM };
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of spec.env) {
    env[name] = value ?? fields[valueFrom.fieldRef.fieldPath];
  }
  const here = (text: string) =>
    text.replace(/:443\b/g, `:${ports.api}`).replace(/:8080\b/g, `:${ports.http}`);
  env["KUBERNETES_SERVICE_PORT"] = `${ports.api}`;
  for (const name of Object.keys(env)) env[name] = here(env[name]!);
  const words: string[] = [...spec.command, ...spec.args];
  return { env, words: words.map((word) => here(word.replace(/\$\((\w+)\)/g, (_, name) => env[name]!))) };
}

Deno.test("The pod that deploy/ describes makes a database, with its own rights and permissions", async () => {
  const kube = await startKube();
  let image: Image | undefined;
  try {
    image = await Image.build();
    const spec = await container(kube);
    const [http] = freePorts(1) as [number];
    const { env, words } = kubelet(spec, { api: Number(new URL(kube.url).port), http });
    const token = await kube.kubectl("create", "token", "externaldatabase-operator", "-n", SYSTEM);
    assertEquals(token.code, 0, token.stderr);
    await using pod = await image.start(words, env, {
      [`${ACCOUNT}/token`]: token.stdout.trim(),
      [`${ACCOUNT}/ca.crt`]: kube.ca,
      [`${ACCOUNT}/namespace`]: SYSTEM,
    });
    const namespace = await freshNamespace(kube, "pod");
    const applied = await applyResource(kube, namespace, "orders");
    assertEquals(applied.code, 0, applied.stderr);
    const look = async () => (await requestResource(kube, namespace, "orders")).body;
    const probe = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${http}${path}`, { signal: AbortSignal.timeout(5_000) });
      await answer.body?.cancel();
      return answer.ok;
    };
    try {
      await eventually(
        "the database is Available",
        async () => (await look()).status.state === "Available",
        90_000,
      );
      assert(await probe("/healthz") && await probe("/readyz") && await probe("/metrics"));
      const lease = await kube.kubectl(
        "get",
        "lease",
        "externaldatabase-operator",
        "-n",
        SYSTEM,
        "-o",
        "name",
      );
      assertEquals(lease.code, 0, lease.stderr);
      const described = await kube.kubectl("get", "events", "-n", namespace, "-o", "name");
      assert(described.stdout.trim() !== "", "no Event was recorded");
      const deleted = await kube.kubectl("delete", "edb", "orders", "-n", namespace, "--timeout=60s");
      assertEquals(deleted.code, 0, deleted.stderr);
    } catch (error) {
      throw new Error(`The pod said: ${(await pod.log()).slice(-4_000)}`, { cause: error });
    }
    const log = await pod.log();
    assertEquals(/NotCapable|[Ff]orbidden|Requires \w+ access/.test(log), false, log.slice(-4_000));
  } finally {
    await image?.remove();
    await kube.stop();
  }
});
