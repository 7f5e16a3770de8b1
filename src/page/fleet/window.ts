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

/**
 * Which of a few elements draws which row: a row keeps its element while it is in sight, and the elements of those that
 * left go to those that came, so that scrolling makes none.
 */
export class Slots {
  #taken = new Map<string, number>();

  /** Gives each of `uids` an element, and takes those of all others back. */
  keep(uids: readonly string[]): void {
    const taken = new Map<string, number>();
    for (const uid of uids) {
      const slot = this.#taken.get(uid);
      if (slot !== undefined) taken.set(uid, slot);
    }
    const free = new Set([...this.#taken.values(), ...uids.keys()]).difference(new Set(taken.values()))
      .values();
    for (const uid of uids) if (!taken.has(uid)) taken.set(uid, free.next().value ?? taken.size);
    this.#taken = taken;
  }

  /** The element of a row that is kept. */
  of(uid: string): number | undefined {
    return this.#taken.get(uid);
  }
}
