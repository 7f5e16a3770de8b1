/**
 * Where everything of a drawing goes: the scene as a nested graph, laid out in layers by elkjs.
 *
 * @module
 */
import ELK from "elkjs";
import type { ELK as ElkEngine, ElkEdgeSection, ElkExtendedEdge, ElkNode, LayoutOptions } from "elkjs";
import { labelText } from "./label.ts";
import type { BoxLine, Scene, SceneArrow, SceneNode } from "./scene.ts";
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
export const MEASURE = { pad: 18, line: 15, row: 21, labelLine: 14, dot: 10 } as const;

/** Where something is. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A placed box. */
export interface Box extends Place {
  readonly node: SceneNode;
}

/** A placed arrow. */
export interface Arrow extends SceneArrow {
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly label?: Place;
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

/** Places everything of `scene`. Rejects when elkjs can do it neither in the handsome way nor in its plainest. */
export async function layOut(scene: Scene): Promise<Drawing> {
  let placed: ElkNode;
  try {
    placed = await place(scene, FLOW);
  } catch {
    // elkjs 0.12 throws a TypeError of its own for some graphs under some of these options; its defaults hold.
    placed = await place(scene, { "elk.direction": "DOWN" });
  }
  const boxes: Box[] = [];
  collectBoxes(scene.nodes, placed.children ?? [], boxes);
  return {
    width: Math.ceil(placed.width ?? 0),
    height: Math.ceil(placed.height ?? 0),
    boxes,
    arrows: scene.arrows.map((arrow, index) => placeArrow(arrow, placed.edges?.[index])),
  };
}

async function place(scene: Scene, flow: LayoutOptions): Promise<ElkNode> {
  return await new Elk().layout({
    id: "machine",
    layoutOptions: { ...OPTIONS, ...flow },
    children: scene.nodes.map((node) => toElkNode(node, flow)),
    edges: scene.arrows.map(toElkEdge),
  });
}

function toElkNode(node: SceneNode, flow: LayoutOptions): ElkNode {
  switch (node.kind) {
    case "initial":
      return { id: node.id, width: MEASURE.dot, height: MEASURE.dot };
    case "any": {
      const widths = [node.title, ...node.causes.map(labelText)].map((line) => textWidth(line, FONT.label));
      const height = 10 + (1 + node.causes.length) * MEASURE.labelLine;
      return { id: node.id, width: Math.ceil(Math.max(...widths)) + 28, height };
    }
    case "bundle": {
      const rows = node.lines.filter((line) => line.role === "row").length;
      const others = node.lines.length - rows;
      const height = 8 + rows * MEASURE.row + (others > 0 ? 6 + others * MEASURE.line : 0);
      return { id: node.id, width: boxWidth(node), height };
    }
    case "compound": {
      const top = 34 + node.lines.length * MEASURE.line + MEASURE.pad;
      const { pad } = MEASURE;
      return {
        id: node.id,
        layoutOptions: {
          ...flow,
          "elk.padding": `[top=${top},left=${pad},bottom=${pad},right=${pad}]`,
          "elk.nodeSize.constraints": "[MINIMUM_SIZE]",
          "elk.nodeSize.minimum": `(${boxWidth(node)}, ${top})`,
        },
        children: node.children.map((child) => toElkNode(child, flow)),
      };
    }
    default:
      return { id: node.id, width: boxWidth(node), height: 30 + node.lines.length * MEASURE.line };
  }
}

function boxWidth(node: SceneNode): number {
  const title = textWidth(node.title, node.depth === 1 ? FONT.title : FONT.key) + 28 +
    (node.invokesTitle ? 12 : 0);
  return Math.ceil(Math.max(72, title, ...node.lines.map((line) => lineWidth(line, node))));
}

function lineWidth(line: BoxLine, node: SceneNode): number {
  const note = line.note === undefined ? 0 : textWidth(line.note, FONT.label) + 14;
  switch (line.role) {
    case "row":
      return textWidth(line.text, FONT.key) + note + 28 + (node.invokesTitle ? 12 : 0);
    case "actor":
      return textWidth(line.text, FONT.actor) + 40;
    default:
      return textWidth(line.text, FONT.body) + (node.kind === "compound" ? 44 : 28);
  }
}

function toElkEdge(arrow: SceneArrow, index: number): ElkExtendedEdge {
  const edge: ElkExtendedEdge = { id: `edge-${index}`, sources: [arrow.source], targets: [arrow.target] };
  if (arrow.lines.length === 0 || arrow.source.startsWith("\u0001any ")) return edge; // a pill says it itself
  const widths = arrow.lines.map((line) => textWidth(labelText(line), FONT.label));
  edge.labels = [{
    text: "label",
    width: Math.ceil(Math.max(...widths)) + 10,
    height: arrow.lines.length * MEASURE.labelLine + 4,
    layoutOptions: { "elk.edgeLabels.inline": "true", "elk.edgeLabels.placement": "CENTER" },
  }];
  return edge;
}

function placeArrow(arrow: SceneArrow, edge: ElkExtendedEdge | undefined): Arrow {
  const points = (edge?.sections ?? []).flatMap((section: ElkEdgeSection) => [
    section.startPoint,
    ...section.bendPoints ?? [],
    section.endPoint,
  ]).map(({ x, y }) => ({ x: round(x), y: round(y) }));
  const label = edge?.labels?.[0];
  return { ...arrow, points, ...(label && { label: placeOf(label) }) };
}

function collectBoxes(nodes: readonly SceneNode[], placed: readonly ElkNode[], boxes: Box[]): void {
  nodes.forEach((node, index) => {
    const at = placed[index];
    if (!at) return;
    boxes.push({ node, ...placeOf(at) });
    collectBoxes(node.children, at.children ?? [], boxes);
  });
}

function placeOf(shape: { x?: number; y?: number; width?: number; height?: number }): Place {
  const { x = 0, y = 0, width = 0, height = 0 } = shape;
  return { x: round(x), y: round(y), width: round(width), height: round(height) };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
