/**
 * The statechart for the page: read from the machine that runs, its insides laid out by elkjs.
 *
 * Promises: the same machine gives the same answer; nothing of it comes from a resource or a cloud.
 *
 * @module
 */
import type { AnyStateMachine } from "xstate";
import type { Chart, ChartState, ChartTransition } from "../../statechart/draw/chart.ts";
import { flatten, toChart } from "../../statechart/draw/chart.ts";
import { labelText } from "../../statechart/draw/label.ts";
import type { Arrow, Box, Drawing } from "../../statechart/draw/layout.ts";
import { layOut, MEASURE } from "../../statechart/draw/layout.ts";
import type { SceneNode } from "../../statechart/draw/scene.ts";
import { toScene } from "../../statechart/draw/scene.ts";
import { topOf } from "../../statechart/path.ts";
import type {
  ChartAnswer,
  ChartArrow,
  ChartDrawing,
  ChartGuard,
  ChartMove,
  ChartNode,
  ChartStep,
  ChartTop,
} from "./types.ts";

/** What states, guards and triggers mean, in words; an empty text where nobody said. */
export interface ChartMeanings {
  readonly state: (path: string) => string;
  readonly guard: (guard: string) => string;
  readonly trigger: (trigger: { readonly kind: string; readonly name: string }) => string;
}

/** The chart of `machine`. Rejects when elkjs cannot lay it out. */
export async function chartAnswer(machine: AnyStateMachine, meanings: ChartMeanings): Promise<ChartAnswer> {
  const chart = toChart(machine);
  const drawing = await layOut(toScene(chart));
  return {
    id: chart.id,
    states: chart.root.states.map((state, family) => topState({ chart, drawing, meanings }, state, family)),
    moves: movesOf(chart, meanings),
  };
}

interface Source {
  readonly chart: Chart;
  readonly drawing: Drawing;
  readonly meanings: ChartMeanings;
}

function topState(source: Source, state: ChartState, family: number): ChartTop {
  const { chart } = source;
  const inside = state.states.length === 0 ? undefined : insideOf(source, state.path);
  return {
    path: state.path,
    description: meaningOf(source, state.path),
    family,
    initial: chart.root.initial === state.path,
    final: state.kind === "final",
    steps: state.states.map((step) => stepOf(source, step)),
    ...(inside && { inside }),
  };
}

function stepOf(source: Source, state: ChartState): ChartStep {
  const kind = state.invokes.length > 0 ? "effect" : state.tags.includes("rest") ? "rest" : "choice";
  return {
    path: state.path,
    title: state.key,
    kind,
    mutating: state.tags.includes("mutating"),
    description: meaningOf(source, state.path),
  };
}

/** Transitions from inside one top-level state to another, or to the inside of another. */
function movesOf(chart: Chart, meanings: ChartMeanings): ChartMove[] {
  const moves = new Map<string, ChartMove>();
  for (const each of chart.transitions) {
    const from = topOf(each.source);
    const to = each.target === undefined ? from : topOf(each.target);
    if (from === to || from === "" || to === "") continue;
    const key = `${from}\n${to}`;
    const guards = moves.get(key)?.guards ?? [];
    moves.set(key, { from, to, guards: withGuard(guards, guardOf(each, meanings)) });
  }
  return [...moves.values()];
}

function guardOf(transition: ChartTransition, meanings: ChartMeanings): ChartGuard {
  const { trigger, guard = "", actions } = transition;
  const event = trigger.kind === "event"
    ? trigger.name
    : trigger.name === ""
    ? trigger.kind
    : `${trigger.kind} ${trigger.name}`;
  const meaning = guard === "" ? meanings.trigger(trigger) : meanings.guard(guard);
  return { event, guard, actions, meaning: meaning || (transition.description ?? "") };
}

function withGuard(guards: readonly ChartGuard[], guard: ChartGuard): readonly ChartGuard[] {
  return guards.some((each) => each.event === guard.event && each.guard === guard.guard)
    ? guards
    : [...guards, guard];
}

