/**
 * The history of an actor: what it tells, what it keeps, and what it costs nobody who does not ask.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createActor, createMachine, type InspectionEvent } from "xstate";
import { messageOf } from "../../src/core/text.ts";
import { CallBook } from "../../src/operator/history/calls.ts";
import { toldOnce } from "../../src/operator/history/failure.ts";
import { History, MAX_GONE } from "../../src/operator/history/history.ts";
import { MAX_STEPS } from "../../src/operator/history/steps.ts";
import { historyOf } from "../../src/operator/history/words.ts";
import type { HistoryEntry } from "../../src/server/api/types.ts";
import { databaseOf, inStep, MINUTE, PERIOD } from "../support/fleet.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { inWorld, type World } from "../support/world.ts";

function withHistory(
  world: World,
  deps: Parameters<World["start"]>[0] = {},
  options: ConstructorParameters<typeof History>[1] = {},
) {
  const history = new History(world.clock, options);
  const process = world.start({ history, ...deps });
  const of = (name: string) => {
    const log = history.of(world.get(name)?.metadata.uid ?? "");
    assert(log !== undefined, `${name} has no history`);
    return historyOf(log).entries;
  };
  return { history, process, of };
}

/** A step in one line: event, way and calls. */
function line({ event, from, to, calls }: HistoryEntry): string {
  return [event, `${from}>${to}`, ...calls.map((c) => `${c.to}.${c.verb}=${c.outcome}`)].join(" ");
}

Deno.test("a life from new to Available is told step by step, each with the calls that its effect made", () =>
  inWorld({}, async (world) => {
    const { of } = withHistory(world);
    await world.run(500); // the account is known
    await inStep(world);
    const entries = of("orders");
    const told = entries.map(line);
    assertEquals(told[0], "start >Pending.finalize");
    assertEquals(told[1], "finalize done Pending.finalize>Creating.create kubernetes.patch=ok");
    assertEquals(told[2], "create done Creating.create>Creating.record cloud.create=ok");
    assert(
      told.includes("report done Available.report>Available.idle kubernetes.patchStatus=ok"),
      told.join("\n"),
    );
    assertEquals(entries.at(-1)?.ready, "Available");
    const create = entries[2]?.calls[0];
    assertEquals(create?.detail, 'engine "postgres", version "14.2", sizeGb 20');
    assert(entries.every((e, i) => i === 0 || e.n > entries[i - 1]!.n), "numbers grow");
  }));

Deno.test("an edit, and a drift at the cloud, are told with what was changed and what the repair brought", () =>
  inWorld({}, async (world) => {
    const { of } = withHistory(world, { hibernateAfterMs: 3_600_000 });
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.run(MINUTE);
    await world.available("orders");
    const edit = of("orders").find((e) => /spec\.sizeGb 20 → 30/.test(e.cause));
    assertEquals([edit?.event, edit?.from, edit?.to], ["object.changed", "Available.idle", "Drifted.modify"]);
    assertMatch(edit?.cause ?? "", /^Kubernetes, resourceVersion \d+: /);

    world.cloud.edit(databaseOf(world, "orders").id, { sizeGb: 25 });
    const before = of("orders").at(-1)?.n ?? 0;
    await world.run(PERIOD * 1.2);
    await world.available("orders");
    const since = of("orders").filter((e) => e.n > before);
    const drift = since.find((e) => e.event === "external.listed" && e.to.startsWith("Drifted"));
    assertMatch(drift?.cause ?? "", /^the list: the database is "Available", sizeGb 30 → 25$/);
    const repair = since.find((e) => e.event === "modify done");
    assertEquals(
      repair?.calls.filter((c) => c.verb === "modify").map((c) => `${c.outcome} ${c.detail}`),
      ["ok sizeGb 30"],
    );
    const back = since.find((e) => e.to.startsWith("Available"));
    assertMatch(back?.cause ?? "", /sizeGb 25 → 30/);
  }));

