/** Leader election on a manual clock: H1, rule 21. @module */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { silentLogger } from "../../src/core/log.ts";
import { seededRandom } from "../../src/core/random.ts";
import { FencedError, LeaderElector } from "../../src/kube/lease.ts";
import type { LeasePort, LeaseRecord, LeaseWrite } from "../../src/kube/lease_port.ts";
import { KubeError } from "../../src/kube/port.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";

/** One Lease, with an API server's rules. */
class World {
  record: LeaseRecord | undefined;
  version = 0;
  writes = 0;

  /** The Lease through one process's connection. `before` runs ahead of each request and may fail it; `after` may lose its answer. */
  port(
    hooks: { before?: () => Promise<void> | void; after?: (verb: string) => Promise<void> | void } = {},
  ): LeasePort {
    const save = (write: LeaseWrite): LeaseRecord => {
      this.writes++;
      return this.record = {
        resourceVersion: String(++this.version),
        holderIdentity: write.holderIdentity,
        leaseDurationSeconds: write.leaseDurationSeconds,
        acquireTime: String(write.acquireTime),
        renewTime: String(write.renewTime),
        leaseTransitions: write.leaseTransitions,
      };
    };
    const request = async (verb: string, work: () => LeaseRecord | undefined) => {
      await hooks.before?.();
      const answer = work();
      await hooks.after?.(verb);
      return answer;
    };
    return {
      get: () => request("get", () => this.record),
      create: (write) =>
        request("create", () => {
          if (this.record) throw new KubeError("conflict", "it exists");
          return save(write);
        }) as Promise<LeaseRecord>,
      update: (resourceVersion, write) =>
        request("update", () => {
          if (!this.record) throw new KubeError("notFound", "it is gone");
          if (this.record.resourceVersion !== resourceVersion) {
            throw new KubeError("conflict", "it has changed");
          }
          return save(write);
        }) as Promise<LeaseRecord>,
    };
  }
}

/** One process: its own clock, its own elector. */
function start(name: string, port: LeasePort, clock: ManualClock, seed = 1) {
  const elector = new LeaderElector({
    lease: port,
    clock,
    random: seededRandom(seed),
    log: silentLogger,
    identity: name,
  });
  const log: string[] = [];
  const stop = new AbortController();
  let done = false;
  const running = elector.run(stop.signal, {
    onStartedLeading: () => log.push("started"),
    onStoppedLeading: (reason) => log.push(`stopped: ${reason}`),
  }).then(() => done = true);
  return {
    elector,
    log,
    running,
    get done() {
      return done;
    },
    async stop() {
      stop.abort(new Error("stopping"));
      await running;
    },
  };
}

Deno.test("The first takes the lease, keeps it by one request each two seconds, and the second stands by", async () => {
  const world = new World(), clock = new ManualClock();
  const a = start("a", world.port(), clock), b = start("b", world.port(), clock, 2);
  await clock.advance(60_000);
  assertEquals([a.log, b.log], [["started"], []]);
  assertEquals([a.elector.leading, b.elector.leading, b.elector.holder], [true, false, "a"]);
  assert(world.writes >= 25 && world.writes <= 34, `${world.writes} writes in a minute`);
  assertEquals(world.record?.leaseDurationSeconds, 15);
  await Promise.all([a.stop(), b.stop()]);
  assertEquals(a.log, ["started"], "an end on request is no loss");
});

Deno.test("A leader that dies is followed after the lease's duration, counted from when the standby saw it change", async () => {
  const world = new World(), clock = new ManualClock();
  const a = start("a", world.port(), clock);
  await clock.advance(1_000);
  const b = start("b", world.port(), clock, 2);
  await clock.advance(10_000);
  await a.stop(); // without release: left to expire
  const died = clock.monotonic();
  await clock.until("the standby leads", () => b.elector.leading);
  const took = clock.monotonic() - died;
  assert(took >= 15_000 - 2_300 && took <= 15_000 + 2 * 2_500, `${took} ms`);
  assertEquals(world.record?.leaseTransitions, 1);
  await b.stop();
});

Deno.test("The time written in a lease says nothing: neither an ancient nor a future one changes when it is taken", async () => {
  for (const renewTime of ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"]) {
    const world = new World(), clock = new ManualClock();
    world.record = {
      resourceVersion: "1",
      holderIdentity: "other",
      leaseDurationSeconds: 15,
      acquireTime: renewTime,
      renewTime,
      leaseTransitions: 4,
    };
    world.version = 1;
    const a = start("a", world.port(), clock);
    await clock.advance(14_900);
    assertEquals(a.log, []);
    await clock.advance(3_000);
    assertEquals(a.log, ["started"]);
    assertEquals(world.record.leaseTransitions, 5);
    await a.stop();
  }
});

