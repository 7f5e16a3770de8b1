import { assert, assertEquals, assertRejects } from "@std/assert";
import { sleep } from "../../src/core/wait.ts";
import {
  type Lane,
  LANES,
  QueueFullError,
  Scheduler,
  type SchedulerOptions,
} from "../../src/operator/scheduler.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";

const never = new AbortController().signal;

/** A scheduler whose calls take `ms`, and the lanes in the order in which their calls started. */
function busy(ms: number, options: Partial<SchedulerOptions> = {}) {
  const clock = new ManualClock();
  const scheduler = new Scheduler({ clock, concurrency: 1, ...options });
  const started: { lane: Lane; at: number }[] = [];
  const origin = clock.monotonic();
  const add = (lane: Lane, signal = never) =>
    scheduler.run(lane, signal, async () => {
      started.push({ lane, at: clock.monotonic() - origin });
      if (ms > 0) await sleep(clock, ms);
    });
  return { clock, scheduler, started, add };
}

Deno.test("L3: while a more urgent lane has work, every other lane with work gets one start in any ten", async () => {
  const { clock, started, add } = busy(10);
  for (let i = 0; i < 400; i++) for (const lane of LANES) add(lane);
  await clock.advance(1_995);
  const order = started.map((s) => s.lane);
  assert(order.length >= 199, `${order.length} calls started`);
  for (let at = 0; at + 10 <= order.length; at++) {
    const ten = order.slice(at, at + 10);
    for (const lane of LANES) assert(ten.includes(lane), `no ${lane} in starts ${at}–${at + 9}: ${ten}`);
  }
  const urgent = order.filter((l) => l === "urgent").length;
  assert(urgent >= order.length / 2, `only ${urgent} of ${order.length} starts were urgent`);
});

for (const lower of ["create", "followUp", "poll"] as const) {
  Deno.test(`L3: an edit goes ahead of a thousand waiting ${lower} calls`, async () => {
    const { clock, started, add } = busy(10);
    for (let i = 0; i < 1_000; i++) add(lower);
    await clock.advance(100);
    const before = started.length;
    add("urgent");
    await clock.advance(20);
    assertEquals(started[before]?.lane, "urgent");
  });

  Deno.test(`L3: ${lower} calls alone are not slowed by the fairness`, async () => {
    const { clock, started, add } = busy(10);
    for (let i = 0; i < 50; i++) add(lower);
    await clock.advance(495);
    assertEquals(started.length, 50);
  });
}

Deno.test("A lane that had no work for long has no claim to go first", async () => {
  const { clock, started, add } = busy(10);
  for (let i = 0; i < 40; i++) add("urgent");
  await clock.advance(200);
  const at = started.length;
  add("poll");
  await clock.advance(30);
  assertEquals(started.slice(at, at + 2).map((s) => s.lane), ["urgent", "urgent"]);
});

Deno.test("Q2: after a pause no call of any lane starts before its time, and all start after it", async () => {
  const { clock, scheduler, started, add } = busy(10, { concurrency: 8 });
  add("poll");
  await clock.advance(20);
  scheduler.pause(40_000);
  scheduler.pause(5); // a shorter one does not shorten it
  const calls = LANES.flatMap((lane) => [add(lane), add(lane), add(lane)]);
  await clock.advance(39_900);
  assertEquals(started.length, 1);
  await clock.advance(200);
  await Promise.all(calls);
  assertEquals(started.length, 13);
  assert(started.slice(1).every((s) => s.at >= 40_020), JSON.stringify(started));
  assertEquals(clock.pending, 0, "no timer is left");
});

Deno.test("Q2: after a pause few calls go at once, and more with each that succeeds", async () => {
  const clock = new ManualClock();
  const scheduler = new Scheduler({ clock, concurrency: 64 });
  let running = 0, most = 0;
  const call = () =>
    scheduler.run("poll", never, async () => {
      most = Math.max(most, ++running);
      await sleep(clock, 10);
      running--;
    });
  const calls = Array.from({ length: 64 }, call);
  scheduler.pause(1_000);
  for (let i = 0; i < 20; i++) scheduler.pause(1_000); // those under way are throttled too: one cut, not twenty
  await clock.advance(999);
  assertEquals([most, running], [64, 0]);
  most = 0;
  calls.push(...Array.from({ length: 10_000 }, call));
  await clock.advance(11);
  assert(most >= 16 && most <= 20, `${most} at once after the pause`);
  await clock.advance(100);
  assert(most > 16 && most < 32, `${most} at once after 100 ms`);
  await clock.advance(5_000);
  await Promise.all(calls);
  assertEquals(most, 64);
  for (let i = 0; i < 9; i++) {
    scheduler.pause(1_000);
    await clock.advance(1_000);
  }
  most = 0;
  call();
  call();
  await clock.advance(5);
  assertEquals(most, 1, "never none");
  await clock.advance(100);
});

Deno.test("No more than the given number of calls run at once, whoever fails", async () => {
  const clock = new ManualClock();
  const scheduler = new Scheduler({ clock, concurrency: 4 });
  let running = 0, most = 0;
  const results = Array.from({ length: 40 }, (_, i) =>
    scheduler.run("poll", never, async () => {
      most = Math.max(most, ++running);
      await sleep(clock, 10);
      running--;
      if (i % 3 === 0) throw new Error(`call ${i}`);
      return i;
    }));
  const settled = Promise.allSettled(results);
  await clock.advance(1_000);
  const outcomes = await settled;
  assertEquals(most, 4);
  assertEquals(outcomes.filter((o) => o.status === "rejected").length, 14);
  assertEquals([scheduler.depth, scheduler.running, clock.pending], [0, 0, 0]);
});

