/**
 * The pages that are made from the code are what the code says, and leave nothing out.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { COMMAND_FLAGS, helpOf } from "../../tools/pages/flags.ts";
import { PAGES } from "../../tools/pages/mod.ts";
import { flatten, toChart } from "../../src/statechart/draw/chart.ts";
import { databaseMachine } from "../../src/statechart/machine.ts";
import { reasonAnchor } from "../../src/statechart/reasons.ts";
import { type Reason, REASONS } from "../../src/statechart/vocabulary.ts";
import { anchors, read } from "./support.ts";

for (const { path, make } of PAGES) {
  Deno.test(`${path} is what the code says: else run "deno task docs:write"`, async () => {
    assertEquals(await read(path), await make());
  });
}

Deno.test("docs/statechart.md names every state, event, guard, effect, action and delay of the machine", async () => {
  const page = await read("docs/statechart.md");
  const chart = toChart(databaseMachine);
  const names = [
    ...flatten(chart.root).flatMap(({ key, path }) => path === "" ? [] : [key]),
    ...chart.events,
    ...chart.guards,
    ...chart.actors,
    ...chart.actions,
    ...chart.delays,
  ];
  assertEquals(names.filter((name) => !new RegExp(`^\\| \`${name}\` \\| [A-Z]`, "m").test(page)), []);
});

Deno.test("every reason has an entry at the anchor that others link to", async () => {
  const there = anchors(await read("docs/reasons.md"));
  for (const reason of Object.keys(REASONS) as Reason[]) {
    assert(there.has(reasonAnchor(reason).slice(1)), reason);
  }
});

Deno.test("docs/reference/flags.md has every command, and every flag that --help offers", async () => {
  const page = await read("docs/reference/flags.md");
  const commands = [...(await helpOf()).matchAll(/^ {2}([a-z]+)\b.* {2}/gm)].map((m) => m[1] ?? "");
  assertEquals(Object.keys(COMMAND_FLAGS).toSorted(), commands.toSorted());
  for (const command of commands) {
    const section = page.split(/^## /m).find((text) => text.startsWith(`${command}\n`)) ?? "";
    const offered = [...(await helpOf(command)).matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map((m) =>
      m[1] ?? ""
    );
    const missing = offered.filter((flag) => !section.includes(`\`${flag.replace("--no-", "--")}`));
    assertEquals(missing, ["--help"], command);
  }
});
