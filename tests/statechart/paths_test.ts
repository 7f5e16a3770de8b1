/**
 * Paths through the pure machine, generated: every state and every transition of the definition is reached, with the
 * real decision function and nothing around it. `tests/simulation/paths_test.ts` asks the same of the whole operator.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type ActorScope, createActor, fromPromise, type InspectionEvent, setup } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { ManualClock } from "../support/manual_clock.ts";
import { databaseMachine } from "../../src/statechart/machine.ts";
import { EFFECTS } from "../../src/statechart/vocabulary.ts";
import { eventsAt, serialize, type Snapshot, STARTS, type WalkEvent } from "./paths_model.ts";
import { leavesOf, Taken, transitionsOf } from "./transitions.ts";

/** States of one walk that are gone on from, nearest first: enough for all that there is, a few thousand edges each. */
const EXPANDED = 300;

interface Path {
  readonly start: string;
  readonly state: Snapshot;
  readonly steps: readonly { readonly event: WalkEvent }[];
}

type Scope = ActorScope<Snapshot, never>;

/** The machine, inspected wherever the graph asks it. */
function inspected(inspect: (event: InspectionEvent) => void) {
  const systems = new WeakSet<object>();
  const watched = (scope: Scope): Scope => {
    if (!systems.has(scope.system)) scope.system.inspect(inspect);
    systems.add(scope.system);
    return scope;
  };
  return {
    getInitialSnapshot: (scope: Scope, input: never) =>
      databaseMachine.getInitialSnapshot(watched(scope) as never, input),
    transition: (state: Snapshot, event: never, scope: Scope) =>
      databaseMachine.transition(state, event, watched(scope) as never),
  };
}

const taken = new Taken();
const paths: readonly Path[] = Object.entries(STARTS).flatMap(([start, input]) => {
  let expanded = 0;
  return getShortestPaths(inspected(taken.inspect) as never, {
    input,
    limit: Number.POSITIVE_INFINITY,
    serializeState: serialize,
    serializeEvent: (event: unknown) => JSON.stringify(event),
    events: (state: Snapshot) => expanded++ < EXPANDED ? eventsAt(state) : [],
  } as never).map((path) => ({ start, ...path as unknown as Omit<Path, "start"> }));
});

function leafOf({ _nodes }: Snapshot): string {
  return _nodes.find((n) => Object.keys(n.states).length === 0)?.path.join(".") ?? "";
}

/** The shortest path to each place where an actor can rest or work. */
const shortest = new Map<string, Path>();
for (const path of paths) {
  const leaf = leafOf(path.state);
  if (path.steps.length < (shortest.get(leaf)?.steps.length ?? Number.POSITIVE_INFINITY)) {
    shortest.set(leaf, path);
  }
}

Deno.test("Paths: every state of the machine is reached by a path", () => {
  // `deciding` is left in the same step as it is entered.
  const places = leavesOf(databaseMachine).filter((leaf) => !leaf.endsWith(".deciding"));
  assertEquals(places.filter((leaf) => !shortest.has(leaf)), [], "no path reaches them");
});

Deno.test("Paths: every transition of the machine, each source, event and branch, is taken on some path", () => {
  const all = transitionsOf(databaseMachine);
  assertEquals(all.filter((name) => !taken.transitions.has(name)), [], "no path takes them");
  assertEquals(
    [...taken.transitions.keys()].filter((name) => !all.includes(name)),
    [],
    "not in the definition",
  );
});

Deno.test("Paths: a branch that no guard lets through is told by its name", () => {
  const machine = setup({ guards: { never: () => false } }).createMachine({
    id: "database",
    initial: "a",
    states: {
      a: { on: { go: [{ guard: "never", target: "c" }, { target: "b" }] }, after: { 5: "b" } },
      b: {},
      c: {},
    },
  });
  const { inspect, transitions } = new Taken();
  const actor = createActor(machine, { inspect, clock: new ManualClock() }).start();
  actor.send({ type: "go" });
  actor.stop();
  assertEquals(transitionsOf(machine).filter((name) => !transitions.has(name)), [
    "a on go [never] → c",
    "a on after → b",
  ]);
  assertEquals(leavesOf(machine), ["a", "b", "c"]);
});

for (const [leaf, { start, steps }] of shortest) {
  Deno.test(`Paths: ${leaf} is where a running actor ends up too, ${steps.length - 1} steps after ${start}`, () => {
    const never = fromPromise(() => new Promise(() => {}));
    const actors = Object.fromEntries(EFFECTS.map((effect) => [effect, never]));
    const actor = createActor(databaseMachine.provide({ actors: actors as never }), {
      input: STARTS[start] as never,
      clock: new ManualClock(),
    });
    actor.start();
    // The first step of a path is the start itself.
    for (const { event } of steps.slice(1)) actor.send(event as never);
    assertEquals(leafOf(actor.getSnapshot()), leaf);
    actor.stop();
  });
}
