/**
 * Facts that decisions ask for: each of these was a planted bug that nothing had caught.
 */
import { assertEquals } from "@std/assert";
import { pollMs } from "../../src/statechart/facts.ts";
import { cr, known, view } from "./support.ts";

Deno.test("rule 11: a CR's own poll interval is held between 10 s and 24 h, however it was stored (H2)", () => {
  const of = (pollInterval: string) => pollMs(known(cr({ spec: { pollInterval } })), view());
  assertEquals(["1s", "10s", "5m", "24h", "2160h"].map(of), [
    10_000,
    10_000,
    300_000,
    86_400_000,
    86_400_000,
  ]);
  assertEquals(of("soon"), 300_000, "the operator's own where it is no time");
});
