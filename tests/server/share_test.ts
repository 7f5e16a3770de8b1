import { assertEquals, assertRejects } from "@std/assert";
import { Share } from "../../src/server/share.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";

Deno.test("however much is asked for at once, the event loop is others' for as long as each took", async () => {
  const clock = new ManualClock({ monotonic: 0 });
  const share = new Share(clock);
  const begun: number[] = [];
  const all = Array.from({ length: 3 }, () =>
    share.run(() => {
      begun.push(clock.monotonic());
      clock.freeze(40); // the loop stands still
    }));
  await settle();
  assertEquals(begun, [0]);
  await clock.advance(39);
  assertEquals(begun, [0]);
  await clock.advance(1);
  assertEquals(begun, [0, 80]);
  await clock.advance(40);
  assertEquals(begun, [0, 80, 160]);
  await Promise.all(all);
});

Deno.test("one that fails ends its own turn alone, and what costs nothing waits for nothing", async () => {
  const clock = new ManualClock();
  const share = new Share(clock);
  await assertRejects(() => share.run(() => Promise.reject(new Error("no"))), Error, "no");
  assertEquals(await Promise.all([1, 2, 3].map((n) => share.run(() => n))), [1, 2, 3]);
  assertEquals(clock.pending, 0);
});