Deno.test("a failure tells its class, its message and the next try; tries that repeat are counted and not kept", () =>
  inWorld({ engines: { postgres: ["14"] } }, async (world) => {
    const { of } = withHistory(world);
    world.cluster.create("default", "orders", { version: "99" });
    await world.run(2 * 60 * MINUTE);
    const entries = of("orders");
    const failed = entries.find((e) => e.event === "create failed");
    assertMatch(
      failed?.cause ?? "",
      /^create: rejected \(\w+\): .*99.*; failure \d+ in a row, next try in \d+ (s|min)$/,
    );
    assertEquals(failed?.calls.find((c) => c.verb === "create")?.outcome, "rejected");
    assert(entries.some((e) => (e.repeated ?? 0) > 3), JSON.stringify(entries.map((e) => e.repeated)));
    assert(entries.length < 40, `${entries.length} entries`);
  }));

Deno.test("F4: a crash is told by its error, and the actor that starts after it goes on with the same history", () =>
  inWorld({}, async (world) => {
    const { of } = withHistory(world);
    await inStep(world);
    const good = world.get("orders")!.status!;
    world.cluster.setStatus("default", "orders", { ...good, conditions: 7 } as unknown as typeof good);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("crashed", () => world.lines.some((l) => /actor crashed/.test(l.message)));
    world.cluster.setStatus("default", "orders", good);
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50, 70_000);
    const entries = of("orders");
    assertMatch(
      entries.find((e) => /the actor failed/.test(e.cause))?.cause ?? "",
      /: .*(not a function|conditions)/,
    );
    assertEquals(entries[0]?.n, 1);
    assert(entries.filter((e) => e.event === "start").length >= 2);
    assert(entries.some((e) => e.calls.some((c) => c.verb === "modify" && c.outcome === "ok")));
  }));

Deno.test("a history lives through sleep and waking of its actor, and tells what it was woken for", () =>
  inWorld({}, async (world) => {
    const { of, process } = withHistory(world, { hibernateAfterMs: MINUTE });
    await inStep(world);
    await world.run(5 * MINUTE);
    assertEquals([...process.operator.supervisor.keepers][0]?.hibernating, true);
    assertEquals(of("orders").at(-1)?.event, "sleep");
    world.cluster.edit("default", "orders", { sizeGb: 40 });
    await world.run(MINUTE);
    const after = of("orders");
    const woken = after[after.findIndex((e) => e.event === "sleep") + 1];
    assertEquals([after[0]?.event, woken?.event, woken?.to], ["start", "start", "Drifted.modify"]);
    assertMatch(woken?.cause ?? "", /^the actor starts from resourceVersion \d+: spec\.sizeGb 20 → 40$/);
  }));

Deno.test("the ring is bounded, and says how much it let go", () =>
  inWorld({}, async (world) => {
    const { of, history } = withHistory(world);
    await inStep(world);
    for (let size = 21; size < 80; size++) {
      world.cluster.edit("default", "orders", { sizeGb: size });
      await world.run(20_000);
    }
    const log = history.of(world.get("orders")?.metadata.uid ?? "");
    assertEquals(log?.steps.length, MAX_STEPS);
    assert((log?.dropped ?? 0) > 0);
    assertEquals(of("orders").length, MAX_STEPS);
  }));

Deno.test("a value of any length costs little: an annotation may have a quarter of a million characters", () =>
  inWorld({}, async (world) => {
    const { history } = withHistory(world);
    await inStep(world);
    for (const letter of ["a", "b", "c"]) {
      world.cluster.annotate("default", "orders", { "db.my.domain/reconcile": letter.repeat(200_000) });
      await world.run(MINUTE);
    }
    const kept = JSON.stringify(history.of(world.get("orders")!.metadata.uid)?.steps);
    assertMatch(kept, /"a{50,}…".*"b{50,}…".*"c{50,}…"/);
    assert(kept.length < 30_000, `${kept.length} characters`);
  }));

