/**
 * Where everything of a drawing goes: the chart as a nested graph, laid out in layers by elkjs.
 *
 * Transitions between the same two states share one arrow with a line each. A transition of a compound state into
 * its own inside starts at a pill that reads "any state" and says when, since an arrow from a box to its own inside
 * cannot be read. Transitions that only act are lines inside their state's box.
 *
 * @module
 */
import ELK from "elkjs";
import type { ELK as ElkEngine, ElkEdgeSection, ElkExtendedEdge, ElkNode } from "elkjs";
import type { Chart, ChartState, ChartTransition, TriggerKind } from "./chart.ts";
import { textWidth } from "./text.ts";

/** Fonts of a drawing. */
export const FONT = {
  title: { size: 14, bold: true },
  key: { size: 12, bold: true },
  body: { size: 11 },
  actor: { size: 10.5, mono: true },
  label: { size: 10.5 },
} as const;

/** Measures of a drawing in pixels. */
export const MEASURE = { header: 46, pad: 18, line: 15, labelLine: 14, dot: 10 } as const;

/** One line of text in a box. */
export interface BoxLine {
  readonly role: "actor" | "action" | "body";
  readonly text: string;
}

/** A placed box. */
export interface Box {
  readonly kind: "state" | "compound" | "final" | "initial" | "any";
  /** Path of the state; for `initial` and `any` that of the state they lead to. */
  readonly path: string;
  readonly title: string;
  readonly lines: readonly BoxLine[];
  /** What a pill stands for; empty for states. */
  readonly causes: readonly LabelLine[];
  /** Levels below the machine: 1 for a top-level state. */
  readonly depth: number;
  /** Number of its top-level state. */
  readonly family: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** One line of an arrow's label: triggers that share a guard, or have none. */
export interface LabelLine {
  readonly causes: readonly { readonly kind: TriggerKind; readonly text: string }[];
  /** In brackets, or empty. */
  readonly guard: string;
}

/** What stands between the causes of one line. */
export const SEPARATOR = " · ";

/** A placed arrow. */
export interface Arrow {
  readonly kind: TriggerKind | "initial";
  readonly source: string;
  readonly target: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly label?: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  };
  readonly lines: readonly LabelLine[];
}

/** A whole drawing without its style. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Outer boxes before the inner ones. */
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

/** How one level is laid out; every compound state needs its own copy. */
const FLOW = {
  "elk.direction": "DOWN",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "16",
  "elk.spacing.edgeEdge": "12",
  "elk.spacing.edgeLabel": "4",
  "elk.layered.spacing.nodeNodeBetweenLayers": "22",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.layered.cycleBreaking.strategy": "DEPTH_FIRST",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.nodePlacement.favorStraightEdges": "true",
  "elk.layered.thoroughness": "40",
} as const;

const OPTIONS = {
  ...FLOW,
  "elk.algorithm": "layered",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.json.edgeCoords": "ROOT",
  "elk.json.shapeCoords": "ROOT",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.randomSeed": "1",
  "elk.padding": "[top=8,left=8,bottom=8,right=8]",
} as const;

/** The package's types describe its module, not the class that its default export is. */
const Elk = ELK as unknown as new () => ElkEngine;

type BoxSeed = Omit<Box, "x" | "y" | "width" | "height">;
type ArrowSeed = Pick<Arrow, "kind" | "source" | "target"> & { lines: LabelLine[] };

/** Places everything of `chart`. Rejects when elkjs does. */
export async function layOut(chart: Chart): Promise<Drawing> {
  const seeds = new Map<string, BoxSeed>();
  const arrows = collectArrows(chart);
  const graph: ElkNode = {
    id: "machine",
    layoutOptions: OPTIONS,
    children: childNodes(chart, chart.root, 1, seeds, arrows),
    edges: arrows.map(toElkEdge),
  };
  const placed = await new Elk().layout(graph);
  const boxes: Box[] = [];
  collectBoxes(placed.children ?? [], seeds, boxes);
  return {
    width: Math.ceil(placed.width ?? 0),
    height: Math.ceil(placed.height ?? 0),
    boxes,
    arrows: arrows.map((arrow, index) => placeArrow(arrow, placed.edges?.[index])),
  };
}

