import { assert, assertEquals } from "@std/assert";
import { and, createMachine, not, or, setup } from "xstate";
import { flatten, toChart } from "../../src/statechart/draw/chart.ts";
import { toJson } from "../../src/statechart/draw/json.ts";
import { sampleMachine } from "./sample_machine.ts";

Deno.test("the chart names everything that the machine is made of", () => {
  const chart = toChart(sampleMachine);
  assertEquals(chart.root.states.map((state) => state.key), [
    "Pending",
    "Creating",
    "Available",
    "Drifted",
    "Deleting",
    "Finalized",
  ]);
  assertEquals(chart.events, ["DELETE", "POLL", "REFRESH", "SEEN"]);
  assertEquals(chart.delays, ["5000 ms", "backoff", "poll", "settle"]);
  assertEquals(chart.actors, [
    "create",
    "finalize",
    "lookup",
    "modify",
    "observe",
    "record",
    "release",
    "remove",
    "report",
  ]);
  assertEquals(chart.actions, ["count", "reset"]);
  assertEquals(chart.guards, [
    "drifted",
    "exists",
    "gone",
    "isNew",
    "paused",
    "ready",
    "repairable",
    "retains",
    "settled",
  ]);
  assertEquals(chart.root.states[5]?.kind, "final");
  assertEquals(flatten(chart.root).length, 28);
});

Deno.test("each kind of transition is told by its cause, not by XState's name for it", () => {
  const chart = toChart(sampleMachine);
  const of = (source: string) =>
    chart.transitions.filter((each) => each.source === source).map((each) =>
      [each.trigger.kind, each.trigger.name, each.guard ?? "", each.target ?? ""].join("|")
    );
  assertEquals(of("Pending.looking"), [
    "done|lookup|exists && ready|Available",
    "done|lookup|exists|Creating",
    "done|lookup|settled|Creating.sending",
    "done|lookup||Pending.settling",
    "error|lookup||Pending.waiting",
  ]);
  assertEquals(of("Available.idle"), [
    "always||drifted|Drifted",
    "event|POLL||Available.looking",
    "event|REFRESH||Available.looking",
    "after|poll||Available.looking",
  ]);
  assertEquals(of(""), ["event|DELETE|!paused|Deleting", "event|SEEN||"]);
  assertEquals(of("Drifted.awaiting"), ["after|5000 ms||Drifted.checking"]);
});

Deno.test("combined guards, parameters, inline parts, wildcards, dots in names and parallel states are read", () => {
  const machine = setup({
    guards: { a: () => true, b: () => true, is: (_, _params: { state: string; deep?: object }) => true },
    delays: { "a.b": 1 },
  }).createMachine({
    id: "mx",
    type: "parallel",
    states: {
      left: {
        initial: "one",
        states: {
          one: {
            on: {
              "*": { target: "two", guard: and(["a", or(["b", not("a")])]) },
              "x.y": { target: "two", guard: { type: "is", params: { state: "two", deep: {} } } },
            },
            after: { "a.b": "two" },
          },
          two: { type: "final" },
        },
        onDone: { actions: () => {} },
      },
      right: { on: { E: { target: "#mx.left", guard: () => true } } },
    },
  });
  const chart = toChart(machine);
  assertEquals(
    chart.transitions.map((each) => [each.trigger.kind, each.trigger.name, each.guard, each.target]),
    [
      ["done", "", undefined, undefined],
      ["event", "any event", "a && (b || !a)", "left.two"],
      ["event", "x.y", "is(two)", "left.two"],
      ["after", "a.b", undefined, "left.two"],
      ["event", "E", "inline", "left"],
    ],
  );
  assertEquals(chart.guards, ["a", "b", "inline", "is"]);
});

Deno.test("the JSON export is stable, complete and the same for the same machine", () => {
  const text = toJson(sampleMachine);
  assertEquals(text, toJson(sampleMachine));
  const chart = JSON.parse(text);
  assertEquals(Object.keys(chart), [
    "format",
    "id",
    "description",
    "root",
    "transitions",
    "events",
    "guards",
    "actors",
    "actions",
    "delays",
  ]);
  assertEquals(chart.format, 1);
  assert(
    chart.transitions.every((each: { source?: unknown; trigger?: unknown }) =>
      typeof each.source === "string" && typeof each.trigger === "object"
    ),
  );
});

Deno.test("a machine without any state is a chart without any state", () => {
  const chart = toChart(createMachine({ id: "empty" }));
  assertEquals([chart.root.kind, chart.root.states, chart.transitions], ["atomic", [], []]);
});
