/**
 * Pieces of Markdown that the generated pages are made of.
 *
 * @module
 */

/** The line that tells a reader where a generated page comes from. */
export function generatedFrom(source: string): string {
  return `<!-- Made from ${source} by \`deno task docs:write\`; do not edit. -->`;
}

/** A table; cells are Markdown, of one line each. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ");
}

/** Text as code; empty where there is none. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** Names as code, with commas between. */
export function codes(names: readonly string[]): string {
  return names.map(code).join(", ");
}

/** Blocks with an empty line between each two, and a line's end at the end. */
export function page(...blocks: readonly string[]): string {
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}
