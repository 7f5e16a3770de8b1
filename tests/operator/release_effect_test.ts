/** The release effect alone: under what it lets the finalizer go (S4, D4, D6). */
import { assertEquals } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { release } from "../../src/operator/effects/writes.ts";
import { deleting, inStep, known } from "../statechart/support.ts";
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