/** The part of the whole drawing that lies in the box of the state `path`, with its own origin. */
function insideOf(source: Source, path: string): ChartDrawing | undefined {
  const { drawing } = source;
  const outer = drawing.boxes.find((box) => box.node.id === path);
  if (!outer) return undefined;
  const ids = new Set(idsBelow(outer.node));
  const boxes = drawing.boxes.filter((box) => ids.has(box.node.id));
  const arrows = drawing.arrows.filter((arrow) => ids.has(arrow.source) && ids.has(arrow.target));
  const top = Math.min(...boxes.map((box) => box.y)) - MEASURE.pad;
  const shift = { x: outer.x, y: top };
  return {
    width: outer.width,
    height: round(outer.y + outer.height - top),
    nodes: boxes.map((box) => nodeOf(source, path, box, shift)),
    arrows: arrows.map((arrow) => arrowOf(source, boxes, path, arrow, shift)),
  };
}

interface Shift {
  readonly x: number;
  readonly y: number;
}

function nodeOf(source: Source, parent: string, box: Box, shift: Shift): ChartNode {
  const { node } = box;
  const isState = node.kind !== "bundle" && node.kind !== "initial" && node.kind !== "any";
  const path = isState ? node.id : "";
  const x = round(box.x - shift.x);
  const y = round(box.y - shift.y);
  const rows: ChartNode["rows"][number][] = [];
  const texts: ChartNode["texts"][number][] = [];
  let down = node.kind === "bundle" ? 4 : node.kind === "any" ? 15.5 : 36;
  if (node.kind === "any") {
    texts.push({ text: node.title, x: 14, y: down });
    for (const cause of node.causes) {
      down += MEASURE.labelLine;
      texts.push({ text: labelText(cause), x: 14, y: down });
    }
  }
  for (const line of node.lines) {
    if (line.role === "row") {
      const row = `${parent}.${line.text}`;
      rows.push({
        path: row,
        text: line.text,
        y: round(down),
        height: MEASURE.row,
        description: meaningOf(source, row),
      });
      down += MEASURE.row;
    } else {
      texts.push({ text: line.text, x: 14, y: round(node.kind === "bundle" ? down + 15 : down) });
      down += MEASURE.line;
    }
  }
  return {
    path,
    kind: node.kind,
    title: node.title,
    x,
    y,
    width: box.width,
    height: box.height,
    depth: node.depth,
    family: Math.max(0, node.family),
    description: path === "" ? "" : meaningOf(source, path),
    rows,
    texts,
  };
}

function arrowOf(
  source: Source,
  boxes: readonly Box[],
  parent: string,
  arrow: Arrow,
  shift: Shift,
): ChartArrow {
  const { chart, meanings } = source;
  const from = new Set(pathsOf(boxes, arrow.source, parent));
  const to = new Set(pathsOf(boxes, arrow.target, parent));
  let guards: readonly ChartGuard[] = [];
  for (const each of chart.transitions) {
    if (each.target === undefined || !from.has(each.source) || !to.has(each.target)) continue;
    guards = withGuard(guards, guardOf(each, meanings));
  }
  const { label, lines } = arrow;
  return {
    from: [...from].join(" "),
    to: [...to].join(" "),
    kind: arrow.kind,
    points: arrow.points.map(({ x, y }) => [round(x - shift.x), round(y - shift.y)] as const),
    both: arrow.both,
    ...(label && {
      label: {
        x: round(label.x - shift.x + label.width / 2),
        y: round(label.y - shift.y + 12.5),
        lines: lines.map(labelText),
      },
    }),
    guards,
  };
}

/** The states that a box stands for. */
function pathsOf(boxes: readonly Box[], id: string, parent: string): string[] {
  const node = boxes.find((box) => box.node.id === id)?.node;
  if (node?.kind !== "bundle") return [id];
  return node.lines.filter((line) => line.role === "row").map((line) => `${parent}.${line.text}`);
}

/** What a state means: in the words of the meanings, or else in the machine's own. */
function meaningOf({ chart, meanings }: Source, path: string): string {
  return meanings.state(path) ||
    (flatten(chart.root).find((state) => state.path === path)?.description ?? "");
}

function idsBelow(node: SceneNode): string[] {
  return node.children.flatMap((child) => [child.id, ...idsBelow(child)]);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
