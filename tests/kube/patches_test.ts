/** The patches, applied by an independent implementation of RFC 6902. @module */
import { assertEquals, assertThrows } from "@std/assert";
import jsonPatch, { type Operation } from "fast-json-patch";
import { FINALIZER } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { addFinalizer, patchStatus, removeFinalizer, sameJson } from "../../src/kube/patches.ts";
import type { JsonPatchOperation } from "../../src/kube/port.ts";

function object(
  metadata: Partial<ExternalDatabase["metadata"]> = {},
  status?: ExternalDatabase["status"],
): ExternalDatabase {
  return {
    apiVersion: "crd.my.domain/v1",
    kind: "ExternalDatabase",
    metadata: {
      name: "a",
      namespace: "default",
      uid: "u-1",
      resourceVersion: "7",
      generation: 1,
      ...metadata,
    },
    spec: { engine: "postgres", version: "14.2", sizeGb: 20 },
    status,
  };
}

/** Applies as an API server does: a copy, and all or nothing. */
function apply(to: ExternalDatabase, patch: readonly JsonPatchOperation[] | undefined): ExternalDatabase {
  const copy = structuredClone(to);
  if (patch) jsonPatch.applyPatch(copy, structuredClone(patch) as Operation[], true);
  return copy;
}

Deno.test("The finalizer is added to none, to an empty list and beside others, and not twice", () => {
  for (const present of [undefined, [], ["other/one"]]) {
    const cr = object({ finalizers: present });
    assertEquals(apply(cr, addFinalizer(cr.metadata)).metadata.finalizers, [...present ?? [], FINALIZER]);
  }
  assertEquals(addFinalizer({ uid: "u", resourceVersion: "1", finalizers: [FINALIZER] }), undefined);
});

Deno.test("Rule 2: the finalizer is added only to the version and the UID that were seen", () => {
  const patch = addFinalizer(object().metadata);
  assertThrows(() => apply(object({ resourceVersion: "8" }), patch));
  assertThrows(() => apply(object({ uid: "u-2" }), patch));
});

Deno.test("D6: the finalizer's removal touches no other, and fails where the list has changed", () => {
  const cr = object({ finalizers: ["a/a", FINALIZER, "b/b"] });
  const patch = removeFinalizer(cr.metadata);
  assertEquals(apply(cr, patch).metadata.finalizers, ["a/a", "b/b"]);
  assertEquals(
    apply(object({ finalizers: ["a/a", FINALIZER], resourceVersion: "9" }), patch).metadata.finalizers,
    ["a/a"],
  );
  assertThrows(() => apply(object({ finalizers: [FINALIZER, "b/b"] }), patch));
  assertThrows(() => apply(object({ finalizers: ["a/a"] }), patch));
  assertThrows(() => apply(object({ uid: "u-2", finalizers: ["a/a", FINALIZER, "b/b"] }), patch));
  assertEquals(removeFinalizer(object().metadata), undefined);
});

Deno.test("W10: the first status write works on a CR whose status is the CRD's empty default", () => {
  const cr = object({}, {});
  const patch = patchStatus(cr, { providerId: "db-1", account: "acc", state: "Creating" });
  assertEquals(apply(cr, patch).status, { providerId: "db-1", account: "acc", state: "Creating" });
  assertEquals(patchStatus(object(), { providerId: "db-1" }), patchStatus(cr, { providerId: "db-1" }));
});

Deno.test("Rule 6: a status write tests the UID, and the providerId and incarnation that were seen", () => {
  const cr = object({}, { providerId: "db-1", incarnation: 2, state: "Creating" });
  const patch = patchStatus(cr, { state: "Available" });
  assertEquals(apply(cr, patch).status?.state, "Available");
  assertThrows(() => apply(object({ uid: "u-2" }, cr.status), patch));
  assertThrows(() => apply(object({}, { ...cr.status, providerId: "db-2" }), patch));
  assertThrows(() => apply(object({}, { ...cr.status, incarnation: 3 }), patch));
  assertEquals(apply(object({ resourceVersion: "99" }, cr.status), patch).status?.state, "Available");
  const guarded = patchStatus(cr, { state: "Available" }, { resourceVersion: true });
  assertThrows(() => apply(object({ resourceVersion: "99" }, cr.status), guarded));
  const free = patchStatus(cr, { state: "Available" }, { providerId: false, incarnation: false });
  assertEquals(apply(object({}, { providerId: "db-2" }), free).status?.providerId, "db-2");
});

