/**
 * The operator installed in a cluster of its own, and at work with what it was installed with.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import type { Child } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { startDeployed } from "./deployed.ts";
import { CHART, helm } from "./helm.ts";
import { type Kube, startKube } from "./kube.ts";
import { apply, conditionOf, fastCloud, manifest, read } from "./operator.ts";

/** The namespace that the operator is installed in. */
export const SYSTEM = "externaldatabase-system";
/** Name of the release, and of what it makes. */
export const NAME = "externaldatabase-operator";
/** Namespaces for resources. */
export const NAMESPACES = ["team-a", "team-b", "elsewhere"] as const;

/** A cluster with the namespaces, and a folder for helm; all of it goes at the end. */
export async function withKube(work: (kube: Kube, home: string) => Promise<void>): Promise<void> {
  const kube = await startKube();
  try {
    for (const namespace of [SYSTEM, ...NAMESPACES]) {
      const made = await kube.kubectl("create", "namespace", namespace);
      assertEquals(made.code, 0, made.stderr);
    }
    const account = ["get", "serviceaccount", "default", "-n", SYSTEM];
    await eventually("its default account", async () => (await kube.kubectl(...account)).code === 0);
    await work(kube, `${kube.dir}/helm`);
  } finally {
    await kube.stop();
  }
}

/** Where the cloud of {@linkcode whileInstalled} is, by its own account. */
const CLOUD = "cloud.example:443";

/** A resource that asks for a Secret becomes Ready, and its Secret is whole. */
export async function becomesReady(kube: Kube, namespace: string, name: string): Promise<void> {
  await apply(kube, manifest(namespace, name, { connectionSecretRef: {} }));
  await eventually(
    `${namespace}/${name} is Ready`,
    async () => conditionOf(await read(kube, namespace, name), "Ready") === "True/Available",
    60_000,
    50,
  );
  const secret = await kube.kubectl("get", "secret", `${name}-connection`, "-n", namespace, "-o", "json");
  assertEquals(secret.code, 0, secret.stderr);
  assertEquals(
    Object.keys(JSON.parse(secret.stdout).data).toSorted(),
    ["database", "host", "password", "port", "provider", "type", "uri", "username"],
  );
}

/** The operator at work, as Helm installed it. */
export interface Installed {
  readonly kube: Kube;
  readonly cloud: SimulatedCloud;
  readonly child: Child;
  /** Starts the process that the Deployment describes once more; whoever does must end it. */
  readonly start: () => Promise<Child>;
}

/** helm install with `args`, then the process that its Deployment describes; all of it ends with `work`. */
export async function whileInstalled(
  args: readonly string[],
  work: (installed: Installed) => Promise<void>,
): Promise<void> {
  await withKube(async (kube, home) => {
    const cloud = fastCloud();
    const server = serveCloud(cloud);
    try {
      const words = ["install", NAME, CHART, `--namespace=${SYSTEM}`, "--set=provider=http"];
      const done = await helm(
        { home, kubeconfig: kube.kubeconfig },
        ...[...words, `--set=http.url=http://${CLOUD}`, ...args],
      );
      assertEquals(done.code, 0, done.stderr);
      const start = () => startDeployed(kube, SYSTEM, NAME, { [CLOUD]: new URL(server.url).host });
      const child = await start();
      try {
        await work({ kube, cloud, child, start });
      } finally {
        await child.end();
      }
    } finally {
      await server.close();
    }
  });
}
