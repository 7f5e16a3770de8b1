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
import type { Arrow, Box, BoxLine, LabelLine } from "./layout.ts";
import { FONT, layOut, MEASURE } from "./layout.ts";
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
  const drawing = await layOut(chart);
  const width = Math.max(drawing.width, 720) + 2 * MARGIN;
  const height = drawing.height + 2 * MARGIN + HEADING + LEGEND;
  const shift = (width - drawing.width) / 2;
  const frames = drawing.boxes.filter((box) => box.kind === "compound");
  const others = drawing.boxes.filter((box) => box.kind !== "compound");
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
    `markerUnits="userSpaceOnUse" orient="auto"><path class="head ${kind}" d="M0.5 0.8 9.5 5 0.5 9.2 2.6 5Z"/></marker>`;
}

function drawBox(box: Box): string {
  const { x, y, width, height } = box;
  const family = `f${Math.max(0, box.family) % FAMILIES.length}`;
  if (box.kind === "initial") {
    return `<circle class="dot initial" cx="${round(x + width / 2)}" cy="${round(y + height / 2)}" r="${
      MEASURE.dot / 2
    }"/>`;
  }
  if (box.kind === "any") {
    const middle = x + width / 2;
    return `<g><rect class="any" x="${x}" y="${y}" width="${width}" height="${height}" rx="${
      Math.min(14, height / 2)
    }"/>` +
      text("any-text", middle, y + 15.5, box.title, "middle") +
      box.causes.map((line, index) => labelLine(line, middle, y + 15.5 + (index + 1) * MEASURE.labelLine))
        .join("") +
      "</g>";
  }
  const parts = [`<g class="${family}"><title>${escapeXml(box.path)}</title>`];
  const rect = (cls: string, inset: number, rx: number) =>
    `<rect class="${cls}" x="${round(x + inset)}" y="${round(y + inset)}" width="${
      round(width - 2 * inset)
    }" height="${round(height - 2 * inset)}" rx="${rx}"/>`;
  if (box.kind === "compound") return `${parts.join("")}${rect("frame", 0, 12)}</g>`;
  parts.push(rect("box", 0, box.depth === 1 ? 12 : 8));
  if (box.kind === "final") parts.push(rect("box", 3.5, box.depth === 1 ? 9 : 5));
  parts.push(text(box.depth === 1 ? "top" : "key", x + 14, y + 20, box.title));
  parts.push(...box.lines.map((line, index) => boxLine(line, x + 14, y + 36 + index * MEASURE.line)), "</g>");
  return parts.join("");
}

/** Name and description of a compound state, over the arrows that pass behind them. */
function drawHeading(box: Box): string {
  const { x, y } = box;
  return `<g class="halo f${Math.max(0, box.family) % FAMILIES.length}">` +
    `<rect class="band" x="${x + 14}" y="${y + 14}" width="4" height="16" rx="2"/>` +
    text(box.depth === 1 ? "top" : "key", x + 26, y + 27, box.title) +
    box.lines.map((line, index) => boxLine(line, x + 26, y + 44 + index * MEASURE.line)).join("") + "</g>";
}

function boxLine(line: BoxLine, x: number, y: number): string {
  if (line.role !== "actor") return text("body", x, y, line.text);
  return `<path class="mark" d="M${round(x)} ${round(y - 7.5)}l6.5 4 -6.5 4z"/>` +
    text("actor", x + 11, y, line.text);
}

function drawLine(arrow: Arrow): string {
  if (arrow.points.length < 2) return "";
  return `<path class="arrow ${arrow.kind}" d="${
    roundedPath(arrow.points)
  }" marker-end="url(#head-${arrow.kind})"/>`;
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
