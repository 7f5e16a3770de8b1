import { assert, assertEquals } from "@std/assert";
import { flatten, toChart } from "../../src/statechart/draw/chart.ts";
import { databaseMachine } from "../../src/statechart/machine.ts";
import {
  ACTION_MEANINGS,
  DELAY_MEANINGS,
  EFFECT_MEANINGS,
  EVENT_MEANINGS,
  GUARD_MEANINGS,
  guardMeaning,
  stateMeaning,
  TAG_MEANINGS,
  triggerMeaning,
} from "../../src/statechart/meanings.ts";

const chart = toChart(databaseMachine);
const states = flatten(chart.root).filter((state) => state.path !== "");

Deno.test("what the machine is made of is what has a meaning, no more and no less", () => {
  const names = (table: Readonly<Record<string, string>>) => Object.keys(table).toSorted();
  assertEquals(names(EVENT_MEANINGS), chart.events);
  assertEquals(names(GUARD_MEANINGS), chart.guards);
  assertEquals(names(ACTION_MEANINGS), chart.actions);
  assertEquals(names(DELAY_MEANINGS), chart.delays);
  assertEquals(names(EFFECT_MEANINGS), chart.actors);
  assertEquals(names(TAG_MEANINGS), [...new Set(states.flatMap((state) => state.tags))].toSorted());
});

Deno.test("every state of the machine says what it means, and the export says the same", () => {
  for (const { path, description } of states) {
    assert(stateMeaning(path) !== "", path);
    assertEquals(description, stateMeaning(path), path);
  }
  assertEquals(
    [stateMeaning(""), stateMeaning("Nowhere"), stateMeaning("Drifted.constructor")],
    ["", "", ""],
  );
});

Deno.test("every transition of the machine tells its cause and its guard, with what the guard asks for", () => {
  for (const { trigger, guard, source } of chart.transitions) {
    assert(triggerMeaning(trigger) !== "", `${source}: ${trigger.kind} ${trigger.name}`);
    if (guard === undefined) continue;
    const parameter = /\((.*)\)/.exec(guard)?.[1];
    const meaning = guardMeaning(guard);
    assert(meaning !== "", guard);
    assert(parameter === undefined || meaning.includes(`. ${parameter}: `), `${guard}: ${meaning}`);
  }
  assertEquals(guardMeaning("nobody(knows)"), "");
});
