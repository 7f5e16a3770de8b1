import { assert, assertEquals } from "@std/assert";
import { REASON_MEANINGS } from "../../src/statechart/reasons.ts";
import { REASONS } from "../../src/statechart/vocabulary.ts";

Deno.test("every reason tells what it means, what happens by itself and what a person does, in sentences", () => {
  assertEquals(Object.keys(REASON_MEANINGS), Object.keys(REASONS));
  for (const [reason, { means, operator, person, turn, commands = [] }] of Object.entries(REASON_MEANINGS)) {
    for (const text of [means, operator, person]) assert(/^[A-Z`][^\n]+\.$/.test(text), `${reason}: ${text}`);
    if (turn === "person") {
      assert(!/^(Nothing|Wait)\./.test(person), `${reason} says whose turn it is, and then: ${person}`);
    }
    for (const command of commands) assert(command.startsWith("kubectl "), `${reason}: ${command}`);
  }
});
