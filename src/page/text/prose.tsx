/** Sentences with `code` in backticks, as the machine's own words have them. @module */
import type { JSX } from "preact";

/** `text`, with what stands between backticks as code. */
export function Prose({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split("`").map((part, index) => index % 2 === 0 ? part : <code key={index}>{part}</code>)}
  </>;
}
