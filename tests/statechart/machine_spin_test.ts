/**
 * The machine's own brake: effects that bring nothing new are no loop (S5).
 */
import { assert } from "@std/assert";
import { settle } from "../support/manual_clock.ts";
import { onBench } from "./bench.ts";
import { cr, inStep } from "./support.ts";

Deno.test("design 7: an effect that succeeds and brings nothing is not run more than twenty times a second", () =>
  onBench(cr({ status: inStep({ state: "Creating" }) }), async (bench) => {
    bench.answer.observe = ({ resolve }) => bench.runs.length < 500 ? resolve({}) : undefined;
    bench.runs.at(-1)?.resolve({});
    await settle();
    for (let n = 0; n < 10; n++) await bench.clock.advance(100);
    const first = bench.runs.length;
    assert(first > 1 && first <= 41, `${first} effects in a second`);
    await bench.clock.advance(10_000);
    assert(bench.runs.length > first, "it goes on");
    assert(bench.runs.length <= first + 220, `${bench.runs.length} effects in eleven seconds`);
  }));
