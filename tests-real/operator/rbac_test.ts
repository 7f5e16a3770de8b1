/**
 * The operator with the rights that deploy/ gives it: they suffice for a whole life, Events and Lease included, and what
 * it does not need is refused to its token.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseAllDocuments } from "yaml";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { accountKubeconfig } from "../support/account.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, manifest, read } from "../support/operator.ts";
import { startOperator } from "../support/operator_process.ts";

const BASE = new URL("../../deploy/base", import.meta.url).pathname;
const SYSTEM = "externaldatabase-system";
const ACCOUNT = "externaldatabase-operator";
const LEASE = [
  "get",
  "lease",
  "externaldatabase-operator",
  "-n",
  SYSTEM,
  "-o=jsonpath={.spec.holderIdentity}",
];
const RIGHTS = /^(Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$/;

/** What a token that was stolen is not to be good for. `NS` is the namespace of the resources. */
const REFUSED: readonly (readonly string[])[] = [
  ["get", "configmaps", "-A"],
  ["get", "pods", "-A"],
  ["get", "namespaces"],
  ["get", "leases", "-A"],
  ["delete", "edb", "kept", "-n", "NS"],
  ["delete", "namespace", "NS"],
  ["create", "serviceaccount", "mine", "-n", "NS"],
  ["create", "token", ACCOUNT, "-n", SYSTEM],
  ["delete", "crd", "externaldatabases.crd.my.domain"],
  ["label", "crd", "externaldatabases.crd.my.domain", "a=b"],
  ["get", "events", "-n", "NS"],
];

Deno.test("with the rights that deploy/ gives, and no more, a resource lives its whole life; what else there is, is refused", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const rendered = (await kube.kubectl("kustomize", BASE)).stdout;
  const rights = parseAllDocuments(rendered).map((document) => document.toJSON())
    .filter(({ kind }) => RIGHTS.test(kind));
  assertEquals(rights.length, 12, "namespace, account, six roles, four of them bound");
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items: rights });
  const applied = await kube.kubectlWith({ stdin }, "apply", "-f", "-");
  assertEquals(applied.code, 0, applied.stderr);
  const ns = await freshNamespace(kube, "rbac");
  const kubeconfig = await accountKubeconfig(kube, SYSTEM, ACCOUNT);
  const cloud = fastCloud();
  const server = serveCloud(cloud);
  const child = startOperator(kube, {
    cloudUrl: server.url,
    namespace: ns,
    kubeconfig,
    args: ["--leader-elect", "--poll-interval=10s", "--log-level=debug"],
    env: { POD_NAME: "operator-0", POD_NAMESPACE: SYSTEM },
  });
  const inStep = async (sizeGb: number) => {
    const cr = await read(kube, ns, "orders");
    return cr?.status?.observed?.sizeGb === sizeGb && conditionOf(cr, "Synced") === "True/Available";
  };
  try {
    await apply(kube, manifest(ns, "orders", { connectionSecretRef: {} }));
    await eventually("it is Available", () => inStep(20), 20_000, 20);
    await apply(kube, manifest(ns, "orders", { sizeGb: 50, connectionSecretRef: {} }));
    await eventually("it has grown", () => inStep(50), 20_000, 20);
    const deleted = await kube.kubectl("delete", "edb", "orders", "-n", ns, "--timeout=20s");
    assertEquals([deleted.code, deleted.stderr, cloud.databases().length], [0, "", 0]);
    const reasons = ["get", "events", "-n", ns, "-o=jsonpath={.items[*].reason}"];
    await eventually("its Events are there", async () => {
      const told = (await kube.kubectl(...reasons)).stdout.split(" ");
      return ["Created", "Available", "Updating", "Deleting", "Deleted"].every((r) => told.includes(r));
    });
    assertMatch((await kube.kubectl(...LEASE)).stdout, /^operator-0_/);
    child.kill("SIGTERM");
    assertEquals([await child.code(), child.err], [0, ""]);
    assertEquals((await kube.kubectl(...LEASE)).stdout, "", "the lease is released");
    assert(!/forbidden|cannot (get|list|watch|create|patch|update)/i.test(child.out), child.out);

    await apply(kube, manifest(ns, "kept"));
    const answers = await Promise.all(
      REFUSED.map((words) =>
        kube.kubectlWith({ kubeconfig }, ...words.map((word) => word === "NS" ? ns : word))
      ),
    );
    for (const [i, { code, stderr }] of answers.entries()) {
      const what = REFUSED[i]!.join(" ");
      assert(code !== 0, `kubectl ${what} was allowed`);
      assertMatch(stderr, /[Ff]orbidden/, what);
    }
    assert(await read(kube, ns, "kept") !== undefined);
  } finally {
    await child.end();
    await server.close();
    await kube.kubectlWith({ stdin }, "delete", "-f", "-", "--ignore-not-found", "--timeout=30s");
  }
});
