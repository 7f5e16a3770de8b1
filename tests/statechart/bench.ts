/**
 * The machine with stub effects, a clock that stands still, and a world that the test makes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type ActorRefFrom, createActor, fromPromise } from "xstate";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { seededRandom } from "../../src/core/random.ts";
import type { EffectInput, World } from "../../src/statechart/context.ts";
import type { Learned } from "../../src/statechart/learned.ts";
import { type DatabaseMachine, databaseMachine } from "../../src/statechart/machine.ts";
import { statusChange, statusOf, withTimes } from "../../src/statechart/status.ts";
import { type Effect, EFFECTS } from "../../src/statechart/vocabulary.ts";
import type { View } from "../../src/statechart/view.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";
import { cr, db, inStep, view } from "./support.ts";

/** One run of an effect, which the test ends. */
export interface Run {
  readonly effect: Effect;
  readonly input: EffectInput;
  readonly signal: AbortSignal;
  readonly resolve: (facts: Learned) => void;
  readonly reject: (error: unknown) => void;
}

/** An actor whose effects do nothing until the test says what came of them. */
export class Bench {
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
          accountWords: Array.from({ length: 600 }, (_, i) => now - 1_000 * (599 - i)),
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
        reported: { text: statusChange(object.status, status), resourceVersion: metadata.resourceVersion },
      });
    };
    return this;
  }
  present(change: Parameters<typeof db>[0] = {}): Learned {
    return { observation: { kind: "present", database: db(change), sentAt: this.clock.monotonic() } };
  }
}

/** Runs `body` on a bench and ends it. */
export async function onBench(
  object: ExternalDatabase,
  body: (bench: Bench) => Promise<void>,
): Promise<void> {
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
export const LEADS: Readonly<
  Record<
    Exclude<
      Effect,
      | "bind"
      | "setPassword"
      | "report"
      | "record"
      | "confirm"
      | "discard"
      | "reincarnate"
      | "lookup"
      | "release"
    >,
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
export async function lead(bench: Bench, effect: Effect): Promise<Run> {
  if (effect === "modify") {
    bench.last.resolve(bench.present());
    await settle();
  }
  if (effect === "adopt") {
    bench.last.resolve({ lookup: { found: [], sentAt: bench.clock.monotonic() } });
    await settle();
  }
  assertEquals(bench.last.effect, effect, bench.at);
  return bench.last;
}
