/**
 * The embedded API is held to the real one by random resources: what one takes the other takes and stores alike, what
 * one refuses the other refuses for the same reason. A difference is a defect of the double.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { GROUP, PLURAL, VERSION } from "../../src/api/constants.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createEmbeddedApi } from "../../src/embedded/api.ts";
import { manifest, mergePatch, rightSpec, statusPatch } from "../../tests/fuzz/manifests.ts";
import { parameters } from "../../tests/fuzz/settings.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";

type Ask = (path: string, init: RequestInit) => Promise<Response>;

/** What a client sees of an answer, without what differs by nature. */
interface Seen {
  readonly status: number;
  readonly reason?: string;
  readonly causes?: readonly string[];
  readonly stored?: unknown;
}

/** Both APIs with one namespace in each. */
interface Pair {
  readonly both: (
    method: string,
    path: string,
    body?: unknown,
    type?: string,
  ) => Promise<readonly [Seen, Seen]>;
  readonly path: string;
}

async function pair(): Promise<Pair> {
  const kube = await sharedKube();
  await installCrd(kube);
  const namespace = await freshNamespace(kube, "fuzz");
  const api = createEmbeddedApi({ clock: systemClock, random: seededRandom(1) });
  const embedded: Ask = (path, init) => api.fetch(new Request(`http://embedded${path}`, init));
  for (
    const [path, body] of [
      ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", customResourceDefinition()],
      ["/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }],
    ] as const
  ) {
    const headers = { "content-type": "application/json" };
    const answer = await embedded(path, { method: "POST", headers, body: JSON.stringify(body) });
    assertEquals(answer.status, 201, `${path}: ${await answer.text()}`);
  }
  const asks: readonly [Ask, Ask] = [(path, init) => kube.fetch(path, init), embedded];
  return {
    path: `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${PLURAL}`,
    both: async (method, path, body, type = "application/json") => {
      const init: RequestInit = body === undefined
        ? { method }
        : { method, headers: { "content-type": type }, body: JSON.stringify(body) };
      const [real, double] = await Promise.all(asks.map(async (ask) => see(await ask(path, init))));
      return [real!, double!];
    },
  };
}

async function see(answer: Response): Promise<Seen> {
  const text = await answer.text();
  const body = text.startsWith("{") ? JSON.parse(text) : { text };
  if (answer.status >= 400) {
    const causes = (body.details?.causes ?? []).map((c: { reason?: string; field?: string }) =>
      `${c.reason} ${c.field}`
    );
    return { status: answer.status, reason: body.reason, causes: [...new Set<string>(causes)].sort() };
  }
  const { name, labels, annotations, finalizers, generation } = body.metadata ?? {};
  return {
    status: answer.status,
    stored: {
      name,
      labels,
      annotations,
      finalizers,
      generation,
      spec: body.spec,
      status: body.status,
      kind: body.kind,
    },
  };
}

function assertAlike([real, double]: readonly [Seen, Seen], what: string): void {
  assertEquals(double, real, `${what}: the embedded API (actual) differs from the real one (expected)`);
}

/** Takes a resource away, whatever finalizers it has. */
async function remove(both: Pair["both"], path: string): Promise<void> {
  await both("PATCH", path, { metadata: { finalizers: null } }, "application/merge-patch+json");
  await both("DELETE", path);
}

const POLICIES = ["Strict", "Warn", "Ignore"];
let serial = 0;

Deno.test("Whatever is created, the embedded API takes or refuses it as the real one does", async () => {
  const { both, path } = await pair();
  await fc.assert(
    fc.asyncProperty(manifest, fc.constantFrom(...POLICIES), async (object, policy) => {
      const seen = await both("POST", `${path}?fieldValidation=${policy}`, object);
      const name = (object["metadata"] as { name: unknown }).name;
      if (seen.some((s) => s.status === 201)) {
        // Before anything is asserted: the next resource may bear the same name.
        await remove(both, `${path}/${name}`);
      }
      assertAlike(seen, "POST");
    }),
    parameters(600, 15_000),
  );
});

Deno.test("Whatever is patched, the embedded API takes or refuses it as the real one does", async () => {
  const { both, path } = await pair();
  const patch = fc.oneof(
    mergePatch.map((body) => ({ body, sub: "" })),
    statusPatch.map((body) => ({ body, sub: "/status" })),
  );
  await fc.assert(
    fc.asyncProperty(rightSpec, fc.array(patch, { minLength: 1, maxLength: 4 }), async (spec, patches) => {
      const name = `p-${serial++}`;
      const made = await both("POST", path, {
        apiVersion: `${GROUP}/${VERSION}`,
        kind: "ExternalDatabase",
        metadata: { name },
        spec,
      });
      assertAlike(made, "POST");
      for (const { body, sub } of patches) {
        const seen = await both("PATCH", `${path}/${name}${sub}`, body, "application/merge-patch+json");
        assertAlike(seen, `PATCH ${sub} ${JSON.stringify(body).slice(0, 300)}`);
      }
      await remove(both, `${path}/${name}`);
    }),
    parameters(200, 15_000),
  );
});
