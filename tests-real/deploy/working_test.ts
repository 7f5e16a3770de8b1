/** The operator at work as it was installed: with the rights, permissions, arguments and environment of its Deployment. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import type { Child } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { startDeployed } from "../support/deployed.ts";
import { asList, kustomized, type Manifest } from "../support/helm.ts";
import { becomesReady, NAME, SYSTEM, whileInstalled, withKube } from "../support/installed.ts";
import { apply, conditionOf, fastCloud, manifest, messageOf, read } from "../support/operator.ts";

/** The operator ends well when it is asked to, and neither Kubernetes nor Deno refused it anything. */
async function endsUnrefused(child: Child): Promise<void> {
  child.kill("SIGTERM");
  assertEquals([await child.code(), child.err], [0, ""]);
  assertEquals(/forbidden|NotCapable|Requires \w+ access/i.test(child.out), false, child.out);
}

function inNamespace(namespace: string, objects: readonly Manifest[]): Manifest[] {
  return objects.map((object) => ({ ...object, metadata: { ...object["metadata"], namespace } }));
}

Deno.test("installed by Helm, the operator makes a database and its Secret in any namespace", async () => {
  await whileInstalled(["--set=operator.logLevel=debug"], async ({ kube, cloud, child }) => {
    await becomesReady(kube, "team-a", "orders");
    await becomesReady(kube, "elsewhere", "orders");
    const deleted = await kube.kubectl("delete", "edb", "--all", "-A", "--timeout=30s");
    assertEquals([deleted.code, cloud.databases().length], [0, 0], deleted.stderr);
    await endsUnrefused(child);
  });
});

Deno.test("installed for one namespace, the operator works there, and knows of no resource elsewhere", async () => {
  await whileInstalled(['--set-json=namespaces=["team-a"]'], async ({ kube, cloud, child }) => {
    await apply(kube, manifest("team-b", "orders", { connectionSecretRef: {} }));
    await becomesReady(kube, "team-a", "orders");
    await becomesReady(kube, "team-a", "more");
    assertEquals((await read(kube, "team-b", "orders"))?.status?.conditions, undefined);
    assertEquals(cloud.databases().length, 2);
    await endsUnrefused(child);
  });
});

Deno.test("with Secrets in named namespaces alone, a resource elsewhere is told that Kubernetes refuses its Secret, until it is allowed", async () => {
  const named = '--set-json=connectionSecrets={"scope":"named","namespaces":["team-a"]}';
  await whileInstalled([named], async ({ kube, cloud }) => {
    await becomesReady(kube, "team-a", "orders");
    await apply(kube, manifest("team-b", "orders", { connectionSecretRef: {} }));
    await eventually(
      "it is told",
      async () => /\/SecretPending$/.test(conditionOf(await read(kube, "team-b", "orders"), "Ready")),
      30_000,
      50,
    );
    await eventually(
      "why",
      async () =>
        /cannot (get|create).*secrets/.test(messageOf(await read(kube, "team-b", "orders"), "Ready")),
      30_000,
      50,
    );
    assertEquals(cloud.databases().length, 1, "none is made whose password could not be kept");
    const stdin = asList(inNamespace("team-b", await kustomized("rights/secrets")));
    const bound = await kube.kubectlWith({ stdin }, "apply", "-f", "-");
    assertEquals(bound.code, 0, bound.stderr);
    await becomesReady(kube, "team-b", "orders");
  });
});

Deno.test("installed by kustomize for classes alone, the operator reads the Secret that a class names and no other", async () => {
  await withKube(async (kube) => {
    const server = serveCloud(fastCloud(), { tokens: () => ["standard-1"] });
    const [classes, secrets] = await Promise.all([kustomized("classes"), kustomized("rights/secrets")]);
    const parameters = { url: server.url };
    const token = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "class-standard", namespace: SYSTEM },
      stringData: { token: "standard-1" },
    };
    const standard = {
      apiVersion: "crd.my.domain/v1",
      kind: "ExternalDatabaseClass",
      metadata: { name: "standard", annotations: { "db.my.domain/is-default-class": "true" } },
      spec: { provider: "http", parameters, credentialsSecretRef: { name: "class-standard" } },
    };
    for (const items of [[...classes, ...inNamespace("team-a", secrets), token], [standard]]) {
      const stdin = asList(items);
      const applied = await kube.kubectlWith({ stdin }, "apply", "--validate=strict", "-f", "-");
      assertEquals(applied.code, 0, applied.stderr);
      const crds = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"];
      await kube.kubectl(...crds);
    }
    const child = await startDeployed(kube, SYSTEM, NAME, {
      "db.cloud.example:443": new URL(server.url).host,
    });
    try {
      await becomesReady(kube, "team-a", "orders");
      const orders = await read(kube, "team-a", "orders");
      assertEquals(orders?.status?.className, "standard");
      assertStringIncludes(orders?.status?.account ?? "", "simulated");
      assert(!child.out.includes("standard-1"));
    } finally {
      await child.end();
      await server.close();
    }
  });
});

Deno.test("a CRD that was deleted while no operator ran goes once one is installed again, and every database is kept and named", async () => {
  await whileInstalled([], async ({ kube, cloud, child: first, start }) => {
    const crd = "externaldatabases.crd.my.domain";
    await becomesReady(kube, "team-a", "orders");
    first.kill("SIGTERM");
    assertEquals(await first.code(), 0);
    const removed = await kube.kubectl("delete", "crd", crd, "--wait=false");
    assertEquals(removed.code, 0, removed.stderr);
    const held = await kube.kubectl("wait", "--for=delete", `crd/${crd}`, "--timeout=3s");
    assert(held.code !== 0, "the finalizer holds it");
    const second = await start();
    try {
      const gone = await kube.kubectl("wait", "--for=delete", `crd/${crd}`, "--timeout=60s");
      assertEquals(gone.code, 0, gone.stderr + second.out);
      const [kept] = cloud.databases();
      assertEquals(cloud.databases().length, 1);
      assertStringIncludes(second.out, kept!.id);
    } finally {
      await second.end();
    }
  });
});
