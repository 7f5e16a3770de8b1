/**
 * Text from elsewhere (users, clouds) that is shown to people.
 *
 * @module
 */

/**
 * Everything that could end a line, repaint a terminal or show text in another order: C0, DEL, C1, line and paragraph
 * separators, marks that change the direction of text, and the byte order mark.
 */
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const UNSAFE_RUN = new RegExp(`${UNSAFE.source}+`, "g");

/** `text` with every unsafe character written as `\uXXXX`, which JSON reads back as the same character. */
export function escapeUnsafe(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `value` as JSON without an unsafe character. */
export function safeJson(value: unknown): string {
  return escapeUnsafe(JSON.stringify(value));
}

/** `text` with every run of unsafe characters replaced by one space. */
export function withoutUnsafe(text: string): string {
  return text.replace(UNSAFE_RUN, " ");
}

/** What an error of any kind says. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "an error that cannot be told"; // it has no text, or throws when it is asked
  }
}
