/** What may be changed once a database exists (CEL at the root), and that no rule ever blocks the operator. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { FINALIZER } from "../../src/api/constants.ts";
import type { ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { applyResource, installCrd, requestResource, SEED_SPEC } from "../support/crd.ts";

const kube = await sharedKube();
await installCrd(kube);
const namespace = await freshNamespace(kube, "rules");
let count = 0;

/** A resource with this status, as the operator has left it. Returns its name. */
async function resource(spec: unknown, status?: ExternalDatabaseStatus): Promise<string> {
  const name = `edb-${count++}`;
  const applied = await applyResource(kube, namespace, name, spec);
  if (applied.code !== 0) throw new Error(applied.stderr);
  if (status !== undefined) {
    const { body: { metadata } } = await requestResource(kube, namespace, name);
    const patched = await requestResource(kube, namespace, name, {
      subresource: "status",
      patch: [{ op: "test", path: "/metadata/uid", value: metadata.uid }, {
        op: "add",
        path: "/status",
        value: status,
      }],
    });
    if (patched.status !== 200) throw new Error(patched.body.message);
  }
  return name;
}

const created: ExternalDatabaseStatus = {
  state: "Available",
  providerId: "db-1",
  observed: { engine: "postgres", version: "14.2", sizeGb: 20 },
};

const edits: ReadonlyArray<
  readonly [string, ExternalDatabaseStatus | undefined, Record<string, unknown>, string | undefined]
> = [
  ["growing", created, { sizeGb: 50 }, undefined],
  ["a new version", created, { version: "15.1" }, undefined],
  ["shrinking below what the database has", created, { sizeGb: 19 }, "set it to 20 or more"],
  ["shrinking before anything is known of it", undefined, { sizeGb: 10 }, undefined],
  ["shrinking while it is created", { state: "Creating", providerId: "db-1" }, { sizeGb: 10 }, undefined],
  [
    "R2: less than the cloud has grown it to",
    { ...created, observed: { sizeGb: 35 } },
    { sizeGb: 30 },
    undefined,
  ],
  ["another engine before the database exists", undefined, { engine: "mysql" }, undefined],
  ["R5: another engine", created, { engine: "mysql" }, 'keep "postgres" or create another ExternalDatabase'],
  ["R5: another engine while it is created", { providerId: "db-1" }, { engine: "mysql" }, 'keep "postgres"'],
  ["R6: the engine as the cloud spells it", { ...created, observed: { engine: "Postgres" } }, {
    engine: "POSTGRES",
  }, undefined],
  ["an id that is its own", created, { providerId: "db-1" }, undefined],
  ["another id than its own", created, { providerId: "db-2" }, "set it to that, or create another"],
  ["an id before there is a database", undefined, { providerId: "db-2" }, undefined],
  ["D4: observe-only of its own database", created, {
    providerId: "db-1",
    managementPolicy: "ObserveOnly",
  }, undefined],
  ["a policy that there is not", created, { managementPolicy: "Look" }, "supported values"],
  ["D7: a final snapshot", created, { deletionPolicy: "Snapshot", deletionProtection: true }, undefined],
];

Deno.test("D4: what only observes must say which, also when it is made, and cannot forget it", async () => {
  const refused = (answer: { readonly status: number; readonly body: { readonly message?: string } }) => {
    assertEquals(answer.status, 422, answer.body.message);
    assertStringIncludes(
      answer.body.message ?? "",
      "spec.providerId is required where managementPolicy is ObserveOnly",
    );
  };
  const made = await applyResource(kube, namespace, "watcher", {
    ...SEED_SPEC,
    managementPolicy: "ObserveOnly",
  });
  assertStringIncludes(made.stderr, "spec.providerId is required where managementPolicy is ObserveOnly");
  const name = await resource({ ...SEED_SPEC, managementPolicy: "ObserveOnly", providerId: "db-9" });
  refused(await requestResource(kube, namespace, name, { patch: { spec: { providerId: null } } }));
  const full = await resource(SEED_SPEC, created);
  refused(
    await requestResource(kube, namespace, full, { patch: { spec: { managementPolicy: "ObserveOnly" } } }),
  );
  const back = await requestResource(kube, namespace, name, {
    patch: { spec: { managementPolicy: "Full" } },
  });
  assertEquals(back.status, 200, back.body.message);
  const status = { patch: { status: { state: "Pending" } }, subresource: "status" as const };
  assertEquals((await requestResource(kube, namespace, full, status)).status, 200);
});

for (const [what, status, edit, refusal] of edits) {
  Deno.test(`An edit is ${refusal === undefined ? "taken" : "refused"}: ${what}`, async () => {
    const name = await resource(SEED_SPEC, status);
    const { status: code, body } = await requestResource(kube, namespace, name, { patch: { spec: edit } });
    assertEquals(code, refusal === undefined ? 200 : 422, body.message);
    if (refusal !== undefined) {
      assertStringIncludes(body.message, refusal);
      assertStringIncludes(body.message, `spec.${Object.keys(edit)[0]}: `);
    }
  });
}

