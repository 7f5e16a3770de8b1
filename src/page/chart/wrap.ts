/** Text in SVG lines. @module */
import { textWidth } from "../../statechart/draw/text.ts";

/** `text` in at most `lines` lines of `width` pixels, the last cut where it must be. */
export function wrapText(text: string, width: number, size: number, lines: number): string[] {
  const all: string[] = [];
  for (const word of text.split(" ")) {
    const last = all.at(-1);
    if (last !== undefined && textWidth(`${last} ${word}`, { size }) <= width) {
      all[all.length - 1] = `${last} ${word}`;
    } else all.push(word);
  }
  if (all.length <= lines) return all;
  const kept = all.slice(0, lines);
  kept[lines - 1] = `${kept[lines - 1]} …`;
  return kept;
}
