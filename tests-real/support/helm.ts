/**
 * Helm, built from its Go modules, and what it and kustomize make of `deploy/`.
 *
 * @module
 */
import { parseAllDocuments } from "yaml";
import { kubeBinaries } from "./kube.ts";
import { must, type Output, run } from "./process.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** The chart. */
export const CHART = `${ROOT}deploy/helm/externaldatabase-operator`;

/** The overlays of `deploy/` beside `deploy/` itself; the chart has an example of each name. */
export const OVERLAYS = ["simulated", "http", "postgres", "aws-rds", "namespaced", "classes"] as const;

/** The flag for the values of one of the chart's examples. */
export function exampleValues(name: string): string {
  return `--values=${CHART}/ci/${name}-values.yaml`;
}

/** A Kubernetes object of a manifest. */
// deno-lint-ignore no-explicit-any
export type Manifest = Record<string, any>;

/** Path of helm. Builds it where it is missing: minutes, the first time. */
export async function helmBinary(): Promise<string> {
  return (await must("bash", [`${ROOT}tools/helm/build`], { timeoutMs: 30 * 60_000 })).trim();
}

/**
 * Runs helm with settings of its own in `home`, and as the user of a kubeconfig. Without one it reaches no cluster. A
 * failure is in `code` and `stderr`.
 */
export async function helm(
  options: { readonly home: string; readonly kubeconfig?: string; readonly stdin?: string },
  ...args: string[]
): Promise<Output> {
  const { home, kubeconfig, stdin } = options;
  const env = {
    HOME: home,
    ...Object.fromEntries(
      ["CACHE", "CONFIG", "DATA"].map((kind) => [`HELM_${kind}_HOME`, `${home}/${kind}`]),
    ),
    KUBECONFIG: kubeconfig ?? `${home}/none`,
  };
  const input = stdin === undefined ? {} : { stdin };
  return await run(await helmBinary(), args, { env, timeoutMs: 120_000, ...input });
}

/** The objects of a text of YAML documents. Throws the first error of its syntax. */
export function manifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const object = document.toJSON();
    return object === null ? [] : [object];
  });
}

/** Objects as kubectl takes them on its standard input. */
export function asList(items: readonly unknown[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** What kustomize makes of a folder of `deploy/`; `.` is `deploy/` itself. */
export async function kustomized(folder: string): Promise<Manifest[]> {
  const { kubectl } = await kubeBinaries();
  return manifests(await must(kubectl!, ["kustomize", `${ROOT}deploy/${folder}`]));
}

/** What kustomize makes of folders of `deploy/`: the one, with components of it. */
export async function composed(folder: string, components: readonly string[]): Promise<Manifest[]> {
  const { kubectl } = await kubeBinaries();
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "externaldatabase-kustomize-" }));
  try {
    // A kustomization names its parts by relative paths alone.
    const deploy = `${"../".repeat(dir.split("/").length - 1)}${ROOT.slice(1)}deploy`;
    const kustomization = {
      resources: [`${deploy}/${folder}`],
      components: components.map((name) => `${deploy}/components/${name}`),
    };
    await Deno.writeTextFile(`${dir}/kustomization.yaml`, JSON.stringify(kustomization));
    return manifests(await must(kubectl!, ["kustomize", dir]));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** What the chart makes of values, as the release `externaldatabase-operator` of the namespace that kustomize makes. */
export async function templated(home: string, ...args: string[]): Promise<Manifest[]> {
  const where = ["externaldatabase-operator", CHART, "--namespace=externaldatabase-system"];
  const output = await helm({ home }, "template", ...where, ...args);
  if (output.code !== 0) throw new Error(`helm template ${args.join(" ")}: ${output.stderr.trim()}`);
  return manifests(output.stdout);
}

/** `Kind namespace/name` of an object. */
export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
}
