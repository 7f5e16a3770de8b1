/**
 * Which rows of a long list are worth drawing: those in sight and a few around them.
 *
 * @module
 */

/** Rows `first` to `end` (excluded). */
export interface RowWindow {
  readonly first: number;
  readonly end: number;
}

/** Rows drawn above and below what is in sight. */
export const OVERSCAN = 8;

/**
 * The rows to draw of `total` rows of `rowHeight` pixels in a list that begins `top` pixels below the upper edge of what
 * is in sight (negative: it is scrolled past) and of which `height` pixels are in sight.
 */
export function rowWindow(total: number, rowHeight: number, top: number, height: number): RowWindow {
  const above = Math.floor(Math.max(0, -top) / rowHeight);
  const first = Math.max(0, Math.min(above, total) - OVERSCAN);
  const seen = Math.ceil(Math.max(0, height) / rowHeight) + 1;
  return { first, end: Math.min(total, above + seen + OVERSCAN) };
}