Deno.test("the history of a resource ends with it, and the last of those that went are kept", () =>
  inWorld({}, async (world) => {
    const { history } = withHistory(world);
    for (let i = 0; i < MAX_GONE + 5; i++) world.cluster.create("default", `db-${i}`, {});
    await world.available(...Array.from({ length: MAX_GONE + 5 }, (_, i) => `db-${i}`));
    const names = new Map(world.cluster.all().map((o) => [o.metadata.uid, o.metadata.name]));
    const told: string[] = [];
    history.listen({ changed: () => {}, gone: (gone) => told.push(gone) });
    for (const name of names.values()) world.cluster.delete("default", name);
    await world.until("all are gone", () => told.length === names.size);
    assertEquals(history.of(told[0]!), undefined, "the first of them is let go");
    const last = history.lastGone("default", names.get(told.at(-1)!)!);
    assert(last !== undefined);
    const entries = historyOf(last).entries;
    assertEquals(entries.at(-1)?.to, "Finalized");
    assert(entries.some((e) => e.calls.some((c) => c.verb === "delete" && c.outcome === "ok")));
    assert(entries.some((e) => /its deletion is asked for/.test(e.cause)));
  }));

/** An actor of no other knowledge than its resource. */
function idleActor(history: History, i: number) {
  const metadata = {
    uid: `u-${i}`,
    namespace: "default",
    name: `db-${i}`,
    generation: 1,
    resourceVersion: "1",
  };
  const verdict = { status: "Unknown", reason: "Pending", message: "" };
  const machine = createMachine({
    context: {
      knowledge: { object: { metadata }, failures: {} },
      decision: { state: "Pending", step: "idle", ready: verdict, synced: verdict },
    },
    initial: "Available",
    states: { Available: { on: { "object.gone": "Finalized" } }, Finalized: { type: "final" } },
  });
  const actor = createActor(machine, { inspect: history.inspect });
  actor.subscribe({ complete: () => history.retire(metadata.uid) });
  return actor.start();
}

Deno.test("all histories together are bounded, also by what those give up that make no step any more", () => {
  const history = new History(new ManualClock(), { most: 640 });
  const uids = Array.from({ length: 60 }, (_, i) => `u-${i}`);
  const kept = () =>
    uids.map((uid) => history.of(uid)).reduce((sum, log) => sum + (log?.steps.length ?? 0), 0);
  for (let i = 0; i < uids.length; i++) {
    idleActor(history, i);
    for (let n = 0; n < 70; n++) history.crashed(`u-${i}`, new Error(`crash ${n}`));
    assert(kept() <= 640, `${kept()} steps of ${i + 1} resources`);
  }
  const { steps, dropped } = history.of("u-0")!;
  assertEquals([steps.length, steps.length + dropped], [10, 71]);
});

Deno.test("one that is retired as its actor ends, before XState tells of the last step, is not taken up again", () => {
  const history = new History(new ManualClock());
  for (let i = 0; i < MAX_GONE + 20; i++) {
    const actor = idleActor(history, i);
    assertEquals(history.configurations(), { Available: 1 });
    actor.send({ type: "object.gone" });
    assertEquals(history.configurations(), {}, "nothing of it is left");
    const log = history.lastGone("default", `db-${i}`);
    assertEquals(log?.steps.at(-1)?.route.to, "Finalized");
    assert(log?.goneAt !== undefined);
  }
  assertEquals(history.of("u-0"), undefined, "the first of them is let go");
});

Deno.test("F4: one whose actor fails in its first step is told of as it comes and as it goes", () =>
  inWorld({}, async (world) => {
    world.cluster.create("default", "orders", {});
    world.cluster.setStatus("default", "orders", { conditions: 7 } as never);
    const uid = world.get("orders")!.metadata.uid;
    const history = new History(world.clock);
    const changed = new Set<string>();
    const gone = new Set<string>();
    history.listen({ changed: (of) => void changed.add(of), gone: (of) => void gone.add(of) });
    world.start({ history });
    await world.until("crashed", () => world.lines.some((l) => /actor crashed/.test(l.message)));
    assertEquals(history.of(uid), undefined);
    assert(changed.has(uid));
    world.cluster.vanish("default", "orders");
    await world.until("told", () => gone.has(uid), MINUTE);
  }));

