/**
 * The operator as it runs in a pod whose ServiceAccount names a role (IRSA): no keys anywhere, a token in a file, and the
 * permissions of the image.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { Child } from "../../tests/cli/support.ts";
import { serveProxy } from "./proxy.ts";
import { emptyRds, eventually, KEYS, REGION } from "./support.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DATABASES = "/apis/crd.my.domain/v1/namespaces/default/externaldatabases";
const TOKEN = "eyJhbGciOiJSUzI1NiJ9.web-identity-0123456789.c2lnbmF0dXJl";

Deno.test("a pod's web identity alone suffices for a life at RDS, and its token is told to nobody but STS", async () => {
  const server = await emptyRds();
  const proxy = serveProxy(server.url);
  const served = await serveEmbeddedApi();
  const dir = await Deno.makeTempDir();
  const ask = async (method: string, path: string, body?: unknown) => {
    const init = body === undefined
      ? { method }
      : { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await served.api.fetch(new Request(`http://embedded${path}`, init));
    const object = await answer.json();
    assert(answer.ok || answer.status === 404, `${method} ${path}: ${JSON.stringify(object)}`);
    return answer.status === 404 ? undefined : object;
  };
  await Deno.writeTextFile(`${dir}/kubeconfig`, served.kubeconfig());
  await Deno.writeTextFile(`${dir}/token`, `${TOKEN}\n`);
  await Deno.writeTextFile(
    `${dir}/parameters.json`,
    JSON.stringify({ stsEndpointUrl: proxy.url, effectBoundSeconds: 2, readLagSeconds: 0 }),
  );
  await ask("POST", CRDS, customResourceDefinition());
  const operator = new Child([
    ...["start", "--provider=aws-rds", `--aws-region=${REGION}`, `--aws-endpoint-url=${proxy.url}`],
    ...[`--aws-parameters-file=${dir}/parameters.json`, `--kubeconfig=${dir}/kubeconfig`],
    ...["--listen=127.0.0.1:0", "--poll-interval=10s", "--log-level=debug"],
  ], [
    "--allow-env=EDB_*,AWS_*,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,KUBECONFIG,POD_NAME,POD_NAMESPACE",
    ...["--ignore-env", `--allow-read=${dir}`, "--allow-net=127.0.0.1"],
  ], {
    env: {
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/operator",
      AWS_WEB_IDENTITY_TOKEN_FILE: `${dir}/token`,
    },
  });
  try {
    await ask("POST", DATABASES, {
      ...{ apiVersion: "crd.my.domain/v1", kind: "ExternalDatabase" },
      metadata: { name: "orders", namespace: "default" },
      spec: { engine: "postgres", version: "16", sizeGb: 20 },
    });
    await eventually("Ready", async () => {
      const conditions: { type: string; status: string }[] =
        (await ask("GET", `${DATABASES}/orders`)).status?.conditions ?? [];
      return conditions.some(({ type, status }) => type === "Ready" && status === "True") || undefined;
    });
    assertEquals((await server.instances()).length, 1);
    await ask("DELETE", `${DATABASES}/orders`);
    await eventually(
      "its end",
      async () => await ask("GET", `${DATABASES}/orders`) === undefined || undefined,
    );
    assertEquals(await server.instances(), []);
    const events = JSON.stringify(await ask("GET", "/apis/events.k8s.io/v1/events"));
    operator.kill("SIGTERM");
    assertEquals([await operator.code(), operator.err], [0, ""]);

    const [first] = proxy.asked;
    assertEquals([first?.action, first?.keyId], ["AssumeRoleWithWebIdentity", undefined]);
    assertEquals(first?.parameters.get("WebIdentityToken"), TOKEN);
    const signed = proxy.asked.filter(({ action }) => action !== "AssumeRoleWithWebIdentity");
    assert(signed.some(({ action }) => action === "CreateDBInstance"));
    for (const { action, keyId, parameters } of signed) {
      assert(keyId !== undefined && keyId !== KEYS.AWS_ACCESS_KEY_ID, `${action} is signed by ${keyId}`);
      assert(!parameters.toString().includes(TOKEN), action);
    }
    for (const text of [operator.out, events]) assert(!text.includes(TOKEN), "the token is told");
  } finally {
    await operator.end();
    await served.close();
    await proxy.close();
    await Deno.remove(dir, { recursive: true });
  }
});
