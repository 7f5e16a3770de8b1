/** The few signs of the page, drawn; each is an ornament beside words. @module */
import type { JSX } from "preact";

const PATHS = {
  mark: "M5 4h5v5H5zM14 4h5v5h-5zM14 15h5v5h-5zM10 6.5h4M16.5 9v6M14 17.5H7.5V9",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.2 15.2 20 20",
  back: "M14.5 5 8 12l6.5 7",
  forth: "M9.5 5 16 12l-6.5 7",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  hand: "M12 3 2.5 20h19zM12 10v4.5M12 17.2v.3",
  calm: "M4.5 12.5 10 18 19.5 7",
  cross: "M6 6l12 12M18 6 6 18",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  lone: "M12 4c4.4 0 8 1.3 8 3s-3.6 3-8 3-8-1.3-8-3 3.6-3 8-3zM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7",
} as const;

/** One sign. */
export function Icon({ name }: { readonly name: keyof typeof PATHS }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