Deno.test("The rate holds over any second beyond the first burst, in every lane", async () => {
  const { clock, started, add } = busy(0, { concurrency: 64, ratePerSecond: 20 });
  for (let i = 0; i < 300; i++) add(LANES[i % 4]!);
  await clock.advance(10_000);
  assert(started.length >= 219 && started.length <= 221, `${started.length} starts in 10 s`);
  for (let second = 1; second < 10; second++) {
    const n = started.filter((s) => s.at >= second * 1_000 && s.at < (second + 1) * 1_000).length;
    assert(n <= 21, `${n} starts in second ${second}`);
  }
});

Deno.test("A rate below one a second is kept, and the queue drains without a spinning timer", async () => {
  const { clock, started, add } = busy(0, { ratePerSecond: 0.5 });
  for (let i = 0; i < 4; i++) add("poll");
  let fired = 0;
  for (; await clock.step(); fired++) assert(fired < 20, "timers spin");
  assertEquals(started.map((s) => Math.round(s.at / 1_000)), [0, 2, 4, 6]);
});

Deno.test("A call whose signal aborts leaves the queue at once and never starts", async () => {
  const { clock, scheduler, started, add } = busy(100);
  add("poll");
  const abort = new AbortController();
  const waiting = add("urgent", abort.signal);
  const after = add("poll");
  assertEquals(scheduler.depth, 2);
  abort.abort(new Error("no longer wanted"));
  await assertRejects(() => waiting, Error, "no longer wanted");
  assertEquals(scheduler.depth, 1);
  await assertRejects(() => add("urgent", abort.signal), Error, "no longer wanted");
  await clock.advance(300);
  await after;
  assertEquals(started.map((s) => s.lane), ["poll", "poll"]);
});

Deno.test("An abort after the start changes nothing for the queue: the slot comes back when the call ends", async () => {
  const clock = new ManualClock();
  const scheduler = new Scheduler({ clock, concurrency: 1 });
  const abort = new AbortController();
  const running = scheduler.run("poll", abort.signal, () => sleep(clock, 100));
  abort.abort(new Error("too late"));
  assertEquals([scheduler.running, scheduler.depth], [1, 0]);
  await clock.advance(100);
  await running;
  assertEquals([scheduler.running, scheduler.depth], [0, 0]);
});

Deno.test("The queue is bounded, and says so; cancelled calls do not count", async () => {
  const { clock, scheduler, add } = busy(10, { limit: 3 });
  const abort = new AbortController();
  const calls = [add("poll"), add("poll"), add("poll"), add("poll", abort.signal)];
  await assertRejects(() => add("urgent"), QueueFullError, "3 calls wait");
  assertEquals([scheduler.depth, scheduler.queue.poll], [3, 3]);
  calls.pop()?.catch(() => {}); // its abort
  abort.abort(new Error("gone"));
  calls.push(add("urgent"));
  await clock.advance(100);
  await Promise.all(calls);
  assertEquals(scheduler.depth, 0);
});

Deno.test("Calls that come and are cancelled while the account is paused are let go", async () => {
  const { clock, scheduler, add } = busy(0);
  scheduler.pause(300_000);
  const kept = add("poll");
  let rejected = 0;
  for (let i = 0; i < 20_000; i++) {
    const abort = new AbortController();
    add("poll", abort.signal).catch(() => rejected++);
    abort.abort(new Error("cancelled"));
  }
  await settle();
  assertEquals([scheduler.depth, rejected], [1, 20_000]);
  assert(scheduler.held < 2_000, `${scheduler.held} calls are held`);
  await clock.advance(300_000);
  await kept;
  assert(scheduler.held < 2_000, `${scheduler.held} calls are held`);
});

Deno.test("A call that throws before it returns a promise rejects and gives its slot back", async () => {
  const { scheduler } = busy(0);
  await assertRejects(
    () =>
      scheduler.run("poll", never, () => {
        throw new Error("no promise at all");
      }),
    Error,
    "no promise at all",
  );
  assertEquals(scheduler.running, 0);
});

Deno.test("Seed 303: no timer is left when the last call that waited for a pause to end is cancelled", async () => {
  const { clock, scheduler, add } = busy(0);
  scheduler.pause(60_000);
  const abort = new AbortController();
  const waiting = add("poll", abort.signal);
  await settle();
  assertEquals(clock.pending, 1);
  abort.abort(new Error("cancelled"));
  await assertRejects(() => waiting, Error, "cancelled");
  assertEquals(clock.pending, 0);
});

Deno.test("Each start tells how long its call has waited, and in which lane", async () => {
  const started: string[] = [];
  const { clock, add } = busy(100, { onStart: (lane, ms) => started.push(`${lane} ${ms}`) });
  const calls = [add("poll"), add("urgent"), add("poll")];
  await clock.advance(1_000);
  await Promise.all(calls);
  assertEquals(started, ["poll 0", "urgent 100", "poll 200"]);
});

Deno.test("The time for which an account was throttled is counted once, however often it is told, and as it passes", async () => {
  const { clock, scheduler } = busy(0);
  scheduler.pause(10_000);
  scheduler.pause(4_000); // shorter than what goes on
  assertEquals(scheduler.pausedMs, 0);
  await clock.advance(6_000);
  assertEquals(scheduler.pausedMs, 6_000);
  scheduler.pause(10_000);
  await clock.advance(60_000);
  assertEquals(scheduler.pausedMs, 16_000);
});