Deno.test("a credential in an error's URL is masked wherever the message is cut", () => {
  const url = "postgres://operator:hunter2-hunter2@db.example/x";
  for (let before = 330; before < 420; before++) {
    const history = new History(new ManualClock());
    const { signal } = new AbortController();
    const calls = history.book.begin(signal);
    const error = new Error(`${"x".repeat(before)} ${url}`);
    history.cloudCall("", { signal, verb: "get", outcome: "retryable", sentAt: 0, error });
    assert(!JSON.stringify(calls).includes("hunter2"), `after ${before} characters`);
    assertEquals(calls.length, 1);
  }
});

Deno.test("no password is in a history, of a create, of a rotation, or of a Secret that was written", () =>
  inWorld({ passwords: "always" }, async (world) => {
    const { of } = withHistory(world);
    await inStep(world);
    world.cluster.annotate("default", "orders", { "db.my.domain/rotate-password": "now" });
    await world.run(2 * MINUTE);
    const text = JSON.stringify(of("orders"));
    assertMatch(text, /"a password"|a password/);
    assertMatch(text, /createSecret|patchSecret/);
    const password = world.secrets.read("orders-connection")?.password ?? "";
    assertEquals(password.length, 32);
    assert(!text.includes(password) && !text.includes(btoa(password)));
  }));

Deno.test("what the history cannot take in is counted, told once, and costs the actor nothing", () =>
  inWorld({}, async (world) => {
    const lines: string[] = [];
    let failures = 0;
    const onFailure = toldOnce({
      log: { log: (level, message) => void lines.push(`${level} ${message}`) },
      metrics: { noteFailed: () => failures++ },
    });
    const seen: InspectionEvent[] = [];
    const inspect = (inspection: InspectionEvent) => void seen.push(inspection);
    const { history, process, of } = withHistory(world, { inspect }, { onFailure });
    history.listen({
      changed: () => {
        throw new TypeError("an onlooker that fails");
      },
      gone: () => {},
    });
    await inStep(world);
    assert(failures > 3, `${failures} failures`);
    const event = new Proxy({}, {
      get: () => {
        throw new TypeError("an event that fails whoever looks at it");
      },
    });
    for (const type of ["@xstate.microstep", "@xstate.snapshot"] as const) {
      const before = failures;
      history.inspect({ ...seen.findLast((inspection) => inspection.type === type)!, event } as never);
      assert(failures > before, type);
    }
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.run(MINUTE);
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").sizeGb, 30);
    assertEquals([of("orders").some((e) => e.event === "crash"), process.operator.supervisor.size], [
      false,
      1,
    ]);
    assertEquals(lines, ["error A step could not be noted in the history; further ones are only counted"]);
  }));

Deno.test("a request that was done counts as done, whether or not it can be noted", async () => {
  let failures = 0;
  const book = new CallBook(new ManualClock(), () => failures++);
  const { signal } = new AbortController();
  const calls = book.begin(signal) as unknown[];
  calls.push = () => {
    throw new RangeError("no more room");
  };
  assertEquals(await book.kubernetes(signal, "patch", undefined, () => Promise.resolve("done")), "done");
  assertEquals(failures, 1);
});

Deno.test("every error has a message, whatever was thrown", () => {
  const hostile = new Error("x");
  Object.defineProperty(hostile, "message", {
    get: () => {
      throw new Error("not even that");
    },
  });
  for (const thrown of [Object.create(null), Symbol("s"), hostile, undefined, { toString: () => 1n }]) {
    assertEquals(typeof messageOf(thrown), "string");
  }
});
