/**
 * The operator's CRD on a real cluster, and resources for tests.
 *
 * @module
 */
import {
  API_VERSION,
  CLASS_CRD_NAME,
  CRD_NAME,
  GROUP,
  KIND,
  PLURAL,
  VERSION,
} from "../../src/api/constants.ts";
import type { Kube } from "./kube.ts";
import type { Output } from "./process.ts";

const CRD_FILES = [CRD_NAME, CLASS_CRD_NAME].map((name) =>
  new URL(`../../crds/${name}.yaml`, import.meta.url).pathname
);

/** Applies the CRDs with strict validation and waits until they are served. May be called again. */
export async function installCrd(kube: Kube): Promise<void> {
  for (
    const args of [
      ["apply", "--server-side", "--validate=strict", ...CRD_FILES.flatMap((file) => ["-f", file])],
      ["wait", "--for=condition=Established", `crd/${CRD_NAME}`, `crd/${CLASS_CRD_NAME}`, "--timeout=30s"],
    ]
  ) {
    const output = await kube.kubectl(...args);
    if (output.code !== 0) throw new Error(`Installing the CRD failed: ${output.stderr.trim()}`);
  }
}

/** Installs the CRD as a first, careless version might have been: it takes any spec. */
export async function installLooseCrd(kube: Kube): Promise<void> {
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: CRD_NAME },
    spec: {
      group: GROUP,
      names: { kind: KIND, listKind: `${KIND}List`, plural: PLURAL, singular: KIND.toLowerCase() },
      scope: "Namespaced",
      versions: [{
        name: VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      }],
    },
  };
  const applied = await kube.kubectlWith(
    { stdin: JSON.stringify(crd) },
    ...["apply", "--server-side", "-f", "-"],
  );
  if (applied.code !== 0) throw new Error(`Installing the loose CRD failed: ${applied.stderr.trim()}`);
  await kube.kubectl("wait", "--for=condition=Established", `crd/${CRD_NAME}`, "--timeout=30s");
}

/** The original design's example, whose three fields are a whole spec. */
export const SEED_SPEC = { engine: "postgres", version: "14.2", sizeGb: 20 } as const;

/** A manifest, as JSON. */
export function manifest(
  name: string,
  spec: unknown = SEED_SPEC,
  more: Record<string, unknown> = {},
): string {
  return JSON.stringify({ apiVersion: API_VERSION, kind: KIND, metadata: { name, ...more }, spec });
}

/** `kubectl apply` with strict validation of one resource. */
export function applyResource(
  kube: Kube,
  namespace: string,
  name: string,
  spec: unknown = SEED_SPEC,
): Promise<Output> {
  const args = ["apply", "--validate=strict", "-n", namespace, "-f", "-"];
  return kube.kubectlWith({ stdin: manifest(name, spec) }, ...args);
}

/** An answer of the API server. */
export interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** One request for a resource: `patch` is a merge patch, or a JSON patch where it is a list. */
export async function requestResource(
  kube: Kube,
  namespace: string,
  name: string,
  options: { readonly patch?: unknown; readonly subresource?: "status"; readonly method?: string } = {},
): Promise<Answer> {
  const { patch, subresource } = options;
  const path = `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${PLURAL}/${name}`;
  const kind = Array.isArray(patch) ? "json-patch" : "merge-patch";
  const answer = await kube.fetch(subresource === undefined ? path : `${path}/${subresource}`, {
    method: options.method ?? (patch === undefined ? "GET" : "PATCH"),
    ...(patch === undefined
      ? {}
      : { headers: { "content-type": `application/${kind}+json` }, body: JSON.stringify(patch) }),
  });
  return { status: answer.status, body: await answer.json() };
}
