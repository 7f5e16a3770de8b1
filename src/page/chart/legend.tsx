/** What the signs of the drawings mean. @module */
import type { JSX } from "preact";

/** The three kinds of steps. */
export function Legend(): JSX.Element {
  return (
    <ul class="legend soft" aria-label="Signs">
      <li>
        <svg viewBox="0 0 14 14" aria-hidden="true">
          <circle class="mark" cx="7" cy="7" r="2.5" />
        </svg>rests
      </li>
      <li>
        <svg viewBox="0 0 14 14" aria-hidden="true">
          <path class="mark" d="M4 3l6.5 4L4 11z" />
        </svg>runs an effect
      </li>
      <li>
        <svg viewBox="0 0 14 14" aria-hidden="true">
          <path class="mark" d="M7 3l4 4-4 4-4-4z" />
        </svg>decides, at once
      </li>
    </ul>
  );
}
