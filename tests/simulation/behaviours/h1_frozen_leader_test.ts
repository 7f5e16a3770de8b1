/**
 * H1: the leader freezes for longer than its lease, another takes over, the first wakes. It sends nothing without a
 * lease younger than the renew deadline, and ends.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Action } from "../../../src/simulation/plan.ts";
import type { SimulatedProcess } from "../../../src/simulation/process.ts";
import { assertOneEach, each, EXTREMES, HOUR, MINUTE, play, SECOND, type Stage } from "./support.ts";

/** How long it is frozen, in milliseconds: past lease and renew deadline. */
const FROZEN_MS = 40 * SECOND;

/** Tells the judges how long a process may be frozen; it never happens, for faults have ended by then. */
const LONG: Action = { at: 24 * HOUR, do: "freeze", nth: 0, ms: FROZEN_MS };

/** Freezes who leads, as soon as somebody does. */
async function freezeLeader(stage: Stage): Promise<SimulatedProcess> {
  await stage.until("somebody leads", () => stage.world.working !== undefined);
  const leader = stage.world.working;
  assert(leader !== undefined);
  leader.clock.freeze();
  return leader;
}

/** What the frozen process did at the cloud after it woke: it must be nothing. */
function assertSilentSince(stage: Stage, { name }: SimulatedProcess, wokeAt: number): void {
  const calls = stage.cloud.ledger.calls().filter((c) =>
    c.caller === name && c.at - stage.world.origin >= wokeAt
  );
  assertEquals(calls.map((c) => `${c.verb} ${c.id ?? c.uid ?? ""}`), [], "called the cloud after it woke");
}

/** The whole life of one resource, with a leader that is frozen `at` milliseconds into it. */
async function life(stage: Stage, at: number): Promise<void> {
  const woken = stage.pause(at).then(async () => {
    const leader = await freezeLeader(stage);
    await stage.pause(FROZEN_MS);
    leader.clock.wake();
    return { leader, wokeAt: stage.time };
  });
  stage.create("a");
  await stage.until("made", () => stage.inStep("a"), 2 * MINUTE);
  stage.edit("a", { sizeGb: 40 });
  await stage.until("grown", () => stage.inStep("a") && stage.database("a").sizeGb === 40, 2 * MINUTE);
  stage.remove("a");
  await stage.gone("a", 2 * MINUTE);
  const { leader, wokeAt } = await woken;
  await stage.pause(3 * SECOND);
  assertSilentSince(stage, leader, wokeAt);
  assert(!leader.alive, "it lives on without its lease");
  assertEquals(stage.effects("create").length, 1);
  assertEquals(stage.effects("delete").length, 1);
  assert(stage.effects("modify").length <= 2, "changed again and again");
}

each(
  EXTREMES,
  (words) =>
    `H1: frozen at any moment of a life (${words}): another goes on, the first wakes, sends nothing and ends`,
  async (cloud) => {
    for (let at = 1; at < 3_000; at += 97) {
      await play(
        { minutes: 8, plan: { seed: at, replicas: 2, cloud, actions: [LONG] } },
        (stage) => life(stage, at),
      );
    }
  },
);

type Verb = "create" | "modify" | "delete";

/** Freezes the leader `ms` milliseconds after it sent a mutation whose answer is lost. */
async function inFlight(stage: Stage, verb: Verb, effect: "done" | "late", ms: number): Promise<void> {
  if (verb !== "create") {
    stage.create("a");
    await stage.available("a");
  } else await stage.until("somebody leads", () => stage.world.working !== undefined);
  stage.cloud.faults.add({ verbs: [verb], times: 1, fault: { answer: "lost", effect } });
  if (verb === "create") stage.create("a");
  else if (verb === "modify") stage.edit("a", { sizeGb: 40 });
  else stage.remove("a");
  await stage.until("in flight", () => stage.mutations().some((c) => c.verb === verb), MINUTE, 5);
  await stage.pause(ms);
  const leader = await freezeLeader(stage);
  const frozenAt = stage.time;
  await stage.until(
    "another leads",
    () => stage.world.processes.some((p) => p !== leader && p.working),
    MINUTE,
  );
  const done = verb === "delete"
    ? () => stage.find("a") === undefined
    : () => stage.inStep("a") && (verb === "create" || stage.database("a").sizeGb === 40);
  await stage.until("carried on", done, 2 * MINUTE);
  await stage.pause(Math.max(0, frozenAt + FROZEN_MS - stage.time));
  const wokeAt = stage.time;
  leader.clock.wake();
  await stage.pause(5 * SECOND);
  assert(!leader.alive, "it lives on without its lease");
  assertSilentSince(stage, leader, wokeAt);
  assertEquals(stage.effects(verb).length, 1, `${verb} twice`);
}

