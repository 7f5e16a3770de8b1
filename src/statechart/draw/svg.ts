/**
 * The statechart as an SVG: the picture of the machine that runs.
 *
 * The same machine gives the same bytes. Every name is escaped; there is no script and nothing is loaded. A reader
 * without eyes gets the title, the description and each state's own `<title>`.
 *
 * @module
 */
import type { AnyStateMachine } from "xstate";
import type { Chart, TriggerKind } from "./chart.ts";
import { flatten, toChart } from "./chart.ts";
import type { LabelLine } from "./label.ts";
import type { Arrow, Box } from "./layout.ts";
import { FONT, layOut, MEASURE } from "./layout.ts";
import type { BoxLine, SceneNode } from "./scene.ts";
import { toScene } from "./scene.ts";
import { FAMILIES, KINDS, styleSheet } from "./style.ts";
import { escapeXml, textWidth } from "./text.ts";

/** Space around the drawing, for its heading and for its legend, in pixels. */
const MARGIN = 24;
const HEADING = 52;
const LEGEND = 44;
/** Radius of an arrow's bends. */
const BEND = 7;

/** `machine` as a self-contained SVG document. */
export async function toSvg(machine: AnyStateMachine): Promise<string> {
  const chart = toChart(machine);
  const drawing = await layOut(toScene(chart));
  const width = Math.max(drawing.width, 720) + 2 * MARGIN;
  const height = drawing.height + 2 * MARGIN + HEADING + LEGEND;
  const shift = (width - drawing.width) / 2;
  const frames = drawing.boxes.filter((box) => box.node.kind === "compound");
  const others = drawing.boxes.filter((box) => box.node.kind !== "compound");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="chart-title chart-desc">`,
    `<title id="chart-title">Statechart ${escapeXml(chart.id)}</title>`,
    `<desc id="chart-desc">${escapeXml(summary(chart))}</desc>`,
    `<style>\n${styleSheet()}\n</style>`,
    `<defs>${Object.keys(KINDS).map(arrowHead).join("")}</defs>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    `<text class="title" x="${MARGIN}" y="${MARGIN + 18}">${escapeXml(chart.id)}</text>`,
    `<text class="subtitle" x="${MARGIN}" y="${MARGIN + 38}">${
      escapeXml(chart.description ?? summary(chart))
    }</text>`,
    `<g transform="translate(${round(shift)} ${MARGIN + HEADING})">`,
    ...frames.map(drawBox),
    ...drawing.arrows.map(drawLine),
    ...frames.map(drawHeading),
    ...others.map(drawBox),
    ...drawing.arrows.map(drawLabel),
    "</g>",
    drawLegend(chart, drawing.arrows, height - MARGIN - 8),
    "</svg>",
    "",
  ].filter((part, index, all) => part !== "" || index === all.length - 1).join("\n");
}

function summary(chart: Chart): string {
  const states = flatten(chart.root).length - 1;
  return `${states} states, ${chart.transitions.length} transitions, ${chart.actors.length} invoked actors; ` +
    `top-level states: ${chart.root.states.map((state) => state.key).join(", ")}`;
}

function arrowHead(kind: string): string {
  return `<marker id="head-${kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" ` +
    `markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path class="head ${kind}" d="M0.5 0.8 9.5 5 0.5 9.2 2.6 5Z"/></marker>`;
}

function drawBox(box: Box): string {
  const { x, y, width, height, node } = box;
  if (node.kind === "initial") {
    const radius = MEASURE.dot / 2;
    return `<circle class="dot initial" cx="${round(x + radius)}" cy="${round(y + radius)}" r="${radius}"/>`;
  }
  if (node.kind === "any") return drawPill(box);
  const rect = (cls: string, inset: number, rx: number) =>
    `<rect class="${cls}" x="${round(x + inset)}" y="${round(y + inset)}" width="${
      round(width - 2 * inset)
    }" height="${round(height - 2 * inset)}" rx="${rx}"/>`;
  const parts = [`<g class="${familyOf(node)}"><title>${escapeXml(titleOf(node))}</title>`];
  if (node.kind === "compound") return `${parts.join("")}${rect("frame", 0, 12)}</g>`;
  const top = node.depth === 1;
  parts.push(rect("box", 0, top ? 12 : 8));
  if (node.kind === "bundle") {
    parts.push(...drawRows(box));
  } else {
    if (node.kind === "final") parts.push(rect("box", 3.5, top ? 9 : 5));
    parts.push(drawTitle(node, x + 14, y + 20));
    parts.push(...node.lines.map((line, index) => boxLine(line, x + 14, y + 36 + index * MEASURE.line)));
  }
  return `${parts.join("")}</g>`;
}

function drawPill({ x, y, width, height, node }: Box): string {
  const middle = x + width / 2;
  const line = (index: number) => y + 15.5 + index * MEASURE.labelLine;
  return `<g><rect class="any" x="${x}" y="${y}" width="${width}" height="${height}" rx="${
    Math.min(14, height / 2)
  }"/>` +
    text("any-text", middle, line(0), node.title, "middle") +
    node.causes.map((cause, index) => labelLine(cause, middle, line(index + 1))).join("") + "</g>";
}

/** The states of a bundle, a row each, and below them what they have in common. */
function drawRows({ x, y, width, node }: Box): string[] {
  const parts: string[] = [];
  let top = y + 4;
  for (const line of node.lines) {
    if (line.role === "row") {
      if (top > y + 4) {
        parts.push(`<path class="rule" d="M${round(x + 8)} ${round(top)}h${round(width - 16)}"/>`);
      }
      parts.push(drawTitle({ ...node, title: line.text }, x + 14, top + 14.5));
      if (line.note) parts.push(text("note", x + width - 14, top + 14, line.note, "end"));
      top += MEASURE.row;
    } else {
      parts.push(boxLine(line, x + 14, top + 15));
      top += MEASURE.line;
    }
  }
  return parts;
}

