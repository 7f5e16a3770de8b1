/**
 * Resources that nobody should have made, and that someone has: what the API server refuses is refused by name, what it
 * has stored is told by name, and what is merely extreme works.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { API_VERSION, KIND } from "../../src/api/constants.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { applyResource, installCrd, installLooseCrd, requestResource, SEED_SPEC } from "../support/crd.ts";
import { freshNamespace, sharedKube, startKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, list, manifest, messageOf, read } from "../support/operator.ts";
import { probe, startOperator } from "../support/operator_process.ts";
import { inOrder } from "../support/steps.ts";

/** A spec, and what the API server must say of it. */
const REFUSED: readonly (readonly [unknown, RegExp])[] = [
  [{ version: "14.2", sizeGb: 20 }, /spec\.engine: Required value/],
  [{ ...SEED_SPEC, engine: "post gres" }, /spec\.engine: Invalid value: "post gres"/],
  [{ ...SEED_SPEC, version: "-1" }, /spec\.version: Invalid value: "-1"/],
  [{ ...SEED_SPEC, sizeGb: 0 }, /spec\.sizeGb: Invalid value: 0: .*greater than or equal to 1/],
  [{ ...SEED_SPEC, sizeGb: "20" }, /spec\.sizeGb: Invalid value: "string"/],
  [{ ...SEED_SPEC, sizeGb: 20.5 }, /spec\.sizeGb: Invalid value: "number"/],
  [{ ...SEED_SPEC, deletionPolicy: "Keep" }, /spec\.deletionPolicy: Unsupported value: "Keep"/],
  [{ ...SEED_SPEC, pollInterval: "90d" }, /pollInterval must be a duration from 10s to 24h/],
  [{ ...SEED_SPEC, sizeGB: 20 }, /unknown field "spec\.sizeGB"/],
  [{}, /spec\.engine: Required value[^]*spec\.version: Required value[^]*spec\.sizeGb: Required value/],
];

/** A spec as an older schema took it, and what the operator must say of it. */
const STORED: readonly (readonly [unknown, RegExp])[] = [
  [{ ...SEED_SPEC, pollInterval: "90d" }, /^spec\.pollInterval is "90d": must be a duration from 10s to 24h/],
  [{ version: "14.2", sizeGb: 20 }, /^spec\.engine is missing; edit the resource to mend it$/],
  [{ ...SEED_SPEC, sizeGb: 0 }, /^spec\.sizeGb is 0: /],
  [{ ...SEED_SPEC, sizeGb: "20" }, /^spec\.sizeGb is "20": /],
  [{ ...SEED_SPEC, engine: "post gres" }, /^spec\.engine is "post gres": /],
  [{ ...SEED_SPEC, deletionPolicy: "Keep" }, /^spec\.deletionPolicy is "Keep": /],
  [undefined, /^spec\.engine is missing/],
];

/** The API server's limit for all annotations of an object together, keys and values, in bytes. */
const ANNOTATIONS_LIMIT = 262_144;

Deno.test("fields that make no sense are refused by the API server, each by its name", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const namespace = await freshNamespace(kube, "refused");
  const answers = await Promise.all(
    REFUSED.map(([spec], i) => applyResource(kube, namespace, `edb-${i}`, spec)),
  );
  for (const [i, { code, stderr }] of answers.entries()) {
    assert(code !== 0, JSON.stringify(REFUSED[i]?.[0]));
    assertMatch(stderr, REFUSED[i]![1]);
  }
  assertEquals(await list(kube, namespace), []);
});

