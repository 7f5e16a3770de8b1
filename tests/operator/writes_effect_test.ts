/** The effects that write to the resource alone: what they write under, and what keeps them from it (S3, S4, D4, D6). */
import { assertEquals, assertNotEquals } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { record, release } from "../../src/operator/effects/writes.ts";
import { plan } from "../../src/statechart/decide.ts";
import { learn } from "../../src/statechart/learn.ts";
import { cr, db, deleting, inStep, known, NOW, tags, view } from "../statechart/support.ts";
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

Deno.test("S3: what the record of one that only observed reads anew is not recorded as its own once it manages", async () => {
  const theirs = db({ id: "db-9", tags: {} });
  const spec = { providerId: "db-9", managementPolicy: "ObserveOnly" as const };
  const watched = known(cr({ meta: { finalizers: [] }, spec }), {
    observation: { kind: "present", database: theirs, sentAt: -40_000, onlyObserved: true },
  });
  // It manages since, and wants a database of its own.
  const own = cr({ meta: { resourceVersion: "102", finalizers: [FINALIZER], generation: 2 } });
  const edited = learn(watched, { object: own, heard: true }, NOW);
  let told = false;
  const { learned, patches } = await run(record, watched, {
    latest: () => told ? edited : watched,
    database: theirs,
    decision: { database: theirs, step: "record" },
    patched: own,
    get then() {
      told = true; // while the database is read anew
      return undefined as never;
    },
  });
  assertEquals([told, patches], [true, []]);
  assertNotEquals(plan(learn(edited, learned, NOW), view()).step, "record");
});

Deno.test("rule 16: a release that was refused and not read since may have landed, as a record may have", async () => {
  const object = deleting({ status: inStep() });
  const failed = async (patched: KubeError) =>
    (await failing(release, known(object), {
      patched,
      read: new KubeError("network", "reset"),
      decision: { cause: "abandon", step: "release" },
    })).learned.releaseAsked;
  assertEquals(await failed(new KubeError("network", "reset")), true);
  assertEquals(await failed(new KubeError("invalid", "the test failed")), true);
});
