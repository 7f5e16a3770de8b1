/**
 * Objects stored before today's schema: whatever is wrong with them, people can still label them, the operator can
 * still write its status and remove its finalizer, and they can be deleted. A cluster of its own, since the CRD changes.
 */
import { assertEquals } from "@std/assert";
import { API_VERSION, FINALIZER, KIND } from "../../src/api/constants.ts";
import { validateSpec } from "../../src/api/validate.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { freshNamespace, type Kube, startKube } from "../support/kube.ts";
import { installCrd, installLooseCrd, requestResource, SEED_SPEC } from "../support/crd.ts";

const stored: ReadonlyArray<readonly [string, unknown]> = [
  ["a poll interval in days", { ...SEED_SPEC, pollInterval: "90d" }],
  ["a poll interval that no clock can hold", { ...SEED_SPEC, pollInterval: "99999999999999999999999h" }],
  ["a poll interval far too long to be one", { ...SEED_SPEC, pollInterval: "99999h".repeat(40) }],
  ["no engine", { version: "14.2", sizeGb: 20 }],
  ["no size", { engine: "postgres", version: "14.2" }],
  ["a size of nothing", { ...SEED_SPEC, sizeGb: 0 }],
  ["an engine that no pattern allows", { ...SEED_SPEC, engine: "post gres" }],
  ["a policy that does not exist", { ...SEED_SPEC, deletionPolicy: "Keep" }],
  ["no spec", undefined],
];

/** A field of another type: comparing it is an error in CEL, so it passes only as long as there is no database. */
const mistyped: ReadonlyArray<readonly [string, unknown]> = [
  ["a size that is a text", { ...SEED_SPEC, sizeGb: "20" }],
  ["an engine that is a number", { ...SEED_SPEC, engine: 14 }],
];

const all = [...stored, ...mistyped];

async function storeAll(kube: Kube, namespace: string): Promise<void> {
  await installLooseCrd(kube);
  const items = all.map(([, spec], index) => ({
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: { name: `old-${index}`, finalizers: [FINALIZER] },
    ...(spec === undefined ? {} : { spec }),
  }));
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const made = await kube.kubectlWith({ stdin: list }, "create", "-n", namespace, "-f", "-");
  assertEquals(made.code, 0, made.stderr);
}

Deno.test("Objects stored under an older schema can be labelled, written to, released and deleted", async (t) => {
  const kube = await startKube();
  try {
    const namespace = await freshNamespace(kube);
    await storeAll(kube, namespace);
    await installCrd(kube);
    // The new schema is in force once it refuses what the old one took.
    await eventually("the new schema is in force", async () => {
      const probe = await requestResource(kube, namespace, "old-5", { patch: { spec: { sizeGb: -5 } } });
      return probe.status === 422;
    });
    for (const [index, [what, spec]] of all.entries()) {
      await t.step(`stored with ${what}`, async () => {
        const name = `old-${index}`;
        assertEquals(validateSpec(spec).ok, false);
        const { body: { metadata } } = await requestResource(kube, namespace, name);
        const test = { op: "test", path: "/metadata/uid", value: metadata.uid };
        const status = (field: string, value: unknown) => ({
          subresource: "status" as const,
          patch: [test, { op: "add", path: `/status/${field}`, value }],
        });
        const steps = [
          ["label", { patch: { metadata: { labels: { a: "b" } } } }],
          ["state", status("state", "Pending")],
          ...(index < stored.length
            ? [
              ["id", status("providerId", "db-1")] as const,
              ["observation", status("observed", { engine: "postgres", sizeGb: 30 })] as const,
            ]
            : []),
          ["delete", { method: "DELETE" }],
          ["deleting", status("state", "Deleting")],
          ["release", { patch: [test, { op: "remove", path: "/metadata/finalizers/0" }] }],
        ] as const;
        for (const [step, request] of steps) {
          const answer = await requestResource(kube, namespace, name, request);
          assertEquals([step, answer.status], [step, 200], answer.body.message);
        }
        assertEquals((await requestResource(kube, namespace, name)).status, 404);
      });
    }
  } finally {
    await kube.stop();
  }
});