Deno.test("H1: a frozen leader that wakes after another took over may send nothing, and stops without a renewal", async () => {
  const world = new World(), frozen = new ManualClock(), clock = new ManualClock();
  const a = start("a", world.port(), frozen), b = start("b", world.port(), clock, 2);
  await settle();
  for (let i = 0; i < 10; i++) await Promise.all([frozen.advance(1_000), clock.advance(1_000)]);
  a.elector.check();
  await clock.advance(30_000); // a's process gets no time at all
  assertEquals(b.log, ["started"]);
  const writes = world.writes;
  frozen.freeze(30_000); // it wakes: the clocks have moved, no timer has fired yet
  assertThrows(() => a.elector.check(), FencedError, "not renewed within its deadline");
  await frozen.advance(0);
  assertEquals(a.log, ["started", "stopped: the lease was not renewed within its deadline"]);
  assertEquals(a.done, true);
  assertEquals(world.writes, writes);
  assertThrows(() => a.elector.check(), FencedError, "is not held");
  await b.stop();
});

Deno.test("Rule 21: the fence counts from when the renewal was sent, not from its answer", async () => {
  const world = new World(), clock = new ManualClock();
  let delay = 0;
  const slow = world.port({
    after: () => delay === 0 ? undefined : new Promise<void>((resolve) => clock.setTimeout(resolve, delay)),
  });
  const a = start("a", slow, clock);
  await settle();
  const sent = clock.monotonic();
  assertEquals(a.elector.heldUntil?.monotonic, sent + 10_000);
  delay = 4_000;
  const writes = world.writes;
  await clock.until("a renewal is sent", () => world.writes > writes, 5_000, 10);
  const renewal = clock.monotonic();
  assertEquals(a.elector.heldUntil?.monotonic, sent + 10_000, "no answer yet");
  await clock.advance(4_000);
  const held = a.elector.heldUntil?.monotonic ?? 0;
  assert(held >= renewal + 9_980 && held <= renewal + 10_000, `${held - renewal}`);
  await a.stop();
});

Deno.test("Rule 21: a step of the wall clock closes the fence until the next renewal, a step back opens nothing", async () => {
  const world = new World(), clock = new ManualClock();
  const a = start("a", world.port(), clock);
  await clock.advance(5_000);
  a.elector.check();
  clock.jumpWall(11_000);
  assertThrows(() => a.elector.check(), FencedError);
  await clock.advance(2_500);
  a.elector.check();
  clock.jumpWall(-3_600_000);
  clock.freeze(10_001);
  assertThrows(() => a.elector.check(), FencedError);
  await a.stop();
});

Deno.test("Renewals that fail are tried again; the lease is lost at the renew deadline, well before another can take it", async () => {
  const world = new World(), clock = new ManualClock();
  let failing = false;
  const a = start(
    "a",
    world.port({
      before: () => {
        if (failing) throw new KubeError("network", "down");
      },
    }),
    clock,
  );
  await clock.advance(6_000);
  failing = true;
  await clock.advance(7_000);
  failing = false;
  await clock.advance(2_500);
  assertEquals(a.log, ["started"], "seven seconds of failure are survived");
  a.elector.check();
  const held = a.elector.heldUntil?.monotonic ?? 0;
  failing = true;
  await clock.until("lost", () => a.done, 20_000, 10);
  assert(Math.abs(clock.monotonic() - held) <= 10, "exactly when it is no longer held");
  assertEquals(a.log[1], "stopped: the lease was not renewed within its deadline");
});

Deno.test("A renewal that took effect but whose answer was lost is recognised as one's own", async () => {
  const world = new World(), clock = new ManualClock();
  let lose = 0;
  const a = start(
    "a",
    world.port({
      after: (verb) => {
        if (verb === "update" && lose-- > 0) throw new KubeError("network", "reset");
      },
    }),
    clock,
  );
  await clock.advance(1_000);
  lose = 1;
  await clock.advance(20_000);
  assertEquals(a.log, ["started"]);
  a.elector.check();
  assertEquals(world.record?.leaseTransitions, 0);
  await a.stop();
});

Deno.test("An answer that comes after the lease was lost does not open the fence again", async () => {
  const world = new World(), clock = new ManualClock();
  let delay = 0;
  const wait = () =>
    delay === 0 ? undefined : new Promise<void>((resolve) => clock.setTimeout(resolve, delay));
  const a = start("a", world.port({ after: wait }), clock);
  await clock.advance(1_000);
  delay = 5_100; // each renewal takes effect, and its answer comes a little later than it is waited for
  await clock.until("lost", () => a.done, 60_000, 10);
  for (let i = 0; i < 100; i++) {
    assertThrows(() => a.elector.check(), FencedError);
    await clock.advance(100);
  }
});

Deno.test("A request that is never answered does not use up the whole renew deadline", async () => {
  const world = new World(), clock = new ManualClock();
  let stuck = 0;
  const a = start(
    "a",
    world.port({ before: () => stuck-- > 0 ? new Promise<void>(() => {}) : undefined }),
    clock,
  );
  await clock.advance(1_000);
  stuck = 1;
  await clock.advance(30_000);
  assertEquals(a.log, ["started"]);
  a.elector.check();
  await a.stop();
});

