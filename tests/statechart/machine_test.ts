/**
 * The machine itself, with stub effects and a clock that stands still: what a deletion does to it (rule 14).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { StepError } from "../../src/statechart/step_error.ts";
import { settle } from "../support/manual_clock.ts";
import { cr } from "./support.ts";

import { lead, LEADS, onBench } from "./bench.ts";

for (const effect of ["adopt", "create", "modify"] as const) {
  Deno.test(`rule 14: ${effect} is neither aborted nor left when a deletion comes; its answer is taken in first`, () =>
    onBench(LEADS[effect], async (bench) => {
      bench.reports();
      const run = await lead(bench, effect);
      const at = bench.at;
      bench.deleted();
      await bench.clock.advance(60_000);
      assertEquals([bench.at, run.signal.aborted], [at, false]);
      assert(run.input.latest().object.metadata.deletionTimestamp !== undefined, "the effect can see it");
      assertEquals(bench.runs.filter((r) => r.effect !== "report").at(-1), run, "nothing else was started");
      run.resolve({ ...bench.present(), create: { outcome: "answered", at: bench.clock.monotonic() } });
      await settle();
      assert(bench.at.startsWith("Deleting."), bench.at);
    }));
}

Deno.test("rule 14: a create that fails of unknown outcome after the deletion came is looked for, not forgotten", () =>
  onBench(LEADS.create, async (bench) => {
    bench.reports();
    const run = bench.last;
    bench.deleted();
    run.reject(
      new StepError("unknown", "the connection broke", {
        learned: { create: { outcome: "unknown", at: bench.clock.monotonic() } },
      }),
    );
    await settle();
    assertEquals(bench.at, "Deleting.lookup");
  }));

Deno.test("rule 14: a read is left at once for a deletion, its signal aborts, and its late answer is dropped", () =>
  onBench(LEADS.observe, async (bench) => {
    const read = await lead(bench, "observe");
    bench.deleted();
    await settle();
    assert(read.signal.aborted);
    assertEquals(bench.at, "Deleting.confirm");
    const knowledge = bench.actor.getSnapshot().context.knowledge;
    read.resolve({ observation: { kind: "absent", id: "db-1", sentAt: bench.clock.monotonic() } });
    await settle();
    assertEquals(bench.actor.getSnapshot().context.knowledge, knowledge);
  }));

Deno.test("L3: a read that waits in the lane of before is left for an edit, once", () =>
  onBench(LEADS.observe, async (bench) => {
    const read = await lead(bench, "observe");
    bench.edited(50);
    await settle();
    assertEquals([bench.at, read.signal.aborted, bench.runs.length], ["Creating.observe", true, 2]);
    const again = bench.last;
    bench.edited(60);
    await settle();
    assertEquals([again.signal.aborted, bench.runs.length], [false, 2]);
  }));

Deno.test("rule 14: a read is not left for anything less than a deletion or an edit", () =>
  onBench(LEADS.observe, async (bench) => {
    const read = await lead(bench, "observe");
    bench.actor.send({ type: "external.unlisted", sentAt: bench.clock.monotonic() });
    bench.actor.send({ type: "world.changed" });
    await settle();
    assertEquals([bench.at, read.signal.aborted, bench.runs.length], ["Creating.observe", false, 1]);
  }));

Deno.test("rule 14: a deletion that is known already does not interrupt its own reads", () =>
  onBench(cr({ meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } }), async (bench) => {
    const read = await lead(bench, "lookup");
    bench.changed((o) => ({ metadata: { ...o.metadata, labels: { a: "b" } } }));
    await settle();
    assertEquals([bench.at, read.signal.aborted], ["Deleting.lookup", false]);
  }));

Deno.test("rule 14: a deletion ends a back-off of any length at once", () =>
  onBench(LEADS.create, async (bench) => {
    bench.reports();
    bench.last.reject(
      new StepError("rejected", "no", { learned: { create: { outcome: "refused", at: 1 } } }),
    );
    await settle();
    assertEquals(bench.at, "Creating.backingOff");
    bench.deleted();
    await settle();
    assertEquals(bench.at, "Deleting.lookup");
  }));
