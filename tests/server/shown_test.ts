import { assertEquals, assertNotMatch } from "@std/assert";
import { validateSpec } from "../../src/api/validate.ts";
import { escapeUnsafe, withoutUnsafe } from "../../src/core/text.ts";
import { escapeHtml } from "../../src/server/page.ts";
import { quote } from "../../src/statechart/drift.ts";
import { oneLine } from "../../src/statechart/verdicts.ts";

// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const TEXTS = ["\u202egnp.exe", "\ufeff", "\u009b31m", "a\nb", "\u0000", "\u2066x\u2069"];

Deno.test("Marks that hide text or turn it round are spelt out on the page, in conditions and in refusals (found by fuzzing)", () => {
  for (const text of TEXTS) {
    const invalid = validateSpec({ engine: text, version: "1", sizeGb: 1 });
    const shown = [escapeHtml(text), quote(text), oneLine(text), invalid.ok ? "" : invalid.message];
    for (const one of shown) assertNotMatch(one, UNSAFE, JSON.stringify(text));
    assertEquals(JSON.parse(escapeUnsafe(JSON.stringify(text))), text);
  }
  assertEquals(withoutUnsafe("a\r\n\u202eb"), "a b");
});
