/** `plan` for manifests: new, changed, refused, without a cluster; and the program itself, with its task's permissions. @module */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { readManifests } from "../../src/plan/manifests.ts";
import { onStage, plan, SPEC } from "./plan_support.ts";
import { main } from "./support.ts";

const manifest = (name: string, spec: string, more = "") =>
  `apiVersion: crd.my.domain/v1\nkind: ExternalDatabase\nmetadata: {name: ${name}${more}}\nspec: {${spec}}\n`;
const PLAIN = "engine: postgres, version: '14.2', sizeGb: 20";

Deno.test("Manifests are planned as applied: new ones made, changed ones changed, the same ones left; others are not looked at", () =>
  onStage(async (stage) => {
    await stage.put("b", { database: {} });
    await stage.put("c", { database: {} });
    await stage.put("elsewhere", {});
    const file = await stage.file(
      [
        manifest("a", PLAIN),
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
        manifest("b", "engine: postgres, version: '14.2', sizeGb: 50"),
        manifest("c", PLAIN),
        "",
      ].join("---\n"),
    );
    const { code, plan } = await stage.json(["-f", file]);
    assertEquals(code, 2);
    assertEquals(
      plan.resources.map((r) => [r.name, r.outcome, r.actions.map((a) => `${a.action}: ${a.why}`)]),
      [
        ["a", "change", ["create: the resource is new"]],
        ["b", "change", ["modify: the spec was changed"]],
        ["c", "nothing", []],
      ],
    );
    assertEquals([plan.skipped, plan.resources[0]?.from, plan.resources[0]?.uid], [1, file, null]);
    const all = await stage.json(["-f", file, "--all"]);
    assertEquals(all.plan.resources.map((r) => r.name), ["a", "b", "c", "elsewhere"]);
  }));

Deno.test("What the API server would refuse is invalid, in its own words, and ends with 1", () =>
  onStage(async (stage) => {
    await stage.put("b", { database: {} });
    await stage.api("PATCH", "/apis/crd.my.domain/v1/namespaces/default/externaldatabases/b/status", {
      status: { observed: { engine: "postgres", version: "14.2", sizeGb: 20 } },
    });
    const file = await stage.file(
      [
        manifest("a", "engine: postgres, version: '14.2', sizeGb: 0"),
        manifest("b", "engine: mysql, version: '14.2', sizeGb: 10"),
        manifest("c", `${PLAIN}, sise: 4`),
        manifest("d", `${PLAIN}, managementPolicy: ObserveOnly`),
        manifest("e", PLAIN),
      ].join("---\n"),
    );
    const { code, plan } = await stage.json(["-f", file]);
    assertEquals(code, 1);
    const said = plan.resources.map((r) => [r.outcome, r.message] as const);
    assertEquals(said.map(([outcome]) => outcome), ["invalid", "invalid", "invalid", "invalid", "change"]);
    assertMatch(said[0]?.[1] ?? "", /"a" is invalid: spec\.sizeGb/);
    assertMatch(
      said[1]?.[1] ?? "",
      /cannot shrink.*engine cannot change|engine cannot change.*cannot shrink/s,
    );
    assertMatch(said[2]?.[1] ?? "", /unknown field "spec\.sise"/);
    assertMatch(said[3]?.[1] ?? "", /spec\.providerId is required/);
    assertMatch((await stage.plan(["-f", file])).text, /^! invalid +default\/a /m);
  }));

Deno.test("A manifest with a field left out takes it out, as an edit would", () =>
  onStage(async (stage) => {
    await stage.put("a", { database: { sizeGb: 10 }, spec: { driftPolicy: "Report" } });
    const file = await stage.file(manifest("a", PLAIN));
    const { actions } = await stage.of("a", ["-f", file]);
    assertEquals(actions.map((a) => a.action), ["modify"]);
  }));

Deno.test("Manifests that switch policies are planned in their light", () =>
  onStage(async (stage) => {
    const id = await stage.put("a", { database: { sizeGb: 10 } });
    const file = await stage.file(
      manifest("a", `${PLAIN}, managementPolicy: ObserveOnly, providerId: ${id}`),
    );
    const { outcome, reason, message } = await stage.of("a", ["-f", file]);
    assertEquals([outcome, reason], ["cannot", "DriftReported"]);
    assertStringIncludes(message, "ObserveOnly");
  }));

Deno.test("Without a cluster a manifest is a new resource", () =>
  onStage(async (stage) => {
    const file = await stage.file(manifest("a", PLAIN, ", namespace: shop"));
    const { code, text } = await plan(["--provider", "http", "--cloud-url", stage.cloudUrl, "-f", file]);
    assertEquals(code, 2);
    assertStringIncludes(text, "Cluster: none; every manifest is taken for a new resource");
    assertMatch(text, /^\+ create {2}shop\/a {2}postgres 14.2, 20 GiB {2}\(the resource is new\)$/m);
    assertEquals(stage.cloud.ledger.mutatingCalls(), []);
  }));

Deno.test("Manifests that cannot be read are told with file and document, and what is no plan ends with an error", async () => {
  const read = (text: string) => () => Promise.resolve().then(() => readManifests(text, "x.yaml", "default"));
  await assertRejects(read("a: [1"), Error, 'Reading "x.yaml", document 1: ');
  await assertRejects(read("---\n- 1\n"), Error, 'Reading "x.yaml", document 1: it is no object');
  await assertRejects(
    read(manifest("a", PLAIN).replace("/v1", "/v2")),
    Error,
    "apiVersion must be crd.my.domain/v1",
  );
  await assertRejects(read(manifest("''", PLAIN)), Error, "metadata.name is missing");
  const list = JSON.stringify({
    kind: "List",
    apiVersion: "v1",
    items: [
      { apiVersion: "crd.my.domain/v1", kind: "ExternalDatabase", metadata: { name: "a" }, spec: SPEC },
      { kind: "Pod" },
    ],
  });
  const { manifests, skipped } = readManifests(list, "x.json", "shop");
  assertEquals([manifests.map((m) => `${m.namespace}/${m.name}`), skipped], [["shop/a"], 1]);
  await assertRejects(
    () => plan(["-f", "/none.yaml"]),
    Error,
    'Reading the manifests of --file "/none.yaml"',
  );
});

Deno.test("The program ends with 0, 2 or 1, prints to the end, and asks for no right to write", () =>
  onStage(async (stage) => {
    const file = await stage.file(manifest("a", PLAIN));
    const flags = [
      "plan",
      "--kubeconfig",
      `${stage.directory}/kubeconfig`,
      "--provider",
      "http",
      "--cloud-url",
      stage.cloudUrl,
    ];
    const rights = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read"];
    const empty = await main(flags, {}, rights);
    assertEquals([empty.code, empty.err], [0, ""]);
    const changes = await main([...flags, "-f", file, "-o", "json"], {}, rights);
    assertEquals([changes.code, changes.err], [2, ""]);
    assertEquals(JSON.parse(changes.out).formatVersion, 1);
    const wrong = await main([...flags, "--out", "json"], {}, rights);
    assertEquals(wrong.code, 1, "a wrong flag is no change");
    const none = await main(["plan"], {}, rights);
    assertEquals(none.code, 1);
    assertMatch(none.err, /^error: No Kubernetes cluster is named/);
    const local = await main(["plan", "--provider", "local", "-f", file], {}, rights);
    assertEquals(local.code, 1);
    assert(local.err.includes("--provider local needs --local-folder"), local.err);
    assertEquals(stage.cloud.ledger.mutatingCalls(), []);
  }));
