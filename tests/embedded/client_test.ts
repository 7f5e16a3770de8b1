import { assert, assertEquals } from "@std/assert";
import { CoreV1Api, CustomObjectsApi, EventsV1Api, KubeConfig, V1MicroTime } from "@kubernetes/client-node";
import { serveEmbeddedApi } from "../../src/embedded/serve.ts";
import { widgetCrd } from "../contract/kube/widget_crd.ts";

const GROUP = "test.example.com";

Deno.test({
  name: "@kubernetes/client-node works against the served API with the kubeconfig it prints",
  // The library's own HTTP agent keeps its sockets for a while.
  sanitizeResources: false,
  sanitizeOps: false,
  async fn() {
    const served = await serveEmbeddedApi({ token: "secret" });
    try {
      const config = new KubeConfig();
      config.loadFromString(served.kubeconfig());
      const core = config.makeApiClient(CoreV1Api);
      const custom = config.makeApiClient(CustomObjectsApi);
      const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
      await custom.createClusterCustomObject({ ...crds, body: widgetCrd(GROUP) });
      await core.createNamespace({ body: { metadata: { name: "n" } } });
      const widgets = { group: GROUP, version: "v1", namespace: "n", plural: "widgets" };
      const body = { apiVersion: `${GROUP}/v1`, kind: "Widget", metadata: { name: "w" }, spec: { size: 2 } };
      const made = await custom.createNamespacedCustomObject({ ...widgets, body });
      assertEquals([made.spec.replicas, made.metadata.generation, made.metadata.managedFields.length], [
        3,
        1,
        1,
      ]);
      const patched = await custom.patchNamespacedCustomObject({
        ...widgets,
        name: "w",
        body: [{ op: "test", path: "/metadata/uid", value: made.metadata.uid }, {
          op: "replace",
          path: "/spec/size",
          value: 3,
        }],
      });
      assertEquals(patched.spec.size, 3);
      const secret = await core.createNamespacedSecret({
        namespace: "n",
        body: { metadata: { name: "s" }, stringData: { a: "b" } },
      });
      assertEquals([secret.data?.["a"], secret.metadata?.creationTimestamp instanceof Date], ["Yg==", true]);
      const event = await config.makeApiClient(EventsV1Api).createNamespacedEvent({
        namespace: "n",
        body: {
          metadata: { name: "e" },
          eventTime: new V1MicroTime(),
          reportingController: "op",
          reportingInstance: "op-1",
          action: "Create",
          reason: "Created",
          type: "Normal",
          regarding: { kind: "Widget", name: "w", namespace: "n" },
        },
      });
      assert(event.metadata?.uid !== undefined);
      const listed = await core.listNamespacedEvent({
        namespace: "n",
        fieldSelector: "involvedObject.name=w",
      });
      assertEquals(listed.items.map((item) => item.reason), ["Created"]);
    } finally {
      await served.close();
    }
  },
});

Deno.test("A served API ends though a watch is open", async () => {
  const served = await serveEmbeddedApi();
  const answer = await fetch(`${served.url}/api/v1/namespaces?watch=true`);
  const text = answer.text();
  await served.close();
  assertEquals((await text).trim().split("\n").length, 4);
});
