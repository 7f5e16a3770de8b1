/**
 * Text in SVG lines, measured in the font that it is shown in; where there is no canvas, by the drawing's own tables.
 *
 * @module
 */
import { textWidth } from "../../statechart/draw/text.ts";

/** The page's font, as the style sheet has it. */
const FACE = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** Widths that are kept. */
const MOST = 2_000;
const widths = new Map<string, number>();
let canvas: CanvasRenderingContext2D | null | undefined;

/** Width of `text` in pixels. */
export function measure(text: string, size: number, weight = 400): number {
  if (canvas === undefined) canvas = globalThis.document?.createElement("canvas").getContext("2d") ?? null;
  if (canvas === null) return textWidth(text, { size, bold: weight > 500 });
  const key = `${weight} ${size} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    canvas.font = `${weight} ${size}px ${FACE}`;
    width = canvas.measureText(text).width;
    if (widths.size > MOST) widths.clear();
    widths.set(key, width);
  }
  return width;
}

/** `text` in at most `lines` lines of `width` pixels, the last cut where it must be. */
export function wrapText(text: string, width: number, size: number, lines: number): string[] {
  const all: string[] = [];
  for (const word of text.split(" ")) {
    const last = all.at(-1);
    if (last !== undefined && measure(`${last} ${word}`, size) <= width) {
      all[all.length - 1] = `${last} ${word}`;
    } else all.push(word);
  }
  if (all.length <= lines) return all;
  const kept = all.slice(0, lines);
  const cut = (kept[lines - 1] ?? "").split(" ");
  while (cut.length > 1 && measure(`${cut.join(" ")} …`, size) > width) cut.pop();
  kept[lines - 1] = `${cut.join(" ")} …`;
  return kept;
}

/** The `textLength` that squeezes `text` into `width`; `undefined` where it fits. */
export function squeezed(text: string, width: number, size: number, weight = 400): number | undefined {
  return measure(text, size, weight) > width ? Math.max(8, Math.floor(width)) : undefined;
}