/** A state's name, marked where it is also the name of the actor that runs in it. */
function drawTitle(node: SceneNode, x: number, y: number): string {
  const cls = node.depth === 1 ? "top" : "key";
  return node.invokesTitle ? mark(x, y) + text(cls, x + 12, y, node.title) : text(cls, x, y, node.title);
}

/** Name and description of a compound state, over the arrows that pass behind them. */
function drawHeading({ x, y, node }: Box): string {
  return `<g class="halo ${familyOf(node)}">` +
    `<rect class="band" x="${round(x + 14)}" y="${round(y + 14)}" width="4" height="16" rx="2"/>` +
    drawTitle(node, x + 26, y + 27) +
    node.lines.map((line, index) => boxLine(line, x + 26, y + 44 + index * MEASURE.line)).join("") + "</g>";
}

function boxLine(line: BoxLine, x: number, y: number): string {
  return line.role === "actor"
    ? mark(x, y) + text("actor", x + 11, y, line.text)
    : text("body", x, y, line.text);
}

function mark(x: number, y: number): string {
  return `<path class="mark" d="M${round(x)} ${round(y - 8)}l7 4 -7 4z"/>`;
}

function familyOf(node: SceneNode): string {
  return `f${Math.max(0, node.family) % FAMILIES.length}`;
}

function titleOf(node: SceneNode): string {
  if (node.kind !== "bundle") return node.id;
  return node.lines.filter((line) => line.role === "row").map((line) => line.text).join(", ");
}

function drawLine(arrow: Arrow): string {
  if (arrow.points.length < 2) return "";
  const head = `url(#head-${arrow.kind})`;
  const start = arrow.both ? ` marker-start="${head}"` : "";
  return `<path class="arrow ${arrow.kind}" d="${roundedPath(arrow.points)}"${start} marker-end="${head}"/>`;
}

function drawLabel(arrow: Arrow): string {
  const { label } = arrow;
  if (!label) return "";
  const parts = [
    `<g><rect class="pill" x="${label.x}" y="${label.y}" width="${label.width}" height="${label.height}" rx="5"/>`,
  ];
  const middle = label.x + label.width / 2;
  arrow.lines.forEach((line, index) => {
    parts.push(labelLine(line, middle, label.y + 12.5 + index * MEASURE.labelLine));
  });
  parts.push("</g>");
  return parts.join("");
}

/** One centred line: causes in their colours, then the guard. */
function labelLine(line: LabelLine, x: number, y: number): string {
  const causes = line.causes.map((cause, index) =>
    `<tspan class="label ${cause.kind}"${index === 0 ? "" : ' dx="3"'}>${escapeXml(cause.text)}</tspan>`
  );
  // Renderers differ in white space between spans: distance by dx alone.
  const guard = line.guard === ""
    ? ""
    : `<tspan class="guard"${causes.length === 0 ? "" : ' dx="3.5"'}>${escapeXml(line.guard)}</tspan>`;
  return `<text class="label" x="${round(x)}" y="${round(y)}" text-anchor="middle">` +
    causes.join('<tspan class="guard" dx="3">·</tspan>') + `${guard}</text>`;
}

/** What the colours mean: only the kinds that occur. */
function drawLegend(chart: Chart, arrows: readonly Arrow[], y: number): string {
  const words: Readonly<Record<string, string>> = {
    event: "event",
    done: "invoked actor done",
    error: "invoked actor failed",
    after: "after a time",
    always: "at once, when its guard holds",
    snapshot: "invoked actor moved",
  };
  const present = new Set(chart.transitions.map((each) => each.trigger.kind));
  const parts: string[] = [];
  let x = MARGIN;
  for (const [kind, meaning] of Object.entries(words)) {
    if (!present.has(kind as TriggerKind)) continue;
    parts.push(`<path class="arrow ${kind}" d="M${round(x)} ${y - 4}h26" marker-end="url(#head-${kind})"/>`);
    parts.push(text("body", x + 33, y, meaning));
    x += 33 + textWidth(meaning, FONT.body) + 22;
  }
  if (arrows.length > 0) {
    parts.push(`<g class="f0"><path class="mark" d="M${round(x)} ${y - 7.5}l6.5 4 -6.5 4z"/></g>`);
    parts.push(text("body", x + 12, y, "invokes an actor"));
  }
  return `<g>${parts.join("")}</g>`;
}

function text(cls: string, x: number, y: number, content: string, anchor?: string): string {
  const align = anchor ? ` text-anchor="${anchor}"` : "";
  return `<text class="${cls}" x="${round(x)}" y="${round(y)}"${align}>${escapeXml(content)}</text>`;
}

/** A polyline with rounded bends. */
function roundedPath(points: Arrow["points"]): string {
  const [start, ...rest] = points;
  if (!start) return "";
  let path = `M${start.x} ${start.y}`;
  rest.forEach((point, index) => {
    const before = points[index];
    const after = rest[index + 1];
    if (!before || !after) {
      path += `L${point.x} ${point.y}`;
      return;
    }
    const incoming = Math.hypot(point.x - before.x, point.y - before.y);
    const outgoing = Math.hypot(after.x - point.x, after.y - point.y);
    const radius = Math.min(BEND, incoming / 2, outgoing / 2);
    const near = (to: { x: number; y: number }, length: number) => {
      const part = length === 0 ? 0 : radius / length;
      return `${round(point.x + (to.x - point.x) * part)} ${round(point.y + (to.y - point.y) * part)}`;
    };
    path += `L${near(before, incoming)}Q${point.x} ${point.y} ${near(after, outgoing)}`;
  });
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
