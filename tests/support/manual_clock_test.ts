import { assertEquals, assertRejects } from "@std/assert";
import { sleep } from "../../src/core/wait.ts";
import { ManualClock } from "./manual_clock.ts";

Deno.test("The manual clock fires timers by due time, ties by creation, at their own time", async () => {
  const clock = new ManualClock({ monotonic: 0 });
  const fired: string[] = [];
  clock.setTimeout(() => fired.push(`b@${clock.monotonic()}`), 20);
  clock.setTimeout(() => fired.push(`a@${clock.monotonic()}`), 10);
  clock.setTimeout(() => fired.push(`c@${clock.monotonic()}`), 20);
  const cancelled = clock.setTimeout(() => fired.push("never"), 5);
  clock.clearTimeout(cancelled);
  await clock.advance(19);
  assertEquals(fired, ["a@10"]);
  await clock.advance(1);
  assertEquals(fired, ["a@10", "b@20", "c@20"]);
  assertEquals(clock.pending, 0);
});

Deno.test("The manual clock fires chained timers within one advance", async () => {
  const clock = new ManualClock({ monotonic: 0 });
  const at: number[] = [];
  const chain = (async () => {
    for (let i = 0; i < 3; i++) {
      await sleep(clock, 10);
      at.push(clock.monotonic());
    }
  })();
  await clock.advance(30);
  await chain;
  assertEquals(at, [10, 20, 30]);
});

Deno.test("The manual clock can freeze, jump its wall clock, step and wait for a condition", async () => {
  const clock = new ManualClock({ monotonic: 0, now: 1_000 });
  let fired = 0;
  clock.setTimeout(() => fired++, 10);
  clock.freeze(50);
  assertEquals([fired, clock.monotonic(), clock.now()], [0, 50, 1_050]);
  clock.jumpWall(-50);
  assertEquals(clock.now(), 1_000);
  assertEquals(await clock.step(), true);
  assertEquals([fired, clock.monotonic()], [1, 50]);
  assertEquals(await clock.step(), false);
  clock.setTimeout(() => fired++, 250);
  await clock.until("the second timer", () => fired === 2);
  await assertRejects(() => clock.until("a third timer", () => fired === 3, 1_000), Error, "a third timer");
});
