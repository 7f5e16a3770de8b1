import { assertEquals } from "@std/assert";
import { LOOP_TICK_MS, startLoopMonitor } from "../../src/server/loop.ts";
import { ManualClock } from "../support/manual_clock.ts";

Deno.test("H1: a blocked event loop shows as lag, while it lasts and at the tick that ends it", async () => {
  const clock = new ManualClock();
  const loop = startLoopMonitor(clock);
  const told: number[] = [];
  loop.onTick((lagMs) => told.push(lagMs));
  await clock.advance(LOOP_TICK_MS * 4);
  assertEquals([loop.lagMs(), ...told], [0, 0, 0, 0, 0]);
  clock.freeze(LOOP_TICK_MS + 3_000);
  assertEquals(loop.lagMs(), 3_000);
  await clock.advance(LOOP_TICK_MS * 4);
  assertEquals(loop.lagMs(), 0);
  assertEquals(Math.max(...told), 3_000);
  loop.stop();
  assertEquals(clock.pending, 0);
});
