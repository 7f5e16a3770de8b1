/**
 * What the documents tell to type in a cluster works as it is written: a real API server, the operator as
 * `kubectl apply -k deploy/` installs it, and two clouds.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { checkOut, runDocument, shellEnv } from "../../tests/docs/run.ts";
import { read as readDocument } from "../../tests/docs/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { startDeployed } from "../support/deployed.ts";
import { NAME, SYSTEM } from "../support/installed.ts";
import { type Kube, startKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, manifest, read } from "../support/operator.ts";
import { inOrder } from "../support/steps.ts";

/** kubectl as the admin; throws what it said when it fails. */
async function kubectl(kube: Kube, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(...args);
  assertEquals(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

function classOf(name: string, url: string): string {
  return JSON.stringify({
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabaseClass",
    metadata: { name },
    spec: { provider: "http", parameters: { url } },
  });
}

async function ready(kube: Kube, name: string): Promise<string> {
  const is = () => read(kube, "default", name);
  await eventually(
    `${name} is Ready`,
    async () => /^True/.test(conditionOf(await is(), "Ready")),
    60_000,
    50,
  );
  return (await is())?.status?.providerId ?? "";
}

const states = (cloud: SimulatedCloud) =>
  cloud.databases().map(({ id, state }) => `${id} ${state}`).toSorted();

Deno.test("move-account, the last way out of debug, and uninstall work as they are written in a cluster", async (t) => {
  const step = inOrder(t);
  const kube = await startKube();
  const directory = await checkOut();
  const env = {
    ...shellEnv(kube.kubectlBin.replace(/\/[^/]*$/, "")),
    KUBECONFIG: kube.kubeconfig,
  };
  const [old, other] = [fastCloud({ account: "old" }), fastCloud({ account: "other" })];
  const [oldServer, otherServer] = [serveCloud(old), serveCloud(other, { tokens: () => ["other-1"] })];
  const document = async (name: string) => {
    const path = `docs/how-to/${name}.md`;
    return await runDocument(path, await readDocument(path), { directory, env });
  };
  try {
    await kubectl(kube, "apply", "-k", `${directory}/deploy`);
    await kubectl(kube, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s");
    await kubectl(
      kube,
      "create",
      "secret",
      "generic",
      "class-standard",
      "-n",
      SYSTEM,
      "--from-literal=token=other-1",
    );
    // The hosts of the reader's clouds, which each sets in a kustomization of their own.
    const hosts = [oldServer, otherServer].map(({ url }) => new URL(url).host);
    const listening = "0.0.0.0:8080";
    const example = `${directory}/deploy/classes/example.yaml`;
    const classes = await Deno.readTextFile(example);
    await Deno.writeTextFile(example, classes.replace("https://db.cloud.example", otherServer.url));
    const environment = ["set", "env", `deployment/${NAME}`, "-n", SYSTEM];
    await kubectl(
      kube,
      ...environment,
      `ALLOWED_HOSTS=kubernetes.default.svc:443,${listening},${hosts.join(",")}`,
    );
    const child = await startDeployed(kube, SYSTEM, NAME);
    try {
      await kube.kubectlWith({ stdin: classOf("former", oldServer.url) }, "apply", "-f", "-");
      const inFormer = (name: string, spec = {}) =>
        apply(kube, manifest("default", name, { className: "former", ...spec }));
      await inFormer("orders", { version: "16", connectionSecretRef: {} });
      await ready(kube, "orders");

      await step("docs/how-to/move-account.md", async () => {
        assert(await document("move-account") >= 3);
        const moved = await read(kube, "default", "orders-2");
        assertEquals(moved?.status?.className, "standard");
        assertEquals(other.databases().map(({ id }) => id), [moved?.status?.providerId]);
        assertEquals(await read(kube, "default", "orders"), undefined, "the old resource is let go");
        assertEquals(old.databases().length, 1, "and its database kept, as retain.md has it");
      });
      await step(
        "docs/how-to/debug.md: a resource is let go without its cloud, and its database stays",
        async () => {
          await inFormer("analytics");
          await inFormer("stuck", { deletionProtection: true });
          await ready(kube, "analytics");
          const id = await ready(kube, "stuck");
          await document("debug");
          assertEquals(await read(kube, "default", "stuck"), undefined);
          assert(states(old).includes(`${id} Available`), states(old).join());
          const reasons = ["get", "events", "-n", "default", "-o=jsonpath={.items[*].reason}"];
          const events = await kubectl(kube, ...reasons);
          assertStringIncludes(events, "Abandoned");
        },
      );
      await step(
        "docs/how-to/uninstall.md: all databases are kept, and nothing of the operator is left",
        async () => {
          const before = [states(old), states(other)];
          assertEquals(await document("uninstall"), 3);
          assertEquals([states(old), states(other)], before);
          assertEquals(await kubectl(kube, "get", "crd", "-o=name"), "");
          const kinds = "clusterroles,clusterrolebindings,deployments,services,namespaces";
          const left = await kubectl(kube, "get", kinds, "-A", "-o=name");
          assertEquals(left.split("\n").filter((name) => /externaldatabase/.test(name)), []);
        },
      );
    } finally {
      await child.end();
    }
  } finally {
    await oldServer.close();
    await otherServer.close();
    await Deno.remove(directory, { recursive: true });
    await kube.stop();
  }
});
