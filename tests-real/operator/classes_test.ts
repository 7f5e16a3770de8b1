/**
 * Two accounts side by side, as classes, on a real API server: the operator as a process of its own, with the rights that
 * deploy/ gives and the right to two Secrets by name, and clouds that want their token.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parseAllDocuments } from "yaml";
import type { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { accountKubeconfig } from "../support/account.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, manifest, read } from "../support/operator.ts";
import { startOperator } from "../support/operator_process.ts";

const BASE = new URL("../../deploy/base", import.meta.url).pathname;
const SYSTEM = "externaldatabase-system";
const ACCOUNT = "externaldatabase-operator";
const RIGHTS = /^(Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$/;

const kube = await sharedKube();
await installCrd(kube);

async function kubectl(stdin: unknown, ...args: string[]): Promise<string> {
  const output = await kube.kubectlWith({ stdin: JSON.stringify(stdin) }, ...args);
  assertEquals(output.code, 0, output.stderr);
  return output.stdout;
}

const secret = (name: string, token: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: SYSTEM },
  stringData: { token },
});

const classOf = (name: string, url: string, more: Record<string, unknown> = {}) => ({
  apiVersion: "crd.my.domain/v1",
  kind: "ExternalDatabaseClass",
  metadata: { name },
  spec: { provider: "http", parameters: { url }, credentialsSecretRef: { name }, ...more },
});

/** A condition of a class as `status/reason`. */
async function classCondition(kube: Kube, name: string, type: string): Promise<string> {
  const path = `-o=jsonpath={range .status.conditions[?(@.type=="${type}")]}{.status}/{.reason}{end}`;
  return (await kube.kubectl("get", "edbclass", name, path)).stdout;
}

const live = (cloud: SimulatedCloud) => cloud.databases().map((d) => d.name).toSorted();

Deno.test("two classes side by side: each its account, its token read from the one Secret that it names; a rotation and a lost class", async () => {
  const rendered = (await kube.kubectl("kustomize", BASE)).stdout;
  const rights = [
    ...parseAllDocuments(rendered).map((document) => document.toJSON()).filter(({ kind }) =>
      RIGHTS.test(kind)
    ),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "operator-classes", namespace: SYSTEM },
      rules: [{
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: ["class-east", "class-west"],
        verbs: ["get", "list", "watch"],
      }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "operator-classes", namespace: SYSTEM },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "operator-classes" },
      subjects: [{ kind: "ServiceAccount", name: ACCOUNT, namespace: SYSTEM }],
    },
  ];
  const list = { apiVersion: "v1", kind: "List", items: rights };
  await kubectl(list, "apply", "-f", "-");
  const ns = await freshNamespace(kube, "classes");
  const [flags, east, west] = [fastCloud(), fastCloud({ account: "east" }), fastCloud({ account: "west" })];
  let westToken = "west-1";
  const servers = [
    serveCloud(flags),
    serveCloud(east, { tokens: () => ["east-1"] }),
    serveCloud(west, { tokens: () => [westToken] }),
  ] as const;
  await kubectl(secret("class-east", "east-1"), "apply", "-f", "-");
  await kubectl(secret("class-west", "west-1"), "apply", "-f", "-");
  await kubectl(classOf("class-east", servers[1].url), "apply", "--validate=strict", "-f", "-");
  const bounds = { allowed: { engines: ["postgres"], sizeGb: { max: 60 } } };
  await kubectl(classOf("class-west", servers[2].url, bounds), "apply", "--validate=strict", "-f", "-");
  const child = startOperator(kube, {
    cloudUrl: servers[0].url,
    namespace: ns,
    kubeconfig: await accountKubeconfig(kube, SYSTEM, ACCOUNT),
    args: ["--leader-elect", "--poll-interval=10s", "--log-level=debug"],
    env: { POD_NAME: "operator-0", POD_NAMESPACE: SYSTEM },
  });
  const synced = async (name: string) => conditionOf(await read(kube, ns, name), "Synced");
  const inStep = (...names: string[]) =>
    eventually(
      `${names.join(", ")} in step`,
      async () => (await Promise.all(names.map(synced))).every((s) => s === "True/Available"),
      30_000,
    );
  try {
    await apply(kube, manifest(ns, "a", { className: "class-east" }));
    await apply(kube, manifest(ns, "b", { className: "class-west" }));
    await apply(kube, manifest(ns, "c"));
    await apply(kube, manifest(ns, "d", { className: "class-west", sizeGb: 61 }));
    await inStep("a", "b", "c");
    assertEquals([live(flags), live(east), live(west)], [["c"], ["a"], ["b"]]);
    await eventually("d is told", async () => await synced("d") === "False/NotAllowed");
    assertEquals((await read(kube, ns, "b"))?.status?.className, "class-west");
    for (const name of ["class-east", "class-west"]) {
      await eventually(
        `${name} is ready`,
        async () => await classCondition(kube, name, "Ready") === "True/Available",
        30_000,
      );
      assertEquals(await classCondition(kube, name, "Accepted"), "True/Accepted");
    }
    const moved = await kube.kubectl(
      ...["patch", "edb", "b", "-n", ns, "--type=merge", "-p", '{"spec":{"className":"class-east"}}'],
    );
    assert(
      moved.code !== 0 && moved.stderr.includes("spec.className cannot change once the database exists"),
    );

    westToken = "west-2";
    await apply(kube, manifest(ns, "b", { className: "class-west", sizeGb: 40 }));
    await eventually(
      "the old token is refused",
      async () => await classCondition(kube, "class-west", "Ready") === "False/Unauthorised",
      90_000,
    );
    await kubectl(secret("class-west", "west-2"), "apply", "-f", "-");
    await eventually(
      "the new token is used at once",
      async () => await classCondition(kube, "class-west", "Ready") === "True/Available",
      10_000,
    );
    await eventually("b has grown", () => west.databases()[0]?.sizeGb === 40, 20_000);

    await kube.kubectl("delete", "edbclass", "class-west");
    await kube.kubectl("delete", "edb", "b", "-n", ns, "--wait=false");
    await eventually("the deletion waits", async () => await synced("b") === "False/ClassMissing", 20_000);
    assertEquals(live(west), ["b"]);
    await kubectl(classOf("class-west", servers[2].url), "apply", "-f", "-");
    await eventually("b is gone", async () => await read(kube, ns, "b") === undefined, 30_000);
    await kube.kubectl("delete", "edb", "a", "c", "d", "-n", ns, "--timeout=30s");
    assertEquals([live(flags), live(east), live(west)], [[], [], []]);
    child.kill("SIGTERM");
    assertEquals([await child.code(), child.err], [0, ""]);
    assert(!/forbidden/i.test(child.out), child.out);
    for (const token of ["east-1", "west-1", "west-2"]) {
      assert(!child.out.includes(token), "no token in the log");
    }
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${child.out.slice(-20_000)}`, {
      cause: error,
    });
  } finally {
    await child.end();
    for (const server of servers) await server.close();
    await kube.kubectl("delete", "edbclass", "class-east", "class-west", "--ignore-not-found");
    await kube.kubectlWith(
      { stdin: JSON.stringify(list) },
      "delete",
      "-f",
      "-",
      "--ignore-not-found",
      "--timeout=30s",
    );
  }
});
