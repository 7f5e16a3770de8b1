/** What a person sees through kubectl. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { applyResource, installCrd, requestResource, SEED_SPEC } from "../support/crd.ts";

const kube = await sharedKube();
await installCrd(kube);
const namespace = await freshNamespace(kube, "kubectl");
const status: ExternalDatabaseStatus = {
  state: "Available",
  providerId: "db-9f2c",
  className: "gold",
  endpoint: "orders.example:5432",
  observed: { engine: "postgres", version: "14.2", sizeGb: 20 },
  conditions: [
    condition("Synced", "True", "Available", "The database is as the spec asks"),
    condition("Ready", "True", "Available", "The database can be used"),
  ],
};
await applyResource(kube, namespace, "orders");
await requestResource(kube, namespace, "orders", { subresource: "status", patch: { status } });

function condition(type: string, value: "True" | "False", reason: string, message: string) {
  return {
    type,
    status: value,
    reason,
    message,
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 1,
  };
}

async function kubectl(...args: string[]): Promise<string> {
  const output = await kube.kubectl(...args, "-n", namespace);
  assertEquals(output.code, 0, output.stderr);
  return output.stdout;
}

/** Cells of the first two lines of a table, without the age. */
const cells = (table: string) =>
  table.split("\n").slice(0, 2).map((line) => line.trim().split(/\s+/).slice(0, -1));

Deno.test("kubectl get edb shows what it is, how it is and where it is", async () => {
  assertEquals(cells(await kubectl("get", "edb")), [
    ["NAME", "ENGINE", "VERSION", "SIZE", "STATE", "READY", "SYNCED", "ENDPOINT"],
    ["orders", "postgres", "14.2", "20", "Available", "True", "True", "orders.example:5432"],
  ]);
});

Deno.test("kubectl get edb -o wide adds the provider's id and the reason", async () => {
  assertEquals(cells(await kubectl("get", "edb", "-o", "wide")), [
    [
      ...["NAME", "ENGINE", "VERSION", "SIZE", "STATE", "READY", "SYNCED", "ENDPOINT"],
      ...["CLASS", "PROVIDERID", "REASON", "SYNCREASON"],
    ],
    [
      ...["orders", "postgres", "14.2", "20", "Available", "True", "True", "orders.example:5432"],
      ...["gold", "db-9f2c", "Available", "Available"],
    ],
  ]);
});

Deno.test("kubectl get knows the resource by every name and by its category", async () => {
  for (
    const name of [
      "externaldatabases",
      "externaldatabase",
      "edb",
      "databases",
      "externaldatabases.v1.crd.my.domain",
    ]
  ) {
    assertStringIncludes(await kubectl("get", name, "-o", "name"), "externaldatabase.crd.my.domain/orders");
  }
});

Deno.test("kubectl wait ends when the resource is ready", async () => {
  assertStringIncludes(
    await kubectl("wait", "edb/orders", "--for=condition=Ready", "--timeout=5s"),
    "condition met",
  );
});

Deno.test("kubectl describe shows the spec, the status and the conditions", async () => {
  const text = await kubectl("describe", "edb", "orders");
  for (const line of [/Size Gb: +20/, /Provider Id: +db-9f2c/, /Reason: +Available/, /State: +Available/]) {
    assert(line.test(text), `${line} is not in:\n${text}`);
  }
});

Deno.test("kubectl explain describes every field", async () => {
  for (
    const [field, words] of [
      ["edb", "An external database"],
      ["edb.spec", "What the database is to be"],
      ["edb.spec.sizeGb", "Size of the storage in GiB. Can grow, never shrink."],
      ["edb.spec.deletionPolicy", "Retain for an adopted one"],
      ["edb.status.state", "Where the resource is in its life"],
      ["edb.status.conditions.reason", "Why, in one CamelCase word"],
    ] as const
  ) {
    assertStringIncludes((await kubectl("explain", field)).replace(/\s+/g, " "), words);
  }
  assertEquals((await kubectl("explain", "edb", "--recursive")).includes("<no description>"), false);
  assertEquals((await kubectl("explain", "edb.spec")).includes("<no description>"), false);
  assertEquals((await kubectl("explain", "edb.status")).includes("<no description>"), false);
  assertEquals((await kubectl("explain", "edb.status.conditions")).includes("<no description>"), false);
});

Deno.test("kubectl apply of the same manifest changes nothing, and diff is silent", async () => {
  const before = await requestResource(kube, namespace, "orders");
  const again = await applyResource(kube, namespace, "orders", SEED_SPEC);
  assertStringIncludes(again.stdout, "unchanged");
  const after = await requestResource(kube, namespace, "orders");
  assertEquals(after.body.metadata.resourceVersion, before.body.metadata.resourceVersion);
});
