/** The inside of one top-level state, as elkjs laid it out: boxes, arrows, guards on hovering. @module */
import type { JSX } from "preact";
import type { ChartArrow, ChartDrawing, ChartNode } from "../../server/api/types.ts";
import { familyClass } from "../families.ts";
import { count } from "../text/time.ts";
import { arrowHead, px } from "./geometry.ts";
import { measure, squeezed } from "./wrap.ts";
import { Zoom } from "./zoom.tsx";

/** What {@linkcode Inside} takes. */
export interface InsideProps {
  readonly path: string;
  readonly drawing: ChartDrawing;
  readonly counts?: ((path: string) => number) | undefined;
  /** The active state. */
  readonly active?: string | undefined;
  readonly near?: ChartArrow | undefined;
  readonly onNear?: ((arrow: ChartArrow | undefined) => void) | undefined;
}

/** The drawing in a box of its own, which scrolls where it is wider than the screen. */
export function Inside({ path, drawing, counts, active, near, onNear }: InsideProps): JSX.Element {
  return (
    <div class="inside">
      <Zoom
        width={drawing.width}
        height={drawing.height}
        label={`Inside ${path}`}
        wide
        svg={{
          class: familyClass(path),
          role: "img",
          label: `What ${path} is made of: ${namesOf(drawing).join(", ")}`,
        }}
      >
        {drawing.arrows.map((arrow, index) => (
          <g
            key={index}
            class={`arrow ${arrow.kind} ${near === arrow ? "near" : ""}`}
            onPointerEnter={() => onNear?.(arrow)}
            onPointerLeave={() => onNear?.(undefined)}
          >
            <path class="reach" d={linePath(arrow)} />
            <path class="line" d={linePath(arrow)} />
            <path class="head" d={headPath(arrow.points)} />
          </g>
        ))}
        {drawing.nodes.map((node, index) => <Node key={index} node={node} counts={counts} active={active} />)}
        {drawing.arrows.map((arrow, index) =>
          arrow.label && (
            <g key={index} class={`label ${arrow.kind}`} aria-hidden="true">
              {arrow.label.lines.map((line, at) => (
                <Line key={at} text={line} x={arrow.label?.x ?? 0} y={(arrow.label?.y ?? 0) + at * 14} />
              ))}
            </g>
          )
        )}
      </Zoom>
    </div>
  );
}

function Node({ node, counts, active }: {
  readonly node: ChartNode;
  readonly counts?: ((path: string) => number) | undefined;
  readonly active?: string | undefined;
}): JSX.Element {
  const { x, y, width, height, kind, path, title, rows, texts } = node;
  if (kind === "initial") {
    return <circle class="begin" cx={x + width / 2} cy={y + height / 2} r={width / 2} />;
  }
  const lit = path !== "" && path === active;
  return (
    <g class={`node ${kind} ${lit ? "lit" : ""}`}>
      {node.description !== "" && <title>{node.description}</title>}
      <rect class="box" x={x} y={y} width={width} height={height} rx="9" />
      {path !== "" && <text class="name" x={x + 14} y={y + 20}>{title}</text>}
      {path !== "" && <Number x={x + width - 12} y={y + 20} value={counts?.(path)} />}
      {rows.map((row) => (
        <g key={row.path} class={`row ${row.path === active ? "lit" : ""}`}>
          <title>{row.description}</title>
          <rect x={x + 4} y={y + row.y} width={width - 8} height={row.height} rx="5" />
          <text
            class="name"
            x={x + 14}
            y={y + row.y + 14.5}
            textLength={squeezed(row.text, width - 22 - room(counts?.(row.path)), 12, 640)}
            lengthAdjust="spacingAndGlyphs"
          >
            {row.text}
          </text>
          <Number x={x + width - 12} y={y + row.y + 14.5} value={counts?.(row.path)} />
        </g>
      ))}
      {texts.map((text, index) => (
        <text
          key={index}
          class="about"
          x={x + text.x}
          y={y + text.y}
          textLength={squeezed(text.text, width - text.x - 6, 11)}
          lengthAdjust="spacingAndGlyphs"
        >
          {text.text}
        </text>
      ))}
    </g>
  );
}

function Number({ x, y, value }: {
  readonly x: number;
  readonly y: number;
  readonly value: number | undefined;
}): JSX.Element | null {
  return value ? <text class="number" x={x} y={y} text-anchor="end">{count(value)}</text> : null;
}

/** A line of a label, on a ground that hides the arrow behind it. */
function Line(
  { text, x, y }: { readonly text: string; readonly x: number; readonly y: number },
): JSX.Element {
  const width = measure(text, 10.5) + 8;
  return (
    <>
      <rect x={x - width / 2} y={y - 11} width={width} height="15" />
      <text x={x} y={y} text-anchor="middle">{text}</text>
    </>
  );
}

/** What a number takes of the width of a row. */
function room(value: number | undefined): number {
  return value ? measure(count(value), 11.5, 640) + 6 : 0;
}

function namesOf(drawing: ChartDrawing): string[] {
  return drawing.nodes.flatMap((node) => [
    ...(node.path === "" ? [] : [node.title]),
    ...node.rows.map((row) => row.text),
  ]);
}

const BEND = 7;

/** A polyline with rounded bends. */
function linePath({ points }: ChartArrow): string {
  return points.map(([x, y], index) => {
    const before = points[index - 1];
    const after = points[index + 1];
    if (!before) return `M${x} ${y}`;
    if (!after) return `L${x} ${y}`;
    const near = ([a, b]: readonly [number, number]) => {
      const length = Math.hypot(a - x, b - y);
      const part = length === 0 ? 0 : Math.min(BEND, length / 2) / length;
      return `${px(x + (a - x) * part)} ${px(y + (b - y) * part)}`;
    };
    return `L${near(before)}Q${x} ${y} ${near(after)}`;
  }).join("");
}

function headPath(points: ChartArrow["points"]): string {
  const [end, before] = [points.at(-1), points.at(-2)];
  if (!end || !before) return "";
  const length = Math.hypot(end[0] - before[0], end[1] - before[1]) || 1;
  const [dx, dy] = [(end[0] - before[0]) / length, (end[1] - before[1]) / length];
  return arrowHead(end[0], end[1], dx, dy);
}
