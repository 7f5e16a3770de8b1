/**
 * Finalizer or status wiped, and reads by an interval of its own (behaviour A4, rule 11), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld } from "../support/world.ts";
import { assertQuiet, databaseOf, inStep, PERIOD } from "../support/fleet.ts";

Deno.test("A4: replaced without its finalizer, it has it back at once and nothing is created", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cluster.meta("default", "orders", { finalizers: [] });
    await world.until("it is back", () => world.get("orders")?.metadata.finalizers?.[0] === FINALIZER, 1_000);
    await assertQuiet(world, 3 * PERIOD);
    assertEquals([databaseOf(world, "orders").id, world.cloud.ledger.createEffects().length], [id, 1]);
  }));

for (const tokens of [true, false]) {
  for (const running of [true, false]) {
    for (const what of ["status", "finalizer", "finalizer and status"] as const) {
      if (what === "finalizer and status" && !running) continue; // then nothing tells it from a new one (rule 1)
      const words = `${what} wiped ${running ? "under a running operator" : "while it is down"}, ${
        tokens ? "with" : "without"
      } tokens`;
      Deno.test(`A4: ${words}: id and finalizer come back by lookup, nothing is created`, () =>
        inWorld({ clientTokens: tokens, readLagMs: 5_000 }, async (world) => {
          const first = world.start();
          await inStep(world);
          const { id } = databaseOf(world, "orders");
          await world.run(60_000);
          if (!running) first.crash();
          if (what !== "finalizer") world.cluster.setStatus("default", "orders", {});
          if (what !== "status") world.cluster.meta("default", "orders", { finalizers: [] });
          if (!running) world.start();
          await world.until("id and finalizer are back", () => {
            const { metadata, status } = world.get("orders")!;
            return status?.providerId === id && metadata.finalizers?.[0] === FINALIZER;
          });
          await world.available("orders");
          assertEquals(world.cloud.ledger.createEffects().length, 1);
          world.assertSafe();
          await assertQuiet(world, 2 * PERIOD);
        }));
    }
  }
}

Deno.test("A4: a status wiped after a second incarnation finds that one again", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.remove(databaseOf(world, "orders").id);
    await world.until("another", () => world.get("orders")?.status?.incarnation === 2, 2 * PERIOD);
    await world.available("orders");
    const { id } = databaseOf(world, "orders");
    world.cluster.setStatus("default", "orders", {});
    await world.until("its id is back", () => world.get("orders")?.status?.providerId === id);
    await world.available("orders");
    assertEquals(world.cloud.ledger.createEffects().length, 2);
    world.assertSafe();
  }));

for (const asleep of [false, true]) {
  Deno.test(
    `S3: a wiped status does not bring back a database that another resource adopted since it was last seen${
      asleep ? ", by an actor that slept" : ""
    } (seed 31161)`,
    () =>
      inWorld({}, async (world) => {
        world.start({ pollIntervalMs: 60 * PERIOD, hibernateAfterMs: asleep ? 10_000 : 3_600_000 });
        await inStep(world);
        const { id, tags } = databaseOf(world, "orders");
        await world.run(60_000);
        const { [TAG.uid]: _, ...others } = tags;
        world.cloud.edit(id, { tags: others });
        world.cluster.create("default", "heir", { providerId: id, driftPolicy: "Report" });
        await world.available("heir");
        const named: (string | undefined)[] = [];
        world.cluster.writes.length = 0;
        world.cluster.setStatus("default", "orders", {});
        await world.available("orders");
        for (const { object } of world.cluster.writes) {
          if (object.metadata.name === "orders") named.push(object.status?.providerId);
        }
        assertEquals(named.includes(id), false, `it named ${named}`);
        assertEquals(world.get("heir")?.status?.providerId, id);
        assertEquals(world.cloud.ledger.createEffects().length, 2);
      }),
  );
}

Deno.test("A4: a status that names a stranger's database harms nobody, and is healed by what carries the UID", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "victim");
    await inStep(world);
    const mine = world.get("orders")!.status!;
    const victim = databaseOf(world, "victim");
    world.cluster.setStatus("default", "orders", { ...mine, providerId: victim.id });
    world.cluster.edit("default", "orders", { sizeGb: 99 });
    await world.until(
      "healed",
      () => world.get("orders")?.status?.providerId === mine.providerId,
      2 * PERIOD,
    );
    await world.until("99 GiB", () => databaseOf(world, "orders").sizeGb === 99, 2 * PERIOD);
    await world.available("orders", "victim");
    assertEquals(databaseOf(world, "victim"), victim);
    world.assertSafe();
  }));

Deno.test("rule 11: a pollInterval shorter than the list's reads by itself, and notices a drift that soon", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "orders", { pollInterval: "10s" });
    await inStep(world, "other");
    const mark = world.cloud.ledger.mark();
    await world.run(2 * PERIOD);
    const reads = world.cloud.ledger.calls({ verb: "get", since: mark });
    assert(reads.every((c) => c.id === databaseOf(world, "orders").id), "only its own");
    assert(reads.length >= 50 && reads.length <= 66, `${reads.length} reads in ten minutes`);
    world.cloud.edit(databaseOf(world, "orders").id, { sizeGb: 10 });
    await world.until("repaired", () => databaseOf(world, "orders").sizeGb === 20, 20_000);
  }));

Deno.test("rule 11: a restart goes on reading by the shorter interval though the list fails", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await inStep(world, "orders", { pollInterval: "10s" });
    await first.stop();
    world.cloud.faults.add({ verbs: ["list"], fault: { answer: REFUSALS.forbidden } });
    world.start();
    await world.run(60_000);
    world.cloud.edit(databaseOf(world, "orders").id, { sizeGb: 35 });
    await world.until("told", () => world.get("orders")?.status?.observed?.sizeGb === 35, 30_000);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    await assertQuiet(world, PERIOD);
  }));

for (const lost of [false, true]) {
  Deno.test(
    `S3: a database whose record was refused for minutes is read again first: another resource has adopted it since, found ${
      lost ? "by its tags" : "by the create's answer"
    } (found by simulation, seed 30299)`,
    () =>
      inWorld({}, async (world) => {
        if (lost) world.cloud.faults.loseAnswer("create");
        world.start();
        await world.run(1_000);
        let refused = 0;
        world.cluster.fault = ({ verb, phase, key }) => {
          if (verb !== "patchStatus" || phase !== "before" || key?.name !== "orders") return;
          refused++;
          throw new KubeError("forbidden", "externaldatabases is forbidden");
        };
        world.cluster.create("default", "orders");
        await world.until("its record is refused", () => refused > (lost ? 4 : 1), PERIOD);
        const [made] = world.cloud.databases();
        assert(made !== undefined);
        world.cluster.create("default", "bills");
        await world.available("bills");
        const { uid } = world.get("bills")!.metadata;
        world.cloud.edit(made.id, { tags: { ...made.tags, [TAG.uid]: uid } });
        await world.run(120_000);
        world.cluster.fault = () => {};
        await world.until("orders is in step", () =>
          world.condition("orders", "Synced") === "True/Available", PERIOD);
        const named = world.cluster.writes.filter((w) =>
          w.key.name === "orders"
        )
          .map((w) => w.object.status?.providerId);
        assert(!named.includes(made.id), "another's database was recorded");
      }),
  );
}