/** Transitions by source and target; what enters its own source's inside starts at the "any" pill. */
function collectArrows(chart: Chart): ArrowSeed[] {
  const arrows = new Map<string, ArrowSeed>();
  for (const each of chart.transitions) {
    if (each.target === undefined) continue;
    const source = isInside(each.target, each.source) ? anyId(each.source, each.target) : each.source;
    const key = `${source}\n${each.target}`;
    const arrow = arrows.get(key) ?? { kind: each.trigger.kind, source, target: each.target, lines: [] };
    arrows.set(key, arrow);
    addLine(arrow.lines, each);
    if (PRECEDENCE.indexOf(each.trigger.kind) < PRECEDENCE.indexOf(arrow.kind as TriggerKind)) {
      arrows.set(key, { ...arrow, kind: each.trigger.kind });
    }
  }
  return [...arrows.values()];
}

/** An arrow that stands for several kinds takes the colour of the first of these. */
const PRECEDENCE: readonly TriggerKind[] = ["done", "event", "always", "after", "error", "snapshot"];
/** Triggers share a line up to this many characters. */
const LINE_CHARS = 26;

function addLine(lines: LabelLine[], { trigger, guard }: ChartTransition): void {
  const text = trigger.kind === "event"
    ? trigger.name
    : trigger.kind === "after"
    ? `after ${trigger.name}`
    : trigger.kind;
  const cause = { kind: trigger.kind, text };
  const brackets = guard === undefined ? "" : `[${guard}]`;
  const index = lines.findIndex((line) =>
    line.guard === brackets && causesText(line).length + SEPARATOR.length + text.length <= LINE_CHARS
  );
  const line = lines[index];
  if (line) lines[index] = { ...line, causes: [...line.causes, cause] };
  // "always" with a guard is that guard: UML's notation.
  else {lines.push({
      causes: trigger.kind === "always" && guard !== undefined ? [] : [cause],
      guard: brackets,
    });}
}

function causesText(line: LabelLine): string {
  return line.causes.map((cause) => cause.text).join(SEPARATOR);
}

function childNodes(
  chart: Chart,
  parent: ChartState,
  depth: number,
  seeds: Map<string, BoxSeed>,
  arrows: ArrowSeed[],
  family?: number,
): ElkNode[] {
  const nodes: ElkNode[] = [];
  const small = (kind: "initial" | "any", id: string, path: string, width: number, height: number) => {
    const causes = arrows.find((arrow) => arrow.source === id)?.lines ?? [];
    const title = kind === "any" ? anyTitle(parent) : "";
    seeds.set(id, { kind, path, title, lines: [], causes, depth, family: family ?? -1 });
    nodes.push({ id, width, height });
  };
  if (parent.initial !== undefined) {
    small("initial", initialId(parent.path), parent.initial, MEASURE.dot, MEASURE.dot);
    arrows.push({ kind: "initial", source: initialId(parent.path), target: parent.initial, lines: [] });
  }
  for (const arrow of arrows) {
    if (arrow.source !== anyId(parent.path, arrow.target)) continue;
    const widths = [anyTitle(parent), ...arrow.lines.map(labelText)].map((line) =>
      textWidth(line, FONT.label)
    );
    small(
      "any",
      arrow.source,
      arrow.target,
      Math.ceil(Math.max(...widths)) + 28,
      10 + (1 + arrow.lines.length) * MEASURE.labelLine,
    );
  }
  parent.states.forEach((state, index) => {
    const own = family ?? index;
    const lines = boxLines(chart, state, depth);
    const kind = state.kind === "final" ? "final" : state.states.length > 0 ? "compound" : "state";
    seeds.set(state.path, {
      kind,
      path: state.path,
      title: state.key,
      lines,
      causes: [],
      depth,
      family: own,
    });
    const width = boxWidth(state.key, lines, depth);
    if (kind === "compound") {
      const top = 34 + lines.length * MEASURE.line + MEASURE.pad;
      nodes.push({
        id: state.path,
        layoutOptions: {
          ...FLOW,
          "elk.padding": `[top=${top},left=${MEASURE.pad},bottom=${MEASURE.pad},right=${MEASURE.pad}]`,
          "elk.nodeSize.constraints": "[MINIMUM_SIZE]",
          "elk.nodeSize.minimum": `(${width}, ${top})`,
        },
        children: childNodes(chart, state, depth + 1, seeds, arrows, own),
      });
    } else {
      nodes.push({ id: state.path, width, height: 30 + lines.length * MEASURE.line });
    }
  });
  return nodes;
}

