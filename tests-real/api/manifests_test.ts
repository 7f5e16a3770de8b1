/** What the API server takes and refuses at creation: the schema as it works, not as it reads. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { applyResource, installCrd, requestResource, SEED_SPEC } from "../support/crd.ts";

const kube = await sharedKube();
await installCrd(kube);
const namespace = await freshNamespace(kube, "manifests");
let count = 0;

const good: ReadonlyArray<readonly [string, unknown]> = [
  ["the original design's three fields", SEED_SPEC],
  ["MySQL 8.0.36", { engine: "mysql", version: "8.0.36", sizeGb: 100 }],
  ["an engine as RDS spells it", { engine: "aurora-postgresql", version: "16.1", sizeGb: 1 }],
  ["a long version", { engine: "sqlserver-ee", version: "15.00.4236.7.v1", sizeGb: 65536 }],
  ["a version prefix", { ...SEED_SPEC, version: "14" }],
  ["every policy", {
    ...SEED_SPEC,
    deletionPolicy: "Retain",
    driftPolicy: "Report",
    onMissing: "Report",
    paused: true,
  }],
  ["adoption", { ...SEED_SPEC, providerId: "db-9f2c" }],
  ["a poll interval at its lower bound", { ...SEED_SPEC, pollInterval: "10s" }],
  ["a poll interval at its upper bound, in parts", { ...SEED_SPEC, pollInterval: "23h59m60s" }],
  ["a poll interval in seconds", { ...SEED_SPEC, pollInterval: "86400s" }],
];

for (const [what, spec] of good) {
  Deno.test(`A manifest is taken: ${what}`, async () => {
    const name = `good-${count++}`;
    const applied = await applyResource(kube, namespace, name, spec);
    assertEquals(applied.code, 0, applied.stderr);
    const { body } = await requestResource(kube, namespace, name);
    // No default is written into the user's spec (S7, rule 19), and status is there to be patched (rule 6).
    assertEquals([body.spec, body.status], [spec, {}]);
  });
}

const bad: ReadonlyArray<readonly [string, unknown, string]> = [
  ["no spec", null, "spec is required: give at least engine, version and sizeGb"],
  ["no engine", { version: "14.2", sizeGb: 20 }, "spec.engine: Required value"],
  ["no version", { engine: "postgres", sizeGb: 20 }, "spec.version: Required value"],
  ["no size", { engine: "postgres", version: "14.2" }, "spec.sizeGb: Required value"],
  ["an empty engine", { ...SEED_SPEC, engine: "" }, "spec.engine"],
  ["an engine with a space", { ...SEED_SPEC, engine: "post gres" }, "spec.engine"],
  ["an engine with a line break", { ...SEED_SPEC, engine: "postgres\n" }, "spec.engine"],
  ["a version that is a number", { ...SEED_SPEC, version: 14.2 }, "spec.version"],
  ["a version with a quote", { ...SEED_SPEC, version: "14'" }, "spec.version"],
  ["a size that is a text", { ...SEED_SPEC, sizeGb: "20" }, "spec.sizeGb"],
  ["a size of nothing", { ...SEED_SPEC, sizeGb: 0 }, "spec.sizeGb"],
  ["a negative size", { ...SEED_SPEC, sizeGb: -1 }, "spec.sizeGb"],
  ["half a gigabyte", { ...SEED_SPEC, sizeGb: 0.5 }, "spec.sizeGb"],
  ["a size no cloud has", { ...SEED_SPEC, sizeGb: 65537 }, "spec.sizeGb"],
  ["a size beyond any integer", { ...SEED_SPEC, sizeGb: 1e300 }, "spec.sizeGb"],
  [
    "a policy that does not exist",
    { ...SEED_SPEC, deletionPolicy: "Keep" },
    'supported values: "Delete", "Retain"',
  ],
  [
    "a drift policy in lower case",
    { ...SEED_SPEC, driftPolicy: "repair" },
    'supported values: "Repair", "Report"',
  ],
  ["a field with a typing error", { ...SEED_SPEC, sizeGB: 20 }, 'unknown field "spec.sizeGB"'],
  ["an empty id to adopt", { ...SEED_SPEC, providerId: "" }, "spec.providerId"],
  ["paused as a text", { ...SEED_SPEC, paused: "yes" }, "spec.paused"],
  ...["90d", "9s", "25h", "5", "soon", "1.5h", "-5m", "", "99999h", "100ms", "9".repeat(31) + "h"]
    .map((pollInterval) =>
      [
        `H2: a poll interval of "${pollInterval}"`,
        { ...SEED_SPEC, pollInterval },
        "spec.pollInterval",
      ] as const
    ),
];

for (const [what, spec, message] of bad) {
  Deno.test(`A manifest is refused, naming the field: ${what}`, async () => {
    const name = `bad-${count++}`;
    const applied = await applyResource(kube, namespace, name, spec);
    assertEquals(applied.code, 1);
    assertStringIncludes(applied.stderr, message);
    // A rule that fails to evaluate is no answer to a user, and would block stored objects.
    assertEquals(applied.stderr.includes("evaluation"), false, applied.stderr);
    assertEquals((await requestResource(kube, namespace, name)).status, 404);
  });
}

Deno.test("H2: the message for a poll interval says what to write instead", async () => {
  const { stderr } = await applyResource(kube, namespace, "poll", { ...SEED_SPEC, pollInterval: "90d" });
  assertStringIncludes(stderr, "pollInterval must be a duration from 10s to 24h, such as 30s, 5m or 1h30m");
});
