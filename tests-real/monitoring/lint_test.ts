/**
 * What the program serves at /metrics passes promtool's lint: names, units, help.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Child } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { promtool } from "../support/promtool.ts";

Deno.test("promtool finds no fault with the metrics of a demo that runs, and finds one that is planted", async () => {
  const directory = await Deno.makeTempDir();
  const permissions = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read", "--allow-write=.demo"];
  const child = new Child(
    ["demo", "--cloud", "simulated", "--listen", "127.0.0.1:0", "--samples", "2"],
    permissions,
    { cwd: directory },
  );
  try {
    const line = await child.line((l) => /http:\/\/127\.0\.0\.1:\d+\//.test(l) && /page/i.test(l));
    const base = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    let text = "";
    await eventually("the samples are Ready", async () => {
      text = await (await fetch(`${base}/metrics`)).text();
      return /^externaldatabase_time_to_ready_seconds_count\{[^}]*\} 2$/m.test(text);
    });
    const good = await promtool(["check", "metrics"], text);
    assertEquals([good.code, good.stdout, good.stderr], [0, "", ""]);
    const bad = await promtool(
      ["check", "metrics"],
      text.replaceAll("externaldatabase_transitions_total", "transitionsInMs"),
    );
    assert(bad.code !== 0, "a name in camel case with an abbreviated unit is refused");
  } finally {
    await child.end();
    await Deno.remove(directory, { recursive: true });
  }
});