Deno.test("A timer that fires a hair before the renew deadline makes no loop of renewals (found by simulation, seed 81074)", async () => {
  class Early extends ManualClock {
    override setTimeout(fn: () => void, ms: number) {
      return super.setTimeout(fn, ms < 1e-6 ? 0 : ms - 1e-7);
    }
  }
  const world = new World(), clock = new Early();
  let cut = false, requests = 0;
  const a = start(
    "a",
    world.port({
      before: () => {
        if (!cut) return;
        if (++requests === 50) void a.stop(); // or the test would not end
        return new Promise<never>(() => {});
      },
    }),
    clock,
  );
  await clock.advance(5_000);
  cut = true;
  await clock.advance(15_000);
  assertEquals(a.log, ["started", "stopped: the lease was not renewed within its deadline"]);
  assert(requests < 5, `${requests} requests for one renewal`);
});

Deno.test("A leader that finds another's name in the lease stops at once", async () => {
  const world = new World(), clock = new ManualClock();
  const a = start("a", world.port(), clock);
  await clock.advance(5_000);
  world.record = { ...world.record!, resourceVersion: String(++world.version), holderIdentity: "thief" };
  await clock.advance(2_500);
  assertEquals(a.log, ["started", 'stopped: another holds the lease: "thief"']);
  assertThrows(() => a.elector.check(), FencedError);
});

Deno.test("A released lease is taken at the standby's next look, and the one who released sends nothing more", async () => {
  const world = new World(), clock = new ManualClock();
  const a = start("a", world.port(), clock), b = start("b", world.port(), clock, 2);
  await clock.advance(9_000);
  const released = a.elector.release(new AbortController().signal);
  assertThrows(() => a.elector.check(), FencedError);
  await clock.advance(0);
  await released;
  await a.running;
  assertEquals([world.record?.holderIdentity, world.record?.leaseDurationSeconds], ["", 1]);
  assertEquals(a.log, ["started"]);
  await clock.advance(2_500);
  assertEquals(b.log, ["started"]);
  await b.stop();
});

Deno.test("A release waits for a renewal in flight, so that the renewal cannot take the lease back", async () => {
  const world = new World(), clock = new ManualClock();
  let delay = 0;
  const slow = world.port({
    before: () => delay === 0 ? undefined : new Promise<void>((resolve) => clock.setTimeout(resolve, delay)),
  });
  const a = start("a", slow, clock);
  await clock.advance(1_000);
  delay = 1_000;
  const writes = world.writes;
  await clock.advance(1_500); // a renewal is on its way
  assertEquals(world.writes, writes);
  const released = a.elector.release(new AbortController().signal);
  for (let i = 0; i < 50; i++) {
    await clock.advance(100);
    assertThrows(() => a.elector.check(), FencedError);
  }
  await released;
  assertEquals(world.record?.holderIdentity, "");
  await clock.advance(10_000);
  assertEquals(world.record?.holderIdentity, "");
  assertThrows(() => a.elector.check(), FencedError);
  await a.running;
});

Deno.test("Of five electors with random faults over an hour, never are two inside their fence, and there is mostly one", async () => {
  const world = new World(), clock = new ManualClock(), random = seededRandom(42);
  const electors: LeaderElector[] = [];
  const stop = new AbortController();
  let running = 0;
  const port = world.port({
    before: async () => {
      if (random.next() < 0.1) throw new KubeError("network", "reset");
      await new Promise<void>((resolve) => clock.setTimeout(resolve, random.next() ** 8 * 20_000));
    },
    after: () => {
      if (random.next() < 0.1) throw new KubeError("network", "answer lost");
    },
  });
  const spawn = (slot: number, life: number) => {
    const elector = electors[slot] = new LeaderElector({
      lease: port,
      clock,
      random,
      log: silentLogger,
      identity: `${slot}-${life}`,
    });
    running++;
    elector.run(stop.signal, { onStartedLeading: () => {}, onStoppedLeading: () => {} }).then(() => {
      running--;
      if (!stop.signal.aborted) spawn(slot, life + 1); // the process restarts
    });
  };
  for (let slot = 0; slot < 5; slot++) spawn(slot, 0);
  let led = 0, looks = 0;
  for (let i = 0; i < 14_400; i++) {
    await clock.advance(250);
    const leaders = electors.filter((e) => e.leading).length;
    assert(leaders <= 1, `${leaders} leaders at ${clock.monotonic()}`);
    looks++;
    led += leaders;
    if (random.next() < 0.002) {
      await Promise.all(
        electors.filter((e) => e.leading).map((e) => {
          const released = e.release(stop.signal);
          return clock.advance(20_000).then(() => released);
        }),
      );
    }
  }
  assert(led / looks > 0.5, `a leader in ${led} of ${looks}`);
  stop.abort(new Error("stopping"));
  await clock.advance(30_000);
  assertEquals(running, 0);
});

Deno.test("Times that break the rules of the lease are refused", () => {
  const options = {
    lease: new World().port(),
    clock: new ManualClock(),
    random: seededRandom(1),
    log: silentLogger,
    identity: "a",
  };
  assertThrows(() => new LeaderElector({ ...options, leaseDurationMs: 10_000 }), RangeError);
  assertThrows(() => new LeaderElector({ ...options, retryPeriodMs: 9_000 }), RangeError);
});