Deno.test("A size typed wrongly can be taken back while the database has not followed", async () => {
  const name = await resource(SEED_SPEC, created);
  assertEquals(
    (await requestResource(kube, namespace, name, { patch: { spec: { sizeGb: 2000 } } })).status,
    200,
  );
  assertEquals(
    (await requestResource(kube, namespace, name, { patch: { spec: { sizeGb: 19 } } })).status,
    422,
  );
  assertEquals(
    (await requestResource(kube, namespace, name, { patch: { spec: { sizeGb: 20 } } })).status,
    200,
  );
});

Deno.test("An engine that is not the database's can be put back, and to nothing else", async () => {
  const name = await resource({ ...SEED_SPEC, engine: "postgers" });
  await requestResource(kube, namespace, name, { subresource: "status", patch: { status: created } });
  const other = await requestResource(kube, namespace, name, { patch: { spec: { engine: "mysql" } } });
  assertEquals(other.status, 422);
  assertStringIncludes(other.body.message, 'keep "postgres"');
  assertEquals(
    (await requestResource(kube, namespace, name, { patch: { spec: { engine: "postgres" } } })).status,
    200,
  );
});

Deno.test("Rule 6: a providerId is recorded whatever the spec says by now", async () => {
  const name = await resource(SEED_SPEC);
  const edited = await requestResource(kube, namespace, name, {
    patch: { spec: { providerId: "db-other", engine: "mysql", sizeGb: 5 } },
  });
  assertEquals(edited.status, 200);
  const uid = edited.body.metadata.uid;
  for (
    const operations of [
      [{ op: "add", path: "/status/providerId", value: "db-1" }],
      [{ op: "add", path: "/status/observed", value: created.observed }],
      [{ op: "remove", path: "/status/providerId" }, { op: "add", path: "/status/incarnation", value: 2 }],
    ]
  ) {
    const answer = await requestResource(kube, namespace, name, {
      subresource: "status",
      patch: [{ op: "test", path: "/metadata/uid", value: uid }, ...operations],
    });
    assertEquals(answer.status, 200, answer.body.message);
  }
  const foreign = await requestResource(kube, namespace, name, {
    subresource: "status",
    patch: [{ op: "test", path: "/metadata/uid", value: "another" }, {
      op: "add",
      path: "/status/providerId",
      value: "x",
    }],
  });
  assertEquals(foreign.status, 422);
});

Deno.test("A wiped status is {} again, so that the next patch finds it", async () => {
  const name = await resource(SEED_SPEC, created);
  const wiped = await requestResource(kube, namespace, name, {
    subresource: "status",
    patch: { status: null },
  });
  assertEquals([wiped.status, wiped.body.status], [200, {}]);
  const patch = [{ op: "add", path: "/status/providerId", value: "db-1" }];
  assertEquals((await requestResource(kube, namespace, name, { subresource: "status", patch })).status, 200);
});

Deno.test("A status that the schema does not allow is refused", async () => {
  const name = await resource(SEED_SPEC);
  for (const status of [{ state: "Failed" }, { incarnation: 0 }, { conditions: [{ type: "Ready" }] }]) {
    assertEquals(
      (await requestResource(kube, namespace, name, { subresource: "status", patch: { status } })).status,
      422,
    );
  }
});

Deno.test("The annotation limit of the API server is met by an error, not by a lost acknowledgement", async () => {
  const name = await resource(SEED_SPEC);
  const patch = (length: number) => ({
    metadata: { annotations: { "db.my.domain/reconcile": "x".repeat(length) } },
  });
  assertEquals((await requestResource(kube, namespace, name, { patch: patch(262_144) })).status, 422);
  // What fits in an annotation, beside its key and kubectl's own, fits in status as well.
  assertEquals((await requestResource(kube, namespace, name, { patch: patch(200_000) })).status, 200);
  const acknowledged = { status: { lastHandledReconcile: "x".repeat(200_000) } };
  const answer = await requestResource(kube, namespace, name, { subresource: "status", patch: acknowledged });
  assertEquals(answer.status, 200, answer.body.message);
});

Deno.test("D6: a terminating resource still takes status patches and gives up our finalizer alone", async () => {
  const name = await resource(SEED_SPEC, created);
  const both = [FINALIZER, "other.example/finalizer"];
  await requestResource(kube, namespace, name, { patch: { metadata: { finalizers: both } } });
  const { body: { metadata } } = await requestResource(kube, namespace, name, { method: "DELETE" });
  assertEquals(typeof metadata.deletionTimestamp, "string");
  const status = await requestResource(kube, namespace, name, {
    subresource: "status",
    patch: { status: { state: "Deleting" } },
  });
  assertEquals(status.status, 200);
  const released = await requestResource(kube, namespace, name, {
    patch: [{ op: "test", path: "/metadata/finalizers/0", value: FINALIZER }, {
      op: "remove",
      path: "/metadata/finalizers/0",
    }],
  });
  assertEquals([released.status, released.body.metadata.finalizers], [200, ["other.example/finalizer"]]);
  await requestResource(kube, namespace, name, { patch: { metadata: { finalizers: null } } });
  assertEquals((await requestResource(kube, namespace, name)).status, 404);
});
