/** The manifests in deploy/, on a real API server: accepted, admitted, and the operator's rights neither more nor less. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { OVERLAYS } from "../support/helm.ts";
import { NAME, SYSTEM } from "../support/installed.ts";
import { startKube } from "../support/kube.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const USER = `system:serviceaccount:${SYSTEM}:${NAME}`;

/** group/resource[/subresource], verb, name, namespace. */
type Right = readonly [resource: string, verb: string, name?: string | undefined, namespace?: string];

const NEEDED: readonly Right[] = [
  ...["get", "list", "watch", "patch"].map((verb): Right => ["crd.my.domain/externaldatabases", verb]),
  ["crd.my.domain/externaldatabases/status", "patch"],
  ["apiextensions.k8s.io/customresourcedefinitions", "get", "externaldatabases.crd.my.domain"],
  ...["get", "list", "watch"].map((verb): Right => ["crd.my.domain/externaldatabaseclasses", verb]),
  ["crd.my.domain/externaldatabaseclasses/status", "patch"],
  // Connection Secrets lie beside their resources, wherever those are.
  ...["get", "list", "watch", "create", "patch", "delete"].map((
    verb,
  ): Right => ["/secrets", verb, undefined, "anywhere"]),
  ["/namespaces", "get", "kube-system"],
  ["events.k8s.io/events", "create", undefined, "anywhere"],
  ["events.k8s.io/events", "patch", undefined, "anywhere"],
  ["coordination.k8s.io/leases", "create", undefined, SYSTEM],
  ...["get", "update", "watch"].map((
    verb,
  ): Right => ["coordination.k8s.io/leases", verb, "externaldatabase-operator", SYSTEM]),
];

const DENIED: readonly Right[] = [
  ...["create", "update", "delete", "deletecollection"].map((
    verb,
  ): Right => ["crd.my.domain/externaldatabases", verb]),
  ["crd.my.domain/externaldatabases/status", "update"],
  ...["update", "deletecollection"].map((verb): Right => ["/secrets", verb, undefined, "anywhere"]),
  ...["create", "update", "patch", "delete"].map((
    verb,
  ): Right => ["crd.my.domain/externaldatabaseclasses", verb]),
  ["/configmaps", "get", undefined, SYSTEM],
  ["/pods", "list", undefined, SYSTEM],
  ["/pods/exec", "create", undefined, SYSTEM],
  ["/namespaces", "list"],
  ["/namespaces", "get", "default"],
  ["/namespaces", "delete", "kube-system"],
  ["/serviceaccounts/token", "create", undefined, SYSTEM],
  ["apiextensions.k8s.io/customresourcedefinitions", "get", "others.example.com"],
  ["apiextensions.k8s.io/customresourcedefinitions", "list"],
  ...["update", "patch", "delete"].map((
    verb,
  ): Right => ["apiextensions.k8s.io/customresourcedefinitions", verb, "externaldatabases.crd.my.domain"]),
  ["events.k8s.io/events", "list", undefined, "anywhere"],
  ["events.k8s.io/events", "delete", undefined, "anywhere"],
  ["coordination.k8s.io/leases", "get", "another", SYSTEM],
  ["coordination.k8s.io/leases", "delete", "externaldatabase-operator", SYSTEM],
  ["coordination.k8s.io/leases", "get", "externaldatabase-operator", "kube-system"],
  ["coordination.k8s.io/leases", "create", undefined, "kube-system"],
  ["rbac.authorization.k8s.io/clusterroles", "escalate"],
  ["rbac.authorization.k8s.io/clusterrolebindings", "create"],
  ["/users", "impersonate"],
];

Deno.test("kubectl apply -k deploy/ installs the operator with the least rights", async (t) => {
  const kube = await startKube();
  const post = async (path: string, body: unknown) => {
    const headers = { "content-type": "application/json" };
    const answer = await kube.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };
  const allowed = async ([resource, verb, name, namespace]: Right) => {
    const [group, plural, subresource] = resource.split("/");
    const resourceAttributes = { group, resource: plural, subresource, verb, name, namespace };
    const review = await post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: USER, groups: ["system:serviceaccounts", "system:authenticated"], resourceAttributes },
    });
    assertEquals(review.status, 201);
    return review.body.status.allowed;
  };
  try {
    await t.step("it is accepted with strict validation, twice, and without a warning", async () => {
      for (const word of ["created", "unchanged"]) {
        const applied = await kube.kubectl("apply", "--validate=strict", "-k", `${ROOT}deploy`);
        assertEquals([applied.code, applied.stderr], [0, ""]);
        assertStringIncludes(applied.stdout, `deployment.apps/externaldatabase-operator ${word}`);
      }
    });
    await t.step("kubectl apply -f crds/ is accepted too", async () => {
      const applied = await kube.kubectl("apply", "--validate=strict", "-f", `${ROOT}crds/`);
      assertEquals([applied.code, applied.stderr], [0, ""]);
    });
    for (const overlay of ["deploy", ...OVERLAYS.map((name) => `deploy/${name}`)]) {
      await t.step(`the pod of ${overlay} is admitted under the restricted standard`, async () => {
        const rendered = (await kube.kubectl("kustomize", `${ROOT}${overlay}`)).stdout.split("\n---\n");
        const deployment = rendered.map((text) => parse(text)).find(({ kind }) => kind === "Deployment");
        const pod = await post(`/api/v1/namespaces/${SYSTEM}/pods?dryRun=All&fieldValidation=Strict`, {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { generateName: "operator-" },
          spec: deployment.spec.template.spec,
        });
        assertEquals(pod.status, 201, pod.body.message);
        const container = pod.body.spec.containers[0];
        assertEquals(container.securityContext.readOnlyRootFilesystem, true);
        assertEquals(container.command.filter((word: string) => /^(-A|--allow-all)$/.test(word)), []);
      });
    }
    for (const right of NEEDED) {
      await t.step(
        `the operator may ${right.slice(1, 2)} ${right[0]} ${right.slice(2).join(" in ")}`,
        async () => {
          assertEquals(await allowed(right), true);
        },
      );
    }
    for (const right of DENIED) {
      await t.step(
        `the operator may not ${right.slice(1, 2)} ${right[0]} ${right.slice(2).join(" in ")}`,
        async () => {
          assertEquals(await allowed(right), false);
        },
      );
    }
    await t.step("it can be removed again", async () => {
      const removed = await kube.kubectl("delete", "-k", `${ROOT}deploy`, "--timeout=180s");
      assertEquals(removed.code, 0, removed.stderr);
    });
  } finally {
    await kube.stop();
  }
});