Deno.test("Rule 6: a first id is recorded on the very version that showed none: a late or stale one writes over no other", () => {
  for (const status of [{}, { incarnation: 1, state: "Pending" as const }]) {
    const cr = object({}, status);
    const patch = patchStatus(cr, { providerId: "db-1" });
    assertEquals(apply(cr, patch).status?.providerId, "db-1");
    assertThrows(() => apply(object({ resourceVersion: "8" }, { ...status, providerId: "db-2" }), patch));
    const free = patchStatus(cr, { providerId: "db-1" }, { providerId: false, incarnation: false }) ?? [];
    assertEquals(free.map((o) => o.path).slice(0, 2), ["/metadata/uid", "/status/providerId"]);
  }
  const said = patchStatus(object({}, { state: "Pending" }), { state: "Creating" }) ?? [];
  assertEquals(
    said.map((o) => o.path),
    ["/metadata/uid", "/status/state"],
    "what names no id needs no version",
  );
});

Deno.test("Rule 6: an id in place of another is recorded on the very version that was seen: a late one writes over nothing (found by simulation, seed 39666)", () => {
  const cr = object({}, { providerId: "db-1", incarnation: 2, state: "Drifted" });
  const patch = patchStatus(cr, { providerId: "db-2", state: "Available" });
  assertEquals(apply(cr, patch).status?.providerId, "db-2");
  const since = { ...cr.status, state: "Deleting" as const };
  assertThrows(() => apply(object({ resourceVersion: "8" }, since), patch));
  const same = patchStatus(cr, { providerId: "db-1", state: "Available" }) ?? [];
  assertEquals(apply(object({ resourceVersion: "8" }, since), same).status?.state, "Available");
});

Deno.test("Rule 6: an id that an API server cannot compare is guarded by the resourceVersion instead", () => {
  for (const providerId of ["a&b", "a<b", "a>b", "a\u2028b", "a\u2029b", "a\tb"]) {
    const cr = object({}, { providerId, incarnation: 2, state: "Creating" });
    const patch = patchStatus(cr, { state: "Available" }) ?? [];
    const tested = patch.filter((o) => o.op === "test").map((o) => o.path);
    assertEquals(tested, ["/metadata/uid", "/metadata/resourceVersion", "/status/incarnation"], providerId);
    assertEquals(apply(cr, patch).status?.state, "Available");
    assertThrows(() => apply(object({ resourceVersion: "8" }, { ...cr.status, providerId: "db-2" }), patch));
    const once = patchStatus(cr, { state: "Available" }, { resourceVersion: true }) ?? [];
    assertEquals(once, patch, "tested once");
    const free = patchStatus(cr, { state: "Available" }, { providerId: false, incarnation: false }) ?? [];
    assertEquals(free.map((o) => o.path), ["/metadata/uid", "/status/state"]);
  }
});

Deno.test("Rule 7: one patch raises the incarnation and removes the providerId", () => {
  const cr = object({}, { providerId: "db-1", incarnation: 2 });
  const patch = patchStatus(cr, { incarnation: 3, providerId: undefined }, { resourceVersion: true });
  assertEquals(apply(cr, patch).status, { incarnation: 3 });
});

Deno.test("S5: a change that changes nothing is no patch, whatever the order of members", () => {
  const cr = object({}, { state: "Available", observed: { engine: "postgres", sizeGb: 20 } });
  assertEquals(
    patchStatus(cr, {
      state: "Available",
      observed: { sizeGb: 20, engine: "postgres" },
      endpoint: undefined,
    }),
    undefined,
  );
  assertEquals(sameJson({ a: [1, { b: 2 }] }, { a: [1, { b: 2, c: undefined }] }), true);
  assertEquals(sameJson([1, 2], [2, 1]), false);
  assertEquals(sameJson({}, []), false);
  assertEquals(sameJson(null, {}), false);
});
