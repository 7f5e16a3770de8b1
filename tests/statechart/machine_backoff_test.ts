/**
 * The machine itself, with stub effects and a clock that stands still: back-off, loops, crashes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createActor } from "xstate";
import { ANNOTATION } from "../../src/api/constants.ts";
import { seededRandom } from "../../src/core/random.ts";
import type { World } from "../../src/statechart/context.ts";
import type { Learned } from "../../src/statechart/learned.ts";
import { databaseMachine, STEPS } from "../../src/statechart/machine.ts";
import { StepError } from "../../src/statechart/step_error.ts";
import { EFFECTS, MUTATING } from "../../src/statechart/vocabulary.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";
import { cr, inStep } from "./support.ts";

import { Bench, LEADS, onBench } from "./bench.ts";

Deno.test("rule 23: an edit ends a back-off at once, a label or a foreign annotation does not", () =>
  onBench(LEADS.create, async (bench) => {
    bench.reports();
    bench.last.reject(new StepError("rejected", "no"));
    await settle();
    assertEquals(bench.at, "Creating.backingOff");
    const before = bench.runs.length;
    bench.changed((o) => ({
      metadata: { ...o.metadata, labels: { a: "b" }, annotations: { foreign: "x" } },
    }));
    await settle();
    assertEquals([bench.at, bench.runs.length], ["Creating.backingOff", before]);
    bench.edited(50);
    await settle();
    assertEquals([bench.at, bench.last.effect], ["Creating.create", "create"]);
  }));

Deno.test("rule 23: a changed reconcile value does too, once", () =>
  onBench(LEADS.create, async (bench) => {
    bench.reports();
    const annotate = (value: string) =>
      bench.changed((o) => ({ metadata: { ...o.metadata, annotations: { [ANNOTATION.reconcile]: value } } }));
    bench.last.reject(new StepError("rejected", "no"));
    await settle();
    annotate("1");
    await settle();
    assertEquals(bench.at, "Creating.create");
    bench.last.reject(new StepError("rejected", "no"));
    await settle();
    assertEquals(bench.at, "Creating.backingOff");
    annotate("1");
    await settle();
    assertEquals(bench.at, "Creating.backingOff");
  }));

Deno.test("rule 23: an edit that comes while the effect runs is tried at once when it fails", () =>
  onBench(LEADS.create, async (bench) => {
    bench.reports();
    bench.edited(50);
    bench.last.reject(new StepError("rejected", "Version 14.2 is not offered"));
    await settle();
    assertEquals([bench.at, bench.runs.filter((r) => r.effect === "create").length], ["Creating.create", 2]);
    bench.last.reject(new StepError("rejected", "still not"));
    await settle();
    assertEquals(bench.at, "Creating.backingOff");
  }));

Deno.test("back-off grows with every failure and is over in its time", () =>
  onBench(LEADS.create, async (bench) => {
    bench.reports();
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      bench.last.reject(new StepError("retryable", "503"));
      await settle();
      const began = bench.clock.monotonic();
      await bench.clock.until(
        "the next try",
        () => bench.last.effect === "create" && bench.at === "Creating.create",
        70_000,
        10,
      );
      waits.push(bench.clock.monotonic() - began);
    }
    for (const [n, wait] of waits.entries()) {
      const bound = Math.min(60_000, 1_000 * 2 ** n);
      // Half to all of the bound, a tenth of jitter, and the step that this test advances by.
      assert(wait >= bound / 2 && wait <= bound * 1.1 + 20, `wait ${n}: ${wait} ms`);
    }
  }));

Deno.test("S5: effects that bring nothing new are not run more than some twenty times a second", () =>
  onBench(cr({ status: inStep({ state: "Creating" }) }), async (bench) => {
    // A provider that answers something else than it was asked for: the observation never fits.
    bench.answer.observe = (run) => run.resolve({});
    bench.reports().last.resolve({});
    await bench.clock.advance(10_000);
    const n = bench.runs.length;
    assert(n >= 20 && n <= 300, `${n} effects in ten seconds`);
    await bench.clock.advance(10_000);
    assert(bench.runs.length <= 2 * n + 40, `${bench.runs.length} effects in twenty seconds`);
  }));

Deno.test("S5: nor two effects in turns", () =>
  onBench(cr({ status: inStep({ state: "Creating" }) }), async (bench) => {
    const absent = (id: string): Learned => ({
      observation: { kind: "absent", id, sentAt: bench.clock.monotonic() },
    });
    // observe and confirm in turns, each forgetting what the other brought
    bench.answer.observe = (run) => run.resolve(absent("db-1"));
    bench.answer.confirm = (run) => run.resolve(absent("db-2"));
    bench.reports().last.resolve(absent("db-1"));
    await bench.clock.advance(10_000);
    const n = bench.runs.length;
    assert(n >= 20 && n <= 300, `${n} effects in ten seconds`);
  }));

Deno.test("F4: a throw in a guard or action stops this actor with an error, and reaches its observer alone", async () => {
  const bench = new Bench(LEADS.observe);
  await settle();
  bench.broken = true;
  bench.last.resolve(bench.present());
  await settle();
  assertEquals(bench.errors.length, 1);
  assert(bench.errors[0] instanceof Error && bench.errors[0].message === "the view is broken");
  assertEquals([bench.actor.getSnapshot().status, bench.clock.pending], ["error", 0]);
});

Deno.test("F4: one that throws before its first decision too", async () => {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const world: World = {
    random: seededRandom(1),
    view: () => {
      throw new Error("broken from the start");
    },
  };
  const actor = createActor(databaseMachine, { input: { object: cr(), world }, clock });
  actor.subscribe({ error: (error) => void errors.push(error) });
  actor.start();
  await settle();
  assertEquals(errors.map(String), ["Error: broken from the start"]);
  assertEquals(clock.pending, 0);
});

Deno.test("F4: an effect that throws what no port throws is a failed effect, not a crash", () =>
  onBench(LEADS.observe, async (bench) => {
    bench.reports();
    bench.last.reject(new TypeError("undefined is not a function"));
    await settle();
    assertEquals([bench.at, bench.errors], ["Creating.backingOff", []]);
    const { synced } = bench.actor.getSnapshot().context.decision;
    assertEquals(synced.reason, "ActorFailed");
  }));

Deno.test("a stopped actor aborts what it had under way", async () => {
  const bench = new Bench(LEADS.create);
  await settle();
  const { signal } = bench.last;
  bench.actor.stop();
  assert(signal.aborted);
  assertEquals(bench.clock.pending, 0);
});

Deno.test("each effect has its state under the tops that may run it, and those that mutate are marked", () => {
  for (const [top, effects] of Object.entries(STEPS)) {
    const node = databaseMachine.states[top as keyof typeof STEPS];
    for (const effect of effects) {
      const state = (node?.states as Record<string, { tags: readonly string[] } | undefined>)[effect];
      assert(state !== undefined, `${top} has no ${effect}`);
      assertEquals(state.tags.includes("mutating"), MUTATING.has(effect), `${top}.${effect}`);
    }
  }
  const all = new Set(Object.values(STEPS).flat());
  assertEquals(all.size, EFFECTS.length, "every effect is run somewhere");
});
