/**
 * Text of resources and clouds, fit for eyes: what would hide it or turn it round is spelt out.
 *
 * Escaping for HTML is Preact's; nothing of the page ever sets HTML.
 *
 * @module
 */
import { escapeUnsafe } from "../../core/text.ts";

/** `text` with line ends kept as spaces and every other unsafe character written as `\uXXXX`. */
export function shown(text: string | undefined): string {
  return text === undefined ? "" : escapeUnsafe(text.replace(/[\r\n\t]+/g, " "));
}