Deno.test("an API server that is down is waited for; resources stored under an older schema are told by field, mended and deleted, and hinder no other", async (t) => {
  const step = inOrder(t);
  const kube = await startKube();
  const cloud = fastCloud();
  const server = serveCloud(cloud);
  await installLooseCrd(kube);
  for (const [i, [spec]] of STORED.entries()) {
    const body = {
      apiVersion: API_VERSION,
      kind: KIND,
      metadata: { name: `old-${i}`, namespace: "default" },
    };
    await apply(kube, spec === undefined ? body : { ...body, spec });
  }
  await installCrd(kube);
  await eventually("the new schema is in force", async () => {
    const answer = await requestResource(kube, "default", "old-1", { patch: { spec: { sizeGb: -5 } } });
    return answer.status === 422;
  });
  await kube.killApiServer();
  const child = startOperator(kube, { cloudUrl: server.url, args: ["--poll-interval=10s"] });
  try {
    await step("it is healthy, not ready, and readiness says why", async () => {
      await eventually("readiness says why", async () => {
        const { status, text } = await probe(child, "/readyz");
        return status === 503 &&
          /The cluster's identity is not known yet: Reading the namespace kube-system: .*refused/.test(text);
      });
      assertEquals((await probe(child, "/healthz")).status, 200);
    });

    await step("it becomes ready by itself when the API server comes up", async () => {
      await kube.startApiServer();
      await eventually("ready", async () => (await probe(child, "/readyz")).status === 200, 40_000, 50);
    });

    await step("each says which field is wrong, and nothing was asked of the cloud for it", async () => {
      for (const [i, [, expected]] of STORED.entries()) {
        await eventually(
          `old-${i} is told`,
          async () => conditionOf(await read(kube, "default", `old-${i}`), "Ready") === "False/InvalidSpec",
        );
        const cr = await read(kube, "default", `old-${i}`);
        assertEquals(conditionOf(cr, "Synced"), "False/InvalidSpec");
        assertMatch(messageOf(cr, "Ready"), expected);
      }
      assertEquals(cloud.ledger.mutatingCalls(), []);
    });

    await step("a good one beside them works, and a mended one too", async () => {
      await apply(kube, manifest("default", "good"));
      const mended = await requestResource(kube, "default", "old-0", {
        patch: { spec: { pollInterval: "30s" } },
      });
      assertEquals(mended.status, 200);
      for (const name of ["good", "old-0"]) {
        await eventually(
          `${name} is Available`,
          async () => conditionOf(await read(kube, "default", name), "Ready") === "True/Available",
        );
      }
    });

    await step("all can be deleted", async () => {
      const deleted = await kube.kubectl("delete", "externaldatabases", "--all", "--timeout=30s");
      assertEquals([deleted.code, deleted.stderr], [0, ""]);
      assertEquals([cloud.ledger.createEffects().length, cloud.databases().length], [2, 0]);
    });
  } finally {
    await child.end();
    await server.close();
    await kube.stop();
  }
});

Deno.test("resources as large and with names as long as the API server takes become Available and can be deleted", async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "limits");
  const cloud = fastCloud();
  const server = serveCloud(cloud);
  const filler = (key: string) => ({ [key]: "x".repeat(ANNOTATIONS_LIMIT - key.length) });
  const longest = `${"n".repeat(63)}.`.repeat(4).slice(0, 253);
  const many = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, i) => [`a.example/${i}`, "y".repeat(200)]),
  );
  const annotated: Record<string, Record<string, string>> = {
    full: filler("filler"),
    many,
    asked: filler("db.my.domain/reconcile"), // what it says is acknowledged in status, at its whole length
    [longest]: {},
  };
  for (const [name, annotations] of Object.entries(annotated)) {
    const object = manifest(ns, name);
    await apply(kube, { ...object, metadata: { ...object.metadata, annotations } });
  }
  const child = startOperator(kube, { cloudUrl: server.url, namespace: ns, args: ["--poll-interval=10s"] });
  try {
    for (const name of Object.keys(annotated)) {
      await eventually(
        `${name.slice(0, 20)} is Available`,
        async () => conditionOf(await read(kube, ns, name), "Synced") === "True/Available",
        20_000,
      );
    }
    const asked = await read(kube, ns, "asked");
    assertEquals(
      asked?.status?.lastHandledReconcile,
      annotated["asked"]?.["db.my.domain/reconcile"],
    );
    assertEquals(cloud.databases().find((d) => d.name === longest)?.state, "Available");
    await eventually("its Events are there", async () => {
      const events = await kube.kubectl(
        "get",
        "events",
        "-n",
        ns,
        "-o=jsonpath={.items[*].regarding.name}{.items[*].involvedObject.name}",
      );
      return events.stdout.includes(longest);
    });
    const deleted = await kube.kubectl("delete", "edb", "--all", "-n", ns, "--timeout=30s");
    assertEquals([deleted.code, deleted.stderr], [0, ""]);
    assertEquals(cloud.databases(), []);
  } finally {
    await child.end();
    await server.close();
  }
});
