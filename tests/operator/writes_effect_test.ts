/** The effects that write to the resource alone: what they write under, and what keeps them from it (S3, S4, D4, D6). */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { record, release } from "../../src/operator/effects/writes.ts";
import { cr, db, deleting, inStep, known, tags } from "../statechart/support.ts";
import { failing, run } from "./effect_rig.ts";

const observed = known(deleting({ spec: { managementPolicy: "ObserveOnly" }, status: inStep() }));

Deno.test("D4, S4: who only observed lets go only while the spec still says so: a change that no watch told of keeps it (seed 3164)", async () => {
  const { patches } = await run(release, observed, { decision: { cause: "observeOnly" } });
  const tests = patches[0]?.flatMap((o) => o.op === "test" ? [o.path] : []);
  assertEquals(tests?.includes("/spec/managementPolicy"), true, `only ${tests} are tested`);
  const full = deleting({ meta: { resourceVersion: "101" }, status: inStep() });
  const error = await failing(release, observed, {
    patched: new KubeError("invalid", "the test failed"),
    read: full,
    decision: { cause: "observeOnly" },
  });
  assertEquals([error.errorClass, error.learned.object], ["conflict", full]);
});

Deno.test("D6: everybody else lets go whatever else the spec says, with a test of the finalizer", async () => {
  const { patches } = await run(release, known(deleting({ status: inStep() })), {
    decision: { cause: "deleted" },
  });
  assertEquals(patches[0]?.filter((o) => o.op === "test").map((o) => o.path), [
    "/metadata/uid",
    "/metadata/deletionTimestamp",
    "/metadata/finalizers/0",
  ]);
  assertEquals(patches[0]?.at(-1), { op: "remove", path: "/metadata/finalizers/0" });
});

Deno.test("S3, rule 18: another's database that was only observed is not recorded once the resource is to own it: it is adopted first (seed 6414)", async () => {
  const spec = { providerId: "db-1" };
  const observing = known(cr({ spec: { ...spec, managementPolicy: "ObserveOnly" } }));
  const decision = { database: db({ tags: tags({ [TAG.uid]: "another" }) }) };
  const { patches } = await run(record, observing, { decision });
  assertEquals(patches.length, 1, "nothing is recorded at all");
  const latest = known(cr({ meta: { resourceVersion: "101" }, spec }));
  assertEquals((await run(record, observing, { decision, latest })).patches, []);
});
