/**
 * Reads the commands of a document, and what they are to print.
 *
 * Each `sh` block is commands, and the `text` block after it their output. In that `…` stands for anything within a line,
 * and a line that is `…` alone for any lines; runs of blanks are one. A comment before a block says more:
 * `<!-- terminal 1 -->` leaves it running, `<!-- without kubectl -->` is for machines without, `<!-- in a cluster -->`
 * needs the operator as it is installed in one, `<!-- not run: why -->` is not run.
 *
 * @module
 */

/** One block of commands. */
export interface CommandBlock {
  /** Line of the document. */
  readonly line: number;
  readonly commands: string;
  readonly output?: string;
  /** What the comment before it says. */
  readonly note?: string;
}

/** The comment before it, what it is indented by (in a list), its language and its text. */
const BLOCK = /(?:^ *<!-- ([^\n]*?) -->\n)?^( *)```(\w*)\n([^]*?)^ *```$/gm;

/** The blocks of a document, in order. Throws where a `text` block follows no `sh` block. */
export function commandBlocks(markdown: string): CommandBlock[] {
  const blocks: { line: number; commands: string; output?: string; note?: string }[] = [];
  for (const found of markdown.matchAll(BLOCK)) {
    const { 0: all, 1: note, 2: indent = "", 3: language, 4: body = "", index } = found;
    const text = body.replace(new RegExp(`^${indent}`, "gm"), "");
    const line = markdown.slice(0, index + all.indexOf("```")).split("\n").length;
    const last = blocks.at(-1);
    if (language === "sh") {
      blocks.push({ line, commands: text, ...(note === undefined ? {} : { note }) });
    } else if (language === "text") {
      if (last === undefined || last.output !== undefined) {
        throw new Error(`Line ${line}: an output without commands`);
      }
      last.output = text;
    }
  }
  return blocks;
}

/** What a `text` block matches. */
export function outputPattern(expected: string): RegExp {
  const lines = expected.trimEnd().split("\n").map((line) => {
    if (line.trim() === "…") return "(?:.*\\n)*?";
    const parts = line.trim().split("…").map((part) =>
      part.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[ \\t]+")
    );
    return `[ \\t]*${parts.join(".*?")}[ \\t]*\\n`;
  });
  return new RegExp(`^\\s*${lines.join("")}\\s*$`);
}