/** What is written in a state's box below its name. */
function boxLines(chart: Chart, state: ChartState, depth: number): BoxLine[] {
  const lines: BoxLine[] = [];
  if (state.description && (depth === 1 || state.states.length > 0)) {
    lines.push({ role: "body", text: state.description });
  }
  for (const actor of state.invokes) lines.push({ role: "actor", text: actor });
  for (const action of state.entry) lines.push({ role: "action", text: `entry / ${action}` });
  for (const action of state.exit) lines.push({ role: "action", text: `exit / ${action}` });
  for (const each of chart.transitions) {
    if (each.source !== state.path || each.target !== undefined) continue;
    const guard = each.guard === undefined ? "" : ` [${each.guard}]`;
    const actions = each.actions.length === 0 ? "" : ` / ${each.actions.join(", ")}`;
    const cause = each.trigger.kind === "event"
      ? each.trigger.name
      : `${each.trigger.kind} ${each.trigger.name}`.trim();
    lines.push({ role: "action", text: `${cause}${guard}${actions}` });
  }
  return lines;
}

function boxWidth(title: string, lines: readonly BoxLine[], depth: number): number {
  const titleWidth = textWidth(title, depth === 1 ? FONT.title : FONT.key) + 28;
  const widths = lines.map((line) =>
    textWidth(line.text, line.role === "actor" ? FONT.actor : FONT.body) + (line.role === "actor" ? 40 : 28)
  );
  return Math.ceil(Math.max(72, titleWidth, ...widths));
}

function toElkEdge(arrow: ArrowSeed, index: number): ElkExtendedEdge {
  const edge: ElkExtendedEdge = { id: `edge-${index}`, sources: [arrow.source], targets: [arrow.target] };
  if (arrow.lines.length === 0 || isPill(arrow.source)) return edge; // a pill says it itself
  const widths = arrow.lines.map((line) => textWidth(labelText(line), FONT.label));
  edge.labels = [{
    text: "label",
    width: Math.ceil(Math.max(...widths)) + 10,
    height: arrow.lines.length * MEASURE.labelLine + 4,
    layoutOptions: { "elk.edgeLabels.inline": "true", "elk.edgeLabels.placement": "CENTER" },
  }];
  return edge;
}

/** The text of a label's line as it is measured and read. */
export function labelText(line: LabelLine): string {
  return [causesText(line), line.guard].filter((part) => part !== "").join(" ");
}

function placeArrow(arrow: ArrowSeed, edge: ElkExtendedEdge | undefined): Arrow {
  const points = (edge?.sections ?? []).flatMap((section: ElkEdgeSection) => [
    section.startPoint,
    ...section.bendPoints ?? [],
    section.endPoint,
  ]).map(({ x, y }) => ({ x: round(x), y: round(y) }));
  const label = edge?.labels?.[0];
  return {
    ...arrow,
    points,
    ...(label && {
      label: {
        x: round(label.x ?? 0),
        y: round(label.y ?? 0),
        width: round(label.width ?? 0),
        height: round(label.height ?? 0),
      },
    }),
  };
}

function collectBoxes(nodes: readonly ElkNode[], seeds: ReadonlyMap<string, BoxSeed>, boxes: Box[]): void {
  for (const node of nodes) {
    const seed = seeds.get(node.id);
    if (seed) {
      boxes.push({
        ...seed,
        x: round(node.x ?? 0),
        y: round(node.y ?? 0),
        width: round(node.width ?? 0),
        height: round(node.height ?? 0),
      });
    }
    collectBoxes(node.children ?? [], seeds, boxes);
  }
}

function isInside(path: string, of: string): boolean {
  return of === "" || path.startsWith(`${of}.`);
}

function anyTitle(state: ChartState): string {
  return state.path === "" ? "any state" : `anywhere in ${state.key}`;
}

// "\u0001" cannot be typed into a state's key by accident.
function anyId(path: string, target: string): string {
  return `\u0001any ${path} ${target}`;
}

function isPill(id: string): boolean {
  return id.startsWith("\u0001any ");
}

function initialId(path: string): string {
  return `\u0001initial ${path}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
