/**
 * The planted bugs of rules stay plantable, complete, and known to be caught; `deno task mutants --rules` catches them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { readKnown } from "../../tools/mutants/known.ts";
import { RULE_MUTANTS } from "../../tools/mutants/rules/mod.ts";

Deno.test("Every planted bug of a rule still finds its place in the source", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-check", "-A", "--lock=tools/mutants/deno.lock", "--import-map=npm.import_map.json"],
      ...["tools/mutants.ts", "--anchors"],
    ],
    cwd: new URL("../../", import.meta.url),
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assertEquals(code, 0, text(stdout) + text(stderr));
});

Deno.test("Each rule and each decided part of the design has a planted bug", () => {
  const broken = new Set(RULE_MUTANTS.map((m) => m.breaks));
  const rules = Array.from({ length: 24 }, (_, n) => n + 1);
  assertEquals(rules.filter((n) => !broken.has(`rule ${n}`)), []);
  // 1 and 2 are rules 1 to 7; 9 chooses a library.
  assertEquals([3, 4, 5, 6, 7, 8, 10].filter((n) => !broken.has(`design ${n}`)), []);
  assertEquals(
    new Set(RULE_MUTANTS.map((m) => m.id)).size,
    RULE_MUTANTS.length,
    "two bugs have the same name",
  );
});

Deno.test("Each planted bug of a rule was caught by a seed or a test when they were last hunted", async () => {
  const { rules } = await readKnown();
  const fates = new Map(rules.map((fate) => [fate.id, fate]));
  const missed = RULE_MUTANTS.filter((m) => {
    const fate = fates.get(m.id);
    return fate?.simulation === undefined && fate?.test === undefined;
  });
  assert(missed.length === 0, `not caught: ${missed.map((m) => m.id).join(", ")}`);
});
