import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createMachine } from "xstate";
import { toMermaid } from "../../src/statechart/draw/mermaid.ts";
import { sampleMachine } from "./sample_machine.ts";

Deno.test("the Mermaid text has nested states, their actors and one labelled arrow for each pair", () => {
  const text = toMermaid(sampleMachine);
  assertMatch(text, /^stateDiagram-v2\n/);
  for (
    const line of [
      "  [*] --> Pending",
      "  state Pending {",
      "    [*] --> Pending_finalizing",
      "    Pending_finalizing : runs finalize",
      "  Pending_looking --> Available : done [exists && ready]",
      "  Pending_waiting --> Pending_finalizing : REFRESH · after backoff",
      "  Available_idle --> Drifted : [drifted]",
      "  Drifted_awaiting --> Drifted_checking : after 5000 ms",
      "  Available --> Deleting : DELETE [!paused]",
      "  Finalized --> [*]",
    ]
  ) assertStringIncludes(text, `\n${line}\n`);
  const arrows = [...text.matchAll(/^ *(\S+) --> (\S+)/gm)].map((match) => `${match[1]} ${match[2]}`)
    .filter((pair) => !pair.includes("[*]"));
  assertEquals(new Set(arrows).size, arrows.length);
  assert(
    !text.includes("Deleting --> Deleting"),
    "a transition of the machine leads not from its own target",
  );
});

Deno.test("names that are Mermaid's own, or would be the same, stay apart and cannot break out", () => {
  const text = toMermaid(createMachine({
    id: "m",
    initial: "end",
    states: {
      end: { on: { 'a: b; "c" <d>\n%%': "a-b" } },
      "a-b": { on: { E: "a_b" } },
      a_b: { on: { E: "note" } },
      note: {},
    },
  }));
  assertStringIncludes(text, "s_end --> a_b : a#58; b#59; #34;c#34; #60;d#62; #37;#37;\n");
  assertStringIncludes(text, "a_b --> a_b_ : E\n");
  assertStringIncludes(text, "a_b_ --> s_note : E\n");
});
