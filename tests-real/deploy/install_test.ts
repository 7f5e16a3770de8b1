/** Installing, upgrading and removing on a real API server, by Helm and by each overlay. No pod runs there. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { asList, CHART, helm, helmBinary, kustomized, OVERLAYS } from "../support/helm.ts";
import { NAME, SYSTEM } from "../support/installed.ts";
import { type Kube, startKube } from "../support/kube.ts";
import { must, run as runCommand } from "../support/process.ts";
import { inOrder } from "../support/steps.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const CRD = "externaldatabases.crd.my.domain";

/** kubectl as the admin; throws what it said when it fails. */
async function kubectl(kube: Kube, ...args: string[]): Promise<string> {
  const output = await kube.kubectl(...args);
  if (output.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output.stderr}`);
  return output.stdout;
}

/** The CRD of the Prometheus operator, as far as a dry run asks for it. */
const SERVICE_MONITOR = JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "servicemonitors.monitoring.coreos.com" },
  spec: {
    group: "monitoring.coreos.com",
    names: {
      kind: "ServiceMonitor",
      listKind: "ServiceMonitorList",
      plural: "servicemonitors",
      singular: "servicemonitor",
    },
    scope: "Namespaced",
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    }],
  },
});

Deno.test("each overlay and component of deploy/, and what the chart makes of each of its examples, is accepted by a real API server", async (t) => {
  const kube = await startKube();
  const apply = (...args: string[]) => kube.kubectl("apply", "--validate=strict", ...args);
  try {
    for (const name of ["team-a", "team-b"]) await kubectl(kube, "create", "namespace", name);
    for (const folder of ["", ...OVERLAYS]) {
      await t.step(`deploy/${folder}`, async () => {
        const applied = await apply("-k", `${ROOT}deploy/${folder}`);
        assertEquals([applied.code, applied.stderr], [0, ""]);
        const path = "-o=jsonpath={.spec.template.spec.containers[0].env[?(@.name=='EDB_PROVIDER')].value}";
        const provider = await kubectl(kube, "get", "deployment", NAME, "-n", SYSTEM, path);
        assertEquals(provider, /^(simulated|http|postgres|aws-rds)$/.test(folder) ? folder : "none");
      });
    }
    for (const component of ["pod-disruption-budget", "network-policy", "service-monitor"]) {
      await t.step(`deploy/components/${component}`, async () => {
        const stdin = asList(await kustomized(`components/${component}`));
        const dry = ["apply", "--validate=strict", "--dry-run=server", "-f", "-"];
        const applied = await kube.kubectlWith({ stdin }, ...dry);
        if (component !== "service-monitor") return assertEquals([applied.code, applied.stderr], [0, ""]);
        assertStringIncludes(applied.stderr, 'no matches for kind "ServiceMonitor"');
        await kube.kubectlWith({ stdin: SERVICE_MONITOR }, "apply", "-f", "-");
        await kubectl(kube, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s");
        const again = await kube.kubectlWith({ stdin }, ...dry);
        assertEquals([again.code, again.stderr], [0, ""]);
      });
    }
    const home = `${kube.dir}/helm`;
    for (const { name } of Deno.readDirSync(`${CHART}/ci`)) {
      await t.step(`what the chart makes of ${name}`, async () => {
        const words = ["template", NAME, CHART, `--namespace=${SYSTEM}`, `--values=${CHART}/ci/${name}`];
        const made = await helm({ home }, ...words);
        assertEquals(made.code, 0, made.stderr);
        const strict = ["apply", "--validate=strict", "-f", "-"];
        const applied = await kube.kubectlWith({ stdin: made.stdout }, ...strict);
        assertEquals([applied.code, applied.stderr], [0, ""]);
      });
    }
    await t.step("the classes of the example, once the CRDs are there", async () => {
      const applied = await apply("-f", `${ROOT}deploy/classes/example.yaml`);
      assertEquals([applied.code, applied.stderr], [0, ""]);
    });
  } finally {
    await kube.stop();
  }
});

Deno.test("a release of the chart is installed, upgraded with its CRDs, and removed without losing a resource", async (t) => {
  const kube = await startKube();
  const step = inOrder(t);
  const home = `${kube.dir}/helm`;
  const run = (...args: string[]) => helm({ home, kubeconfig: kube.kubeconfig }, ...args);
  const done = async (...args: string[]) => {
    const output = await run(...args);
    assertEquals(output.code, 0, output.stderr);
    return output.stdout;
  };
  const within = `--namespace=${SYSTEM}`;
  const columns = () => kubectl(kube, "get", "crd", CRD, "-o=jsonpath={..additionalPrinterColumns[*].name}");
  try {
    const older = `${kube.dir}/older`;
    await must("cp", ["-R", CHART, older]);
    await step("an older chart, whose CRD lacks a column", async () => {
      const file = `${older}/files/crds/${CRD}.yaml`;
      const text = await Deno.readTextFile(file);
      const without = text.replace(/^ {8}- name: Version\n(?: {10}.*\n)+/m, "");
      assert(without.length < text.length, "there is such a column");
      await Deno.writeTextFile(file, without);
      const chart = await Deno.readTextFile(`${older}/Chart.yaml`);
      await Deno.writeTextFile(`${older}/Chart.yaml`, chart.replace(/^version: .*/m, "version: 0.0.1"));
      const installed = await done("install", NAME, older, within, "--create-namespace");
      assertStringIncludes(installed, "It has no account of its own");
      assert(!/\bVersion\b/.test(await columns()), await columns());
    });
    await step("a resource", async () => {
      await kubectl(kube, "wait", "--for=condition=Established", "crd", CRD, "--timeout=30s");
      const stdin = JSON.stringify({
        apiVersion: "crd.my.domain/v1",
        kind: "ExternalDatabase",
        metadata: { name: "orders", namespace: "default", finalizers: ["db.my.domain/finalizer"] },
        spec: { engine: "postgres", version: "16", sizeGb: 20 },
      });
      const made = await kube.kubectlWith({ stdin }, "apply", "-f", "-");
      assertEquals(made.code, 0, made.stderr);
    });
    await step("the upgrade upgrades the CRD too, and keeps the resource", async () => {
      await done("upgrade", NAME, CHART, within, "--set=replicas=3");
      assertMatch(await columns(), /\bVersion\b/);
      const replicas = ["get", "deployment", NAME, "-n", SYSTEM, "-o=jsonpath={.spec.replicas}"];
      assertEquals(await kubectl(kube, ...replicas), "3");
      assertEquals(await kubectl(kube, "get", "edb", "-o=name"), "externaldatabase.crd.my.domain/orders\n");
    });
    await step("it can be rolled back, and forward again", async () => {
      for (const revision of ["1", "2"]) {
        await done("rollback", NAME, revision, within);
      }
      assertMatch(await columns(), /\bVersion\b/);
    });
    await step("a second release that would work on the same resources is refused", async () => {
      const second = await run(
        ...["install", "another", CHART, "--namespace=elsewhere", "--create-namespace"],
        ...["--set=crds.install=false,access.create=false"],
      );
      assert(second.code !== 0);
      assertMatch(second.stderr, /ClusterRole.*externaldatabase-operator/s);
      assertMatch(second.stderr, /cannot be imported|invalid ownership|exists/);
    });
    await step("one for its own namespace is not", async () => {
      await kubectl(kube, "create", "namespace", "team-a");
      await done(
        ...["install", "another", CHART, "--namespace=elsewhere", "--create-namespace"],
        ...["--set=crds.install=false,access.create=false", '--set-json=namespaces=["team-a"]'],
      );
      await done("uninstall", "another", "--namespace=elsewhere");
    });
    await step("the uninstall leaves the CRDs, and the resource with its finalizer", async () => {
      await done("uninstall", NAME, within);
      assertEquals((await kube.kubectl("get", "deployment", NAME, "-n", SYSTEM)).code, 1);
      assertEquals(
        await kubectl(kube, "get", "clusterrole", "-o=name").then((all) => /operator/.test(all)),
        false,
      );
      const finalizers = await kubectl(kube, "get", "edb", "orders", "-o=jsonpath={.metadata.finalizers[0]}");
      assertEquals(finalizers, "db.my.domain/finalizer");
    });
    await step("and the same release can be installed again over them", async () => {
      await done("install", NAME, CHART, within);
      await run("uninstall", NAME, within);
    });
    await step("what kustomize installed a release can take over", async () => {
      await kubectl(kube, "apply", "-k", `${ROOT}deploy`);
      const refused = await run("install", NAME, CHART, within);
      assert(refused.code !== 0, "only when asked for");
      await done("install", NAME, CHART, within, "--take-ownership", "--force-conflicts");
    });
    await step("the ServiceMonitor needs its CRD, and is accepted with it", async () => {
      const values = ["upgrade", NAME, CHART, within, "--set=serviceMonitor.enabled=true"];
      const without = await run(...values);
      assert(without.code !== 0);
      assertStringIncludes(without.stderr, "ServiceMonitor");
      await kube.kubectlWith({ stdin: SERVICE_MONITOR }, "apply", "-f", "-");
      await kubectl(kube, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s");
      await done(...values);
    });
  } finally {
    await kube.stop();
  }
});

/** The fenced blocks of a document that hold a word. */
async function blocks(document: string, word: string): Promise<string[]> {
  const text = await Deno.readTextFile(`${ROOT}docs/${document}`);
  return [...text.matchAll(/^ *```\n([\s\S]*?)^ *```$/gm)].map((match) => match[1]!)
    .filter((block) => block.includes(word));
}

Deno.test("the commands of docs/install.md and docs/upgrade.md for Helm do what they say, as written", async () => {
  const kube = await startKube();
  const home = `${kube.dir}/helm`;
  const bin = `${kube.dir}/bin`;
  try {
    await Deno.mkdir(bin);
    await Deno.symlink(await helmBinary(), `${bin}/helm`);
    await Deno.symlink(kube.kubectlBin, `${bin}/kubectl`);
    const shell = async (text: string, timeoutMs = 120_000) => {
      const env = { PATH: `${bin}:${Deno.env.get("PATH")}`, KUBECONFIG: kube.kubeconfig, HOME: home };
      const output = await runCommand("bash", ["-euc", text], { cwd: ROOT, env, timeoutMs });
      assertEquals(output.code, 0, `${text}: ${output.stderr}`);
    };
    const deployment = async () =>
      JSON.parse(await kubectl(kube, "get", "deployment", NAME, "-n", SYSTEM, "-o=json")).spec.template.spec;
    const [install] = await blocks("install.md", "helm install");
    await shell(install!.replaceAll("REGISTRY", "registry.example"));
    const { containers: [container], volumes } = await deployment();
    const { version } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
    assertEquals(container.image, `registry.example/externaldatabase-operator:${version}`);
    assertEquals(volumes[0].projected.sources[0].secret.name, "externaldatabase-cloud");
    assertMatch(container.env[0].value, /,db\.cloud\.example:443$/);
    const [upgrade] = await blocks("upgrade.md", "helm upgrade");
    await shell(upgrade!.split("\n").filter((line) => line.startsWith("helm ")).join("\n"));
    assertEquals((await deployment()).containers[0].image, container.image, "values are kept");
    const [crds] = await blocks("upgrade.md", "kubectl delete crd");
    // Once in many times the API server misses that a CRD is to go, and looks again after its five minutes.
    await shell(`helm uninstall ${NAME} -n ${SYSTEM}\n${crds}`, 400_000);
    assertEquals(await kubectl(kube, "get", "crd", "-o=name"), "");
  } finally {
    await kube.stop();
  }
});
