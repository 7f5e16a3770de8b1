/**
 * Text in drawings: its width without a font at hand, and its escaping.
 *
 * @module
 */

/**
 * Advance widths of Helvetica for the characters 32–126, in thousandths of the font size (Adobe's core font metrics).
 * Arial and Liberation Sans have the same, which is why the drawings ask for these three.
 */
// deno-fmt-ignore
const HELVETICA = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
  556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
  722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
  278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
  556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
] as const;

/** How much wider bold is, at most. */
const BOLD = 1.08;
/** Advance of monospaced fonts, in ems. */
const MONO = 0.61;

/** How a text is set. */
export interface TextStyle {
  /** In pixels. */
  readonly size: number;
  readonly bold?: boolean;
  readonly mono?: boolean;
}

/** The width of `text` in pixels, a little generous. */
export function textWidth(text: string, style: TextStyle): number {
  if (style.mono) return [...text].length * MONO * style.size;
  let thousandths = 0;
  for (const char of text) thousandths += HELVETICA[char.charCodeAt(0) - 32] ?? 700;
  return thousandths / 1_000 * style.size * (style.bold ? BOLD : 1) * 1.02;
}

/** `text` fit for XML text and quoted attributes; what XML 1.0 forbids (control characters, lone surrogates) is replaced. */
export function escapeXml(text: string): string {
  return text.toWellFormed()
    .replace(/[\p{Cc}\ufffe\uffff]/gu, (char) => char === "\n" || char === "\t" ? " " : "\ufffd")
    .replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
