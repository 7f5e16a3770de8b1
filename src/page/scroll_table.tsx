/** A table that scrolls by itself, with the keyboard too, where it is wider than its place. @module */
import type { ComponentChildren, JSX } from "preact";

/** What {@linkcode ScrollTable} takes. */
export interface ScrollTableProps {
  /** What a screen reader calls it. */
  readonly label: string;
  /** Heads of the columns. */
  readonly heads: readonly ComponentChildren[];
  /** Its rows. */
  readonly children: ComponentChildren;
}

/** The table. */
export function ScrollTable({ label, heads, children }: ScrollTableProps): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((head, index) => <th key={index} scope="col">{head}</th>)}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
