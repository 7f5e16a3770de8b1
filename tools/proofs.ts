/**
 * Writes into docs/behaviours.md which test files prove each behaviour, from the numbers that begin the tests' titles:
 *
 *     deno run --allow-read --allow-write=docs tools/proofs.ts
 *
 * "Not yet" becomes "Proof" where there is a test by now; "Proof" and "Partly" name all files that there are. Whether a
 * proof is whole, and what "Partly" lacks, a person decides; that text is kept.
 *
 * @module
 */
import { behaviours, proofsOf, read, titles } from "../tests/docs/support.ts";

const FILE = "docs/behaviours.md";
const WIDTH = 118;

/** Words in lines of at most {@linkcode WIDTH} characters, the first led by the list's mark. */
function wrap(text: string): string {
  const lines: string[] = [];
  let line = "  -";
  for (const word of text.split(/\s+/)) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = "   ";
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

const before = await read(FILE);
const tests = await titles();
let after = "";
let from = 0;
for (const { number, verdict, remark, text } of behaviours(before)) {
  const files = proofsOf(tests, number);
  if (verdict === undefined || files.length === 0) continue;
  const names = files.map((file) => `\`${file}\``).join(", ");
  // In order, since many entries have the same line.
  const at = before.indexOf(text, before.indexOf(`- **${number}**`));
  after += before.slice(from, at) +
    wrap(verdict === "Partly" ? `Partly: ${names}: ${remark}` : `Proof: ${names}.`);
  from = at + text.length;
}
after += before.slice(from);
await Deno.writeTextFile(new URL(`../${FILE}`, import.meta.url), after);
console.log(after === before ? `${FILE} is in step` : `Wrote ${FILE}`);
