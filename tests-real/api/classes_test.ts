/** What the API server itself makes of the classes' CRD: its rules, and what a person reads. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, installCrd, requestResource } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";

const kube = await sharedKube();
await installCrd(kube);

const manifest = (name: string, spec: unknown) =>
  JSON.stringify({ apiVersion: "crd.my.domain/v1", kind: "ExternalDatabaseClass", metadata: { name }, spec });

function apply(name: string, spec: unknown) {
  return kube.kubectlWith(
    { stdin: manifest(name, spec) },
    ...["apply", "--validate=strict", "-f", "-"],
  );
}

Deno.test("kubectl explain reads well for every field of a class", async () => {
  const explain = () => kube.kubectl("explain", "edbclass", "--recursive");
  await eventually("the API server tells of the resource", async () => (await explain()).code === 0, 20_000);
  const explained = await explain();
  for (
    const field of ["provider", "parameters", "credentialsSecretRef", "allowed", "defaults", "rateLimit"]
  ) {
    assertStringIncludes(explained.stdout, field);
    const one = await kube.kubectl("explain", `edbclass.spec.${field}`);
    assertEquals(one.code, 0, one.stderr);
    assert(!one.stdout.includes("<empty>"), one.stdout);
  }
  assertStringIncludes((await kube.kubectl("explain", "edb.spec.className")).stdout, "ExternalDatabaseClass");
});

Deno.test("a class of the example is taken, and the list shows what it is and whether it is the default", async () => {
  const example = new URL("../../deploy/classes/example.yaml", import.meta.url).pathname;
  const dry = await kube.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", example);
  const classes = dry.stdout.split("\n").filter((line) => line.startsWith("externaldatabaseclass."));
  assertEquals(classes.length, 2, dry.stderr);
  const taken = await apply("shown", { provider: "http", parameters: { url: "https://db.example" } });
  assertEquals(taken.code, 0, taken.stderr);
  try {
    const table = (await kube.kubectl("get", "edbclass", "shown")).stdout;
    assertEquals(table.split("\n")[0]?.trim().split(/\s+/), [
      ...["NAME", "PROVIDER", "DEFAULT", "ACCEPTED", "READY", "AGE"],
    ]);
    const annotated = ["annotate", "edbclass", "shown", "example.com/kept=1"];
    assertEquals((await kube.kubectl(...annotated)).code, 0);
  } finally {
    await kube.kubectl("delete", "edbclass", "shown");
  }
});

Deno.test("a class's provider cannot change; its parameters can; what no class can be is refused", async () => {
  const http = { provider: "http", parameters: { url: "https://db.example" } };
  const first = await apply("fixed", http);
  assertEquals(first.code, 0, first.stderr);
  try {
    const other = await apply("fixed", { ...http, provider: "postgres" });
    assert(other.code !== 0);
    assertStringIncludes(other.stderr, "provider cannot change");
    assertEquals((await apply("fixed", { ...http, parameters: { url: "https://other.example" } })).code, 0);
    for (
      const spec of [
        { provider: "azure" },
        { ...http, credentialsSecretRef: { name: "Not_a_name" } },
        { ...http, allowed: { sizeGb: { min: 0 } } },
        { ...http, defaults: { pollInterval: "5 minutes" } },
        { ...http, defaults: { deletionPolicy: "Forget" } },
        { ...http, rateLimit: { concurrency: 0 } },
        {},
      ]
    ) {
      const refused = await apply("refused", spec);
      assert(refused.code !== 0, `${JSON.stringify(spec)} was taken`);
    }
  } finally {
    await kube.kubectl("delete", "edbclass", "fixed");
  }
});

Deno.test("spec.className can be chosen until the database exists, and never after", async () => {
  const ns = await freshNamespace(kube, "class-name");
  const seed = { engine: "postgres", version: "14.2", sizeGb: 20 };
  const set = (className: string | null) =>
    requestResource(kube, ns, "orders", { patch: { spec: { className } } });
  assertEquals((await applyResource(kube, ns, "orders", { ...seed, className: "gold" })).code, 0);
  assertEquals((await set("silver")).status, 200);
  assertEquals((await set(null)).status, 200);
  const status = (patch: unknown) => requestResource(kube, ns, "orders", { subresource: "status", patch });
  assertEquals((await status({ status: { providerId: "db-1" } })).status, 200);
  const refused = await set("gold");
  assertEquals(refused.status, 422);
  assertStringIncludes(refused.body.message, "spec.className cannot change once the database exists");
  assertEquals((await set("")).status, 200, "that is what it is: the account of the flags");
  assertEquals(
    (await status({ status: { className: "gold" } })).status,
    200,
    "the operator's own patch passes",
  );
  assertEquals((await set("gold")).status, 200, "what it is of may be said");
  assertEquals((await set(null)).status, 422);
  assertEquals((await requestResource(kube, ns, "orders", { patch: { spec: { sizeGb: 30 } } })).status, 200);
});
