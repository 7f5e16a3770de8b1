import { assertEquals } from "@std/assert";
import { Summons } from "../../src/operator/summons.ts";
import { ManualClock } from "../support/manual_clock.ts";

Deno.test("a pause ends with its signal, also where that aborts in the tick that ends its first part", async () => {
  const clock = new ManualClock();
  const abort = new AbortController();
  const summons = new Summons({
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    clearTimeout: (id) => clock.clearTimeout(id),
    setTimeout: (fn, ms) =>
      clock.setTimeout(() => {
        fn();
        abort.abort();
      }, ms),
  }, 100);
  let over = false;
  void summons.pause(300_000, abort.signal).then(() => over = true);
  await clock.advance(101);
  assertEquals([over, clock.pending], [true, 0]);
});
