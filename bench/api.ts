/**
 * The bench's own, bare client of the API server.
 *
 * @module
 */
import { stringify } from "yaml";
import type { ExternalDatabase } from "../src/api/schema.ts";
import type { Kube } from "../tests-real/support/kube.ts";

/** Requests in flight, for the bare loop and for the load alike. */
export const IN_FLIGHT = 64;

/** Runs `work` for 0 … count−1, {@linkcode IN_FLIGHT} at a time. */
export async function each(
  count: number,
  work: (i: number) => Promise<void>,
  inFlight = IN_FLIGHT,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

function path(namespace: string, name = ""): string {
  return `/apis/crd.my.domain/v1/namespaces/${namespace}/externaldatabases/${name}`;
}

async function send(
  kube: Kube,
  url: string,
  method: string,
  body: unknown,
  type = "application/json",
): Promise<ExternalDatabase> {
  const answer = await kube.fetch(url, {
    method,
    headers: { "content-type": type },
    body: type === "application/yaml" ? stringify(body) : JSON.stringify(body),
  });
  const object = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${object.message}`);
  return object;
}

/** Creates a CR. */
export function createResource(kube: Kube, namespace: string, name: string): Promise<ExternalDatabase> {
  return send(kube, path(namespace), "POST", {
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabase",
    metadata: { namespace, name },
    spec: { engine: "postgres", version: "14.2", sizeGb: 20 },
  });
}

/** A JSON patch, of the object or its status. */
export function patch(
  kube: Kube,
  namespace: string,
  name: string,
  operations: unknown,
  status = false,
): Promise<ExternalDatabase> {
  return send(
    kube,
    path(namespace, name) + (status ? "/status" : ""),
    "PATCH",
    operations,
    "application/json-patch+json",
  );
}

/** Deletes a CR. */
export async function deleteResource(kube: Kube, namespace: string, name: string): Promise<void> {
  const answer = await kube.fetch(path(namespace, name), { method: "DELETE" });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`Deleting ${namespace}/${name}: ${answer.status}`);
}

/** How many CRs of a namespace are Ready, by a list in pages. */
export async function countReady(kube: Kube, namespace: string): Promise<number> {
  let ready = 0;
  let next: string | undefined = "";
  while (next !== undefined) {
    const answer = await kube.fetch(`${path(namespace)}?limit=500&continue=${encodeURIComponent(next)}`);
    const body = await answer.json();
    if (!answer.ok) throw new Error(`Listing ${namespace}: ${answer.status} ${body.message}`);
    for (const { status } of body.items as ExternalDatabase[]) {
      if (status?.conditions?.some((c) => c.type === "Ready" && c.status === "True")) ready++;
    }
    next = body.metadata.continue || undefined;
  }
  return ready;
}

/** How many CRs a namespace holds. */
export async function countResources(kube: Kube, namespace: string): Promise<number> {
  const answer = await kube.fetch(`${path(namespace)}?limit=1`);
  const body = await answer.json();
  if (!answer.ok) throw new Error(`Counting in ${namespace}: ${answer.status} ${body.message}`);
  return body.items.length + (body.metadata.remainingItemCount ?? 0);
}