for (const verb of ["create", "modify", "delete"] as const) {
  for (const effect of ["done", "late"] as const) {
    const words = effect === "late" ? "late" : "at once";
    Deno.test(`H1: frozen with a ${verb} in flight that takes effect ${words}: one effect, carried on by the other`, async () => {
      for (let ms = 0; ms <= 80; ms += 20) {
        const plan = { replicas: 2, seed: 5 + ms, cloud: { latencyMs: 100 }, actions: [LONG] } as const;
        await play({ minutes: 10, plan }, (stage) => inFlight(stage, verb, effect, ms));
      }
    });
  }
}

Deno.test("H1: frozen for less than the renew deadline it goes on as the leader; longer, it never sends on an old lease", async () => {
  for (const seconds of [2, 5, 7, 9, 11, 13, 14.9, 16]) {
    for (let at = 300; at < 2_300; at += 500) {
      const plan = { replicas: 2, seed: seconds + at, actions: [LONG] } as const;
      await play({ minutes: 6, plan }, async (stage) => {
        const woken = stage.pause(at).then(async () => {
          const leader = await freezeLeader(stage);
          await stage.pause(seconds * SECOND);
          leader.clock.wake();
          return leader;
        });
        stage.create("a");
        await stage.available("a", 2 * MINUTE);
        stage.edit("a", { sizeGb: 40 });
        await stage.available("a", 2 * MINUTE);
        assertOneEach(stage, "a");
        const leader = await woken;
        await stage.pause(20 * SECOND);
        if (seconds <= 5) assert(leader.working, "it gave up though it had its lease");
        else assert(stage.world.working !== undefined, "nobody leads");
      });
    }
  }
});

Deno.test("H1: leader and follower frozen in turns, and a wall clock that jumps: never two at work, all ends well", () =>
  play({
    minutes: 12,
    plan: {
      replicas: 2,
      actions: [10, 50, 90, 130, 170, 210].flatMap((s, n): Action[] => [
        { at: s * SECOND, do: "freeze", nth: n % 2, ms: 30 * SECOND },
        { at: s * SECOND + 500, do: "skew", nth: 0, ms: n % 2 === 0 ? -3_600_000 : 3_600_000 },
      ]),
    },
  }, async (stage) => {
    const names = Array.from({ length: 12 }, (_, n) => `db-${n}`);
    for (const [n, name] of names.entries()) {
      stage.create(name);
      await stage.pause(20 * SECOND);
      if (n % 3 === 0) stage.remove(name);
      else stage.edit(name, { sizeGb: 40 });
    }
    const kept = names.filter((_, n) => n % 3 !== 0);
    await stage.available(kept, 3 * MINUTE);
    await stage.gone(names.filter((_, n) => n % 3 === 0), MINUTE);
    assertOneEach(stage, ...kept);
    for (const name of kept) {
      assertEquals(stage.cloud.ledger.createEffects(stage.get(name).metadata.uid).length, 1);
    }
  }));

Deno.test("H1: frozen through everything that a standby does, it wakes to write nothing to the cluster either", () =>
  play({ minutes: 8, plan: { replicas: 2, actions: [LONG] } }, async (stage) => {
    stage.create(["a", "b"]);
    await stage.available(["a", "b"], 9 * SECOND);
    await stage.pause(10 * SECOND - stage.time);
    const leader = await freezeLeader(stage);
    stage.edit("a", { sizeGb: 40 });
    stage.remove("b");
    await stage.available("a", 2 * MINUTE);
    await stage.gone("b", MINUTE);
    await stage.pause(10 * SECOND + FROZEN_MS - stage.time);
    const { rv } = stage.world.store;
    const wokeAt = stage.time;
    leader.clock.wake();
    await stage.pause(10 * SECOND);
    const writes = stage.world.store.since(rv).filter((c) => c.by === leader.name);
    assertEquals(writes.map((c) => c.object.metadata.name), []);
    assertSilentSince(stage, leader, wokeAt);
    assert(!leader.alive, "it lives on without its lease");
  }));
