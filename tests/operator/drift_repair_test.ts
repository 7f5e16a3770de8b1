/**
 * Changes sent to the cloud: sent once, counted, awaited (behaviours R4, R6, Q4; rule 8), in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld } from "../support/world.ts";
import { assertQuiet, databaseOf, inStep, modifies, PERIOD } from "../support/fleet.ts";

const POLLS = 20 * PERIOD;

for (const showPending of [true, false]) {
  Deno.test(`R4: a change that takes two minutes to show, ${showPending ? "shown" : "not shown"} as pending, is sent once`, () =>
    inWorld({ modifyMs: 120_000, showPending }, async (world) => {
      world.start();
      await inStep(world, "orders", { pollInterval: "10s" });
      world.cluster.edit("default", "orders", { sizeGb: 50, version: "15.1" });
      await world.until("told", () => world.condition("orders", "Synced") === "False/Updating", 3_000);
      assertEquals(world.condition("orders", "Ready"), "True/Available");
      await world.run(60_000);
      assertEquals(databaseOf(world, "orders").sizeGb, 20, "reads still give the old value");
      await world.available("orders");
      await assertQuiet(world, PERIOD);
      assertEquals(modifies(world), ['{"sizeGb":50,"version":"15.1"}']);
      assertEquals(world.cloud.ledger.calls({ verb: "modify" }).length, 1);
    }));
}

Deno.test("R4: killed at any time of a change, it is sent once more at most, and never while it is under way", async () => {
  for (let at = 0; at < 5_000; at += 250) {
    await inWorld({ modifyMs: 3_000, latencyMs: 400 }, async (world) => {
      world.cluster.latencyMs = 20;
      const first = world.start();
      await inStep(world);
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.run(at);
      first.crash();
      world.start();
      await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
      await world.available("orders");
      assertEquals(modifies(world).length, 1, `killed after ${at} ms`);
    });
  }
});

for (const engineCase of ["lower", "upper", "title"] as const) {
  Deno.test(`R6: a cloud that writes the engine in ${engineCase} case and completes the version shows no difference`, () =>
    inWorld({ engineCase, minorVersion: 2 }, async (world) => {
      world.start();
      await inStep(world, "orders", { engine: "PostgreSQL", version: "14" });
      assertEquals(databaseOf(world, "orders").version, "14.2");
      await assertQuiet(world, POLLS);
    }));
}

Deno.test("R6: a repair that did not stick three times stops, says so, and is tried again after hours", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    const stopped = () => world.condition("orders", "Synced") === "False/DriftNotRepairable";
    await world.until("it stops", stopped);
    assertEquals(modifies(world).length, 3);
    assertEquals(world.get("orders")?.status?.repair?.[0]?.attempts, 3);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, 3 * 3_600_000);
    await world.run(2 * 3_600_000);
    assertEquals(modifies(world).length, 4, "one more after four hours");
    await world.until("it stops again", stopped);
    await world.run(24 * 3_600_000);
    const tries = modifies(world).length;
    assert(tries >= 9 && tries <= 11, `${tries} tries in some thirty hours`);
  }));

Deno.test("R6: a restart does not forget the count, nor do ten", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    let process = world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("it stops", () => world.condition("orders", "Synced") === "False/DriftNotRepairable");
    for (let n = 0; n < 10; n++) {
      process.crash();
      process = world.start();
      await world.run(60_000);
      assertEquals(world.condition("orders", "Synced"), "False/DriftNotRepairable");
    }
    assertEquals(modifies(world).length, 3);
  }));

Deno.test("R6: one that dies in the middle of its three tries goes on counting", () =>
  inWorld({ stubborn: ["sizeGb"], modifyMs: 4_000 }, async (world) => {
    let process = world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until(
      "the second try is told",
      () => world.get("orders")?.status?.repair?.[0]?.attempts === 2,
    );
    process.crash();
    process = world.start();
    await world.until("it stops", () => world.condition("orders", "Synced") === "False/DriftNotRepairable");
    assertEquals(modifies(world).length, 3);
  }));

Deno.test("R6: an edit and a changed reconcile value bring another try, a label does not", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    const stopped = () => world.condition("orders", "Synced") === "False/DriftNotRepairable";
    await world.until("it stops", stopped);
    world.cluster.meta("default", "orders", { labels: { team: "a" } });
    await world.run(60_000);
    assertEquals(modifies(world).length, 3);
    world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "1" });
    await world.run(60_000);
    assertEquals([modifies(world).length, world.get("orders")?.status?.lastHandledReconcile], [4, "1"]);
    assert(stopped());
    world.cluster.edit("default", "orders", { onMissing: "Report" });
    await world.run(60_000);
    assertEquals(modifies(world).length, 5);
    world.cluster.edit("default", "orders", { sizeGb: 60 }); // another wish counts anew
    await world.run(60_000);
    assertEquals(modifies(world).filter((d) => d === '{"sizeGb":60}').length, 3);
    world.cloud.configure({ stubborn: [] });
    world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "2" });
    await world.available("orders");
    assertEquals([databaseOf(world, "orders").sizeGb, world.get("orders")?.status?.repair], [60, undefined]);
    await assertQuiet(world, POLLS);
  }));

Deno.test("R6: one stubborn field does not hold another back", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("it stops", () => world.condition("orders", "Synced") === "False/DriftNotRepairable");
    world.cluster.edit("default", "orders", { version: "15.0" });
    await world.until("15.0", () => databaseOf(world, "orders").version === "15.0");
    await world.until(
      "it stops again",
      () => world.condition("orders", "Synced") === "False/DriftNotRepairable",
    );
    assert(modifies(world).length <= 6, modifies(world).join());
    await assertQuiet(world, 3_600_000);
  }));

Deno.test("Q4: a change refused because the database is busy is no error, and is sent when its turn comes", () =>
  inWorld({ modifyMs: 20_000 }, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.edit(databaseOf(world, "orders").id, { state: "Modifying" }); // the provider's own upkeep
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(10_000);
    assertEquals(world.condition("orders", "Synced"), "False/Updating");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    world.cloud.edit(databaseOf(world, "orders").id, { state: "Available" });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(world.events.filter((e) => e.type === "Warning"), []);
    assertEquals(modifies(world).length, 1);
  }));

Deno.test("Q4: busy between the read and the change is no error either", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.faults.refuse("modify", { status: 409, code: "InvalidState", message: "It is Modifying" }, 3);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(modifies(world).length, 1);
    const synced = world.events.map((e) => e.reason);
    assert(!synced.includes("UpdateFailed"), synced.join());
  }));

Deno.test("an edit while a change is under way follows it, and only the last wish is sent", () =>
  inWorld({ modifyMs: 30_000 }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.run(5_000);
    for (const sizeGb of [35, 40, 50]) {
      world.cluster.edit("default", "orders", { sizeGb });
      await world.run(2_000);
    }
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(modifies(world), ['{"sizeGb":30}', '{"sizeGb":50}']);
    const refused = world.cloud.ledger.calls({ verb: "modify" }).filter((c) => c.effect === "refused");
    assertEquals(refused, [], "none was sent into a change under way");
  }));

Deno.test("an edit that comes while the change's request is queued or on its way is never answered with the old wish alone", async () => {
  for (let at = 0; at <= 1_000; at += 50) {
    await inWorld({ latencyMs: 400 }, async (world) => {
      world.start();
      await inStep(world);
      world.cluster.edit("default", "orders", { sizeGb: 30 });
      await world.run(at);
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
      await world.available("orders");
      assertEquals(world.get("orders")?.status?.observedGeneration, 3);
      assert(modifies(world).length <= 2);
    });
  }
});

Deno.test("a change that waits for its turn is not sent when another wish has come meanwhile", () =>
  inWorld({ latencyMs: 400 }, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.run(300); // the read before the change is under way
    operator.scheduler.pause(20_000);
    await world.run(1_000);
    assertEquals(operator.scheduler.depth, 1, "the change waits for the pause to end");
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(modifies(world), ['{"sizeGb":50}']);
  }));

Deno.test("a wish taken back before the change was sent sends nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.faults.outage(REFUSALS.unavailable, 20_000);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(10_000);
    world.cluster.edit("default", "orders", { sizeGb: 20 });
    await world.until("in step", () => world.get("orders")?.status?.observedGeneration === 3, 60_000);
    await world.available("orders");
    assertEquals(modifies(world), []);
  }));

for (
  const [words, fault] of [
    ["whose answer is lost", { answer: "lost", effect: "done" }],
    ["that fails with 500 after its effect", { answer: REFUSALS.internalError, effect: "done" }],
    ["that takes effect late", { answer: "lost", effect: "late" }],
    ["that is answered late", { delayMs: 9_000 }],
    ["that is never answered", { answer: "stall", effect: "done" }],
  ] as const
) {
  Deno.test(`rule 8: a change ${words} is not sent again once it took effect`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      world.cloud.faults.add({ verbs: ["modify"], times: 1, fault });
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
      await world.until("told", () => world.get("orders")?.status?.observedGeneration === 2);
      await world.available("orders");
      await assertQuiet(world, PERIOD);
      assertEquals(modifies(world), ['{"sizeGb":50}']);
      assertEquals(world.cloud.ledger.calls({ verb: "modify" }).length, 1);
    }));
}

Deno.test("rule 8: a change that was lost without effect is sent again after the effect bound", () =>
  inWorld({ effectBoundMs: 30_000 }, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.faults.add({ verbs: ["modify"], times: 1, fault: { answer: "lost", effect: "none" } });
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50);
    const [first, second, ...more] = world.cloud.ledger.calls({ verb: "modify" });
    assertEquals(more, []);
    assert(
      (second?.at ?? 0) - (first?.at ?? 0) >= 30_000,
      `after ${(second?.at ?? 0) - (first?.at ?? 0)} ms`,
    );
  }));

Deno.test("a refused change says the provider's words, is tried slowly, and is woken by an edit", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const mend = world.cloud.faults.add({
      verbs: ["modify"],
      fault: { answer: { status: 400, code: "InvalidParameter", message: "There is no version 15.99" } },
    });
    world.cluster.edit("default", "orders", { version: "15.99" });
    await world.until("told", () => world.condition("orders", "Synced") === "False/UpdateFailed");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    const message = world.get("orders")?.status?.conditions?.find((c) => c.type === "Synced")?.message;
    assertMatch(message ?? "", /There is no version 15\.99/);
    await world.run(3_600_000);
    const tries = world.cloud.ledger.calls({ verb: "modify" }).length;
    assert(tries <= 20, `${tries} tries in an hour`);
    mend();
    world.cluster.edit("default", "orders", { version: "15.9" });
    await world.until("15.9", () => databaseOf(world, "orders").version === "15.9", 5_000);
    await world.available("orders");
  }));
