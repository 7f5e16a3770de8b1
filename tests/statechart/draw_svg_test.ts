import { assert, assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import type { AnyStateMachine } from "xstate";
import { createMachine } from "xstate";
import { flatten, toChart } from "../../src/statechart/draw/chart.ts";
import type { Box, Drawing, Place } from "../../src/statechart/draw/layout.ts";
import { layOut } from "../../src/statechart/draw/layout.ts";
import { toScene } from "../../src/statechart/draw/scene.ts";
import { toSvg } from "../../src/statechart/draw/svg.ts";
import { databaseMachine } from "../../src/statechart/machine.ts";
import { sampleMachine } from "./sample_machine.ts";

Deno.test("the drawing names every state, actor, event, guard and delay of the sample", async () => {
  const svg = await toSvg(sampleMachine);
  const chart = toChart(sampleMachine);
  for (const { key } of flatten(chart.root)) assertStringIncludes(svg, `>${key}<`);
  for (const name of [...chart.actors, ...chart.events, ...chart.guards, ...chart.delays]) {
    assertStringIncludes(svg, name);
  }
  assertWellFormed(svg);
});

Deno.test("the machine that runs is drawn whole: every state and every actor", async () => {
  const svg = await toSvg(databaseMachine);
  const chart = toChart(databaseMachine);
  for (const { key } of flatten(chart.root)) assertStringIncludes(svg, `>${key}<`);
  for (const name of [...chart.events, ...chart.guards]) assertStringIncludes(svg, name);
  assertWellFormed(svg);
});

Deno.test("the same machine gives the same bytes", async () => {
  assertEquals(await toSvg(sampleMachine), await toSvg(sampleMachine));
  assertEquals(await toSvg(databaseMachine), await toSvg(databaseMachine));
});

Deno.test("the drawing loads and runs nothing, has a name for readers without eyes, and a dark side", async () => {
  const svg = await toSvg(sampleMachine);
  assertNotMatch(svg, /<script|<foreignObject|<image|href=|url\((?!#)|@import|\son\w+=/i);
  assertMatch(svg, /role="img" aria-labelledby="chart-title chart-desc"/);
  assertStringIncludes(svg, '<title id="chart-title">Statechart externalDatabase</title>');
  assertStringIncludes(svg, "@media (prefers-color-scheme: dark)");
});

Deno.test("boxes lie inside their parents and beside their siblings, arrows reach from box to box", async () => {
  for (const machine of [sampleMachine, databaseMachine]) {
    const drawing = await layOut(toScene(toChart(machine)));
    assertTidy(drawing);
  }
});

Deno.test("names from outside cannot break out of the drawing", async () => {
  const evil = `</text><script>alert("1")</script>&'\u0000\ud800`;
  const svg = await toSvg(createMachine({
    id: "m",
    description: evil,
    initial: "a",
    states: { a: { description: evil, on: { [evil]: evil } }, [evil]: {} },
  }));
  assert(!svg.includes("<script"));
  assertWellFormed(svg);
});

Deno.test("machines of any shape are drawn, well formed and tidy", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(9), fc.nat(9), fc.nat(5)), { maxLength: 25 }),
      async (moves) => {
        const machine = randomMachine(moves);
        assertWellFormed(await toSvg(machine));
        assertTidy(await layOut(toScene(toChart(machine))));
      },
    ),
    { numRuns: 25, seed: 20261129 },
  );
});

/** Three compound states of three states and one final one; each move is a transition between two of the ten. */
function randomMachine(moves: readonly [number, number, number][]): AnyStateMachine {
  type Move = { target: string };
  type State = {
    on: Record<string, Move[]>;
    after: Record<number, Move>;
    always: (Move & { guard: string })[];
  };
  const states: State[] = Array.from({ length: 9 }, () => ({ on: {}, after: {}, always: [] }));
  const path = (index: number) => index === 9 ? "#m.end" : `#m.s${Math.floor(index / 3)}.t${index}`;
  for (const [from, to, kind] of moves) {
    const state = states[from];
    if (!state) continue;
    if (kind === 0) state.after[to + 1] = { target: path(to) };
    else if (kind === 1 && from !== to) state.always.push({ target: path(to), guard: `g${to}` });
    else {(state.on[`E${kind}`] ??= []).push({
        target: kind === 2 && to < 9 ? `#m.s${Math.floor(to / 3)}` : path(to),
      });}
  }
  const compound = (first: number) => ({
    initial: `t${first}`,
    states: Object.fromEntries(states.slice(first, first + 3).map((state, i) => [`t${first + i}`, state])),
  });
  return createMachine({
    id: "m",
    initial: "s0",
    on: moves.length % 2 ? { ROOT: ".s1" } : {},
    states: { s0: compound(0), s1: compound(3), s2: compound(6), end: { type: "final" } },
  });
}

/** Every element is closed in its order; no bare `&`. */
function assertWellFormed(svg: string): void {
  const open: string[] = [];
  const markup = svg.replace(/<style>[\s\S]*?<\/style>/, "");
  for (
    const [, close, name, empty] of markup.matchAll(/<(\/?)([A-Za-z]+)(?:\s[\w:-]+="[^"<]*")*\s*(\/?)>/g)
  ) {
    if (close) assertEquals(open.pop(), name);
    else if (!empty && name) open.push(name);
  }
  assertEquals(open, []);
  assertEquals(markup.match(/<(?!\/?[A-Za-z])/g), null);
  assertEquals(markup.match(/&(?!#\d+;)/g), null);
  // deno-lint-ignore no-control-regex
  assertNotMatch(svg, /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/);
  assertNotMatch(svg, /NaN|undefined|Infinity/);
}

function assertTidy(drawing: Drawing): void {
  const { boxes, arrows, width, height } = drawing;
  const placeOf = new Map(boxes.map((box) => [box.node.id, box]));
  const visit = (level: readonly Box[], within: Place) => {
    for (const box of level) {
      assert(inside(box, within), `${box.node.id} leaves its parent`);
      for (const other of level) {
        if (other !== box) assert(!overlap(box, other), `${box.node.id} overlaps ${other.node.id}`);
      }
      visit(box.node.children.flatMap((child) => placeOf.get(child.id) ?? []), box);
    }
  };
  const nested = new Set(boxes.flatMap((box) => box.node.children.map((child) => child.id)));
  visit(boxes.filter((box) => !nested.has(box.node.id)), { x: 0, y: 0, width, height });
  for (const arrow of arrows) {
    const [source, target] = [placeOf.get(arrow.source), placeOf.get(arrow.target)];
    const [first, last] = [arrow.points[0], arrow.points.at(-1)];
    assert(source && target && first && last, `${arrow.source} → ${arrow.target} is drawn`);
    assert(touches(first, source), `${arrow.source} → ${arrow.target} begins at its source`);
    assert(touches(last, target), `${arrow.source} → ${arrow.target} ends at its target`);
  }
}

function inside(box: Place, within: Place): boolean {
  return box.x >= within.x - 1 && box.y >= within.y - 1 && box.x + box.width <= within.x + within.width + 1 &&
    box.y + box.height <= within.y + within.height + 1;
}

function overlap(a: Place, b: Place): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function touches(point: { x: number; y: number }, box: Place): boolean {
  return point.x >= box.x - 2 && point.x <= box.x + box.width + 2 && point.y >= box.y - 2 &&
    point.y <= box.y + box.height + 2;
}
