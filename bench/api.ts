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

/** Cut watches that are borne. */
const MAX_CUTS = 200;

/**
 * Watches a namespace and calls `seen` for each object; ends with the signal. What the API server cuts, as it does with a
 * slow reader, is opened anew from the state as it is: a watch that is cut among its first objects, which come in no
 * order of version, could not go on from the last one seen.
 */
export async function watch(
  kube: Kube,
  namespace: string,
  seen: (object: ExternalDatabase) => void,
  signal: AbortSignal,
): Promise<void> {
  let cuts = 0;
  while (!signal.aborted) {
    try {
      const answer = await kube.fetch(`${path(namespace)}?watch=true&resourceVersion=0`, {
        signal,
        // First objects that come compressed end the stream under Deno's fetch before the last of them.
        headers: { "accept-encoding": "identity" },
      });
      for await (const line of lines(answer.body)) {
        const { object, type } = JSON.parse(line) as { object: ExternalDatabase; type: string };
        if (type === "ERROR") throw new Error(`The watch ended: ${line}`);
        seen(object);
      }
    } catch (error) {
      if (!signal.aborted && ++cuts > MAX_CUTS) throw error;
    }
  }
}

/** How many CRs a namespace holds. */
export async function countResources(kube: Kube, namespace: string): Promise<number> {
  const answer = await kube.fetch(`${path(namespace)}?limit=1`);
  const body = await answer.json();
  if (!answer.ok) throw new Error(`Counting in ${namespace}: ${answer.status} ${body.message}`);
  return body.items.length + (body.metadata.remainingItemCount ?? 0);
}

async function* lines(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of body ?? []) {
    const whole = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = whole.pop() ?? "";
    yield* whole;
  }
}
