import { assertEquals } from "@std/assert";
import { LOOP_TICK_MS, startLoopMonitor } from "../../src/server/loop.ts";
import { ManualClock } from "../support/manual_clock.ts";

Deno.test("H1: a blocked event loop shows as lag, while it lasts and in the maximum until that is read", async () => {
  const clock = new ManualClock();
  const loop = startLoopMonitor(clock);
  await clock.advance(LOOP_TICK_MS * 4);
  assertEquals([loop.lagMs(), loop.takeMaxLagMs()], [0, 0]);
  clock.freeze(LOOP_TICK_MS + 3_000);
  assertEquals(loop.lagMs(), 3_000);
  await clock.advance(LOOP_TICK_MS * 4);
  assertEquals(loop.lagMs(), 0);
  assertEquals([loop.takeMaxLagMs(), loop.takeMaxLagMs()], [3_000, 0]);
  loop.stop();
  assertEquals(clock.pending, 0);
});
