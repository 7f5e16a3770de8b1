/**
 * The machine itself, with stub effects and a clock that stands still.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type ActorRefFrom, createActor, fromPromise } from "xstate";
import { ANNOTATION } from "../../src/api/constants.ts";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { seededRandom } from "../../src/core/random.ts";
import type { EffectInput, World } from "../../src/statechart/context.ts";
import type { Learned } from "../../src/statechart/knowledge.ts";
import { type DatabaseMachine, databaseMachine, STEPS } from "../../src/statechart/machine.ts";
import { statusOf, withTimes } from "../../src/statechart/status.ts";
import { StepError } from "../../src/statechart/step_error.ts";
import { type Effect, EFFECTS, MUTATING } from "../../src/statechart/vocabulary.ts";
import type { View } from "../../src/statechart/view.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";
import { cr, db, inStep, view } from "./support.ts";

/** One run of an effect, which the test ends. */
interface Run {
  readonly effect: Effect;
  readonly input: EffectInput;
  readonly signal: AbortSignal;
  readonly resolve: (facts: Learned) => void;
  readonly reject: (error: unknown) => void;
}

/** An actor whose effects do nothing until the test says what came of them. */
class Bench {
  readonly clock = new ManualClock();
  readonly runs: Run[] = [];
  readonly actor: ActorRefFrom<DatabaseMachine>;
  readonly errors: unknown[] = [];
  answer: Partial<Record<Effect, (run: Run) => void>> = {};
  change: Partial<View> = {};
  broken = false;
  #rv = 100;

  constructor(readonly first: ExternalDatabase) {
    const start = this.clock.monotonic();
    const world: World = {
      random: seededRandom(1),
      view: () => {
        if (this.broken) throw new Error("the view is broken");
        const now = this.clock.monotonic();
        return view({
          now,
          wallNow: this.clock.now(),
          settleSince: start - 1e6,
          roundAt: now,
          accountAt: now,
          ...this.change,
        });
      },
    };
    const actors = Object.fromEntries(EFFECTS.map((effect) => [
      effect,
      fromPromise<Learned, EffectInput>(({ input, signal }) =>
        new Promise((resolve, reject) => {
          const run: Run = { effect, input, signal, resolve, reject };
          this.runs.push(run);
          this.answer[effect]?.(run);
        })
      ),
    ]));
    this.actor = createActor(databaseMachine.provide({ actors: actors as never }), {
      input: { object: first, world },
      clock: this.clock,
    });
    this.actor.subscribe({ error: (error) => void this.errors.push(error) });
    this.actor.start();
  }

  /** Where it is, as `Creating.create`. */
  get at(): string {
    const value = this.actor.getSnapshot().value;
    return typeof value === "string" ? value : Object.entries(value).map(([a, b]) => `${a}.${b}`).join();
  }
  get last(): Run {
    const run = this.runs.at(-1);
    assert(run !== undefined, "no effect ran");
    return run;
  }
  get object(): ExternalDatabase {
    return this.actor.getSnapshot().context.knowledge.object;
  }

  /** Tells of a changed CR. */
  changed(change: (o: ExternalDatabase) => Partial<ExternalDatabase>): void {
    const next = { ...this.object, ...change(this.object) };
    const metadata = { ...next.metadata, resourceVersion: String(++this.#rv) };
    this.actor.send({ type: "object.changed", object: { ...next, metadata } });
  }
  deleted(): void {
    this.changed((o) => ({ metadata: { ...o.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  }
  edited(sizeGb: number): void {
    this.changed((o) => ({
      spec: { ...o.spec, sizeGb },
      metadata: { ...o.metadata, generation: o.metadata.generation + 1 },
    }));
  }
  /** Answers reports as an API server does: the status is as it was written. */
  reports(): this {
    this.answer.report = ({ resolve, input }) => {
      const { object } = input.latest();
      const status = statusOf(input.latest(), input.decision);
      const conditions = withTimes(object.status, status.conditions, "2026-01-01T00:00:00Z");
      const metadata = { ...object.metadata, resourceVersion: String(++this.#rv) };
      resolve({
        object: { ...object, metadata, status: { ...status, conditions } },
        reported: { text: JSON.stringify(status), resourceVersion: metadata.resourceVersion },
      });
    };
    return this;
  }
  present(change: Parameters<typeof db>[0] = {}): Learned {
    return { observation: { kind: "present", database: db(change), sentAt: this.clock.monotonic() } };
  }
}

async function onBench(object: ExternalDatabase, body: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench(object);
  try {
    await settle();
    await body(bench);
  } finally {
    bench.actor.stop();
    assertEquals(bench.clock.pending, 0, "a stopped actor leaves no timer");
  }
}

/** For each effect a CR that leads to it at once, or what is to be told first. */
const LEADS: Readonly<
  Record<
    Exclude<Effect, "report" | "record" | "confirm" | "discard" | "reincarnate" | "lookup" | "release">,
    ExternalDatabase
  >
> = {
  finalize: cr({ meta: { finalizers: [] } }),
  adopt: cr({ spec: { providerId: "db-9" } }),
  create: cr(),
  observe: cr({ status: inStep({ state: "Creating" }) }),
  modify: cr({ status: inStep(), meta: { generation: 2 }, spec: { sizeGb: 50 } }),
  remove: cr({ status: inStep(), meta: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
  retain: cr({
    status: inStep(),
    meta: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: { deletionPolicy: "Retain" },
  }),
};

/** Brings a bench to where `effect` runs. */
async function lead(bench: Bench, effect: Effect): Promise<Run> {
  if (effect === "modify") {
    bench.last.resolve(bench.present());
    await settle();
  }
  assertEquals(bench.last.effect, effect, bench.at);
  return bench.last;
}

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

Deno.test("rule 14: a read is not left for anything less than a deletion", () =>
  onBench(LEADS.observe, async (bench) => {
    const read = await lead(bench, "observe");
    bench.edited(50);
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
