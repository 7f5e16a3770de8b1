/**
 * C6, S2: a resource that vanishes with our finalizer on it. A real API server does so with one whose finalizer was
 * written while a DELETE was under way (tests-real/operator/short_lives_test.ts shows it).
 */
import { assert, assertEquals } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { CLOUDS } from "../support/lives.ts";
import { inWorld, type World } from "../support/world.ts";

/** Makes `orders`, and lets it vanish `ms` after its finalizer was written. */
async function vanishAfter(world: World, ms: number, spec: Parameters<World["cluster"]["create"]>[2] = {}) {
  world.cluster.latencyMs = 10;
  const process = world.start({ pollIntervalMs: 30_000 });
  await world.run(1_000);
  world.cluster.create("default", "orders", spec);
  await world.until("the finalizer", () => world.get("orders")?.metadata.finalizers !== undefined, 1_000, 1);
  await world.run(ms);
  const recorded = world.get("orders")?.status?.providerId;
  world.cluster.vanish("default", "orders");
  return { process, recorded };
}

const errors = (world: World) => world.lines.filter((line) => line.level === "error");

for (const { words, settings } of CLOUDS) {
  Deno.test(`C6: a resource that vanishes at any moment before its id is recorded leaves nothing, ${words}`, async () => {
    let made = 0;
    for (const lost of [false, true]) {
      for (let ms = 0; ms < 120; ms += 3) {
        await inWorld({ ...settings, latencyMs: 40 }, async (world) => {
          if (lost) world.cloud.faults.loseAnswer("create");
          const { process, recorded } = await vanishAfter(world, ms);
          if (recorded !== undefined) return;
          await world.run(180_000);
          made += world.cloud.ledger.createEffects().length;
          assertEquals(world.cloud.databases(), [], `vanished after ${ms} ms, answer lost: ${lost}`);
          assertEquals([process.operator.supervisor.size, process.operator.orphans.orphans, errors(world)], [
            0,
            [],
            [],
          ]);
        });
      }
    }
    assert(made > 10, `only ${made} were created before their resource vanished`);
  });
}

Deno.test("S2: one whose id was recorded, or that is to be retained, is reported and not deleted", async () => {
  const cases = [[400, {}], [30, { deletionPolicy: "Retain" }]] as const;
  for (const [ms, spec] of cases) {
    await inWorld({ latencyMs: 40, readLagMs: 0 }, async (world) => {
      const { process, recorded } = await vanishAfter(world, ms, spec);
      assertEquals(recorded !== undefined, ms === 400);
      await world.run(180_000);
      assertEquals(world.cloud.ledger.effects({ kind: "delete" }), []);
      assertEquals(process.operator.orphans.orphans.length, 1);
      assert(errors(world).length > 0);
    });
  }
});

Deno.test("S2: one whose id may have been recorded by a write that was not answered is reported and not deleted (seed 29213)", () =>
  inWorld({ latencyMs: 40, readLagMs: 0 }, async (world) => {
    let records = 0;
    world.cluster.fault = ({ verb, phase }) => {
      if (verb !== "patchStatus" || phase !== "before") return;
      records++;
      // As if a restored cluster had forgotten it: the process cannot tell whether it was there.
      world.cluster.vanish("default", "orders");
      throw new KubeError("network", "the connection was closed");
    };
    world.cluster.latencyMs = 10;
    const process = world.start({ pollIntervalMs: 30_000 });
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.until("the record is sent", () => records === 1, 5_000, 1);
    await world.run(180_000);
    assertEquals(world.cloud.ledger.effects({ kind: "delete" }), []);
    assertEquals([process.operator.orphans.orphans.length, process.operator.supervisor.size], [1, 0]);
  }));

Deno.test("S2: one whose record was refused, and read again in vain, may be named by what a proxy sent twice: it is reported and not deleted (seeds 33154, 48507)", () =>
  inWorld({ latencyMs: 40, readLagMs: 0 }, async (world) => {
    let reads = 0;
    world.cluster.fault = ({ verb, phase }) => {
      if (phase !== "before") return;
      if (verb === "patchStatus" && reads === 0) {
        world.cluster.vanish("default", "orders");
        world.cluster.create("default", "orders"); // a namesake: the test of the UID refuses the patch
      }
      if (verb === "get" && reads++ === 0) throw new KubeError("network", "the connection was reset");
    };
    world.cluster.latencyMs = 10;
    const process = world.start({ pollIntervalMs: 30_000 });
    await world.run(1_000);
    const first = world.cluster.create("default", "orders").metadata.uid;
    await world.run(180_000);
    assert(reads > 0, "it was not read again");
    const made = world.cloud.ledger.createEffects().filter((e) => e.uid === first).map((e) => e.id);
    assertEquals(made.length, 1);
    assertEquals(world.cloud.databases().filter((d) => made.includes(d.id)).length, 1);
    assertEquals(process.operator.orphans.orphans.map((o) => o.id), made);
    assert(errors(world).length > 0);
  }));

Deno.test("C6: one whose record was refused, and read again, has named nothing: the database goes", () =>
  inWorld({ latencyMs: 40, readLagMs: 0 }, async (world) => {
    let writes = 0;
    world.cluster.fault = ({ verb, phase }) => {
      if (verb !== "patchStatus" || phase !== "before" || writes++ > 0) return;
      world.cluster.vanish("default", "orders");
      world.cluster.create("default", "orders"); // a namesake: the test of the UID refuses the patch
    };
    world.cluster.latencyMs = 10;
    const process = world.start({ pollIntervalMs: 30_000 });
    await world.run(1_000);
    const first = world.cluster.create("default", "orders").metadata.uid;
    await world.run(180_000);
    const made = world.cloud.ledger.createEffects().filter((e) => e.uid === first).map((e) => e.id);
    assertEquals(made.length, 1);
    assertEquals(world.cloud.databases().filter((d) => made.includes(d.id)), []);
    assertEquals([process.operator.orphans.orphans, errors(world)], [[], []]);
  }));

for (const ms of [0, 15, 2_000]) {
  Deno.test(`S2: one whose id was recorded is reported and not deleted, though its status was wiped ${ms} ms later (seed 22118)`, () =>
    inWorld({ latencyMs: 40, readLagMs: 0, provisionMs: 60_000 }, async (world) => {
      world.cluster.latencyMs = 10;
      const process = world.start({ pollIntervalMs: 30_000 });
      await world.run(1_000);
      world.cluster.create("default", "orders");
      const recorded = () => world.get("orders")?.status?.providerId !== undefined;
      await world.until("the record", recorded, 5_000, 1);
      await world.run(ms);
      world.cluster.fault = ({ verb, phase }) => {
        if (verb === "patchStatus" && phase === "before") {
          throw new KubeError("throttled", "too many requests");
        }
      };
      world.cluster.setStatus("default", "orders", {});
      await world.run(1_000);
      world.cluster.vanish("default", "orders");
      await world.run(180_000);
      assertEquals(world.cloud.ledger.effects({ kind: "delete" }), []);
      assertEquals([process.operator.orphans.orphans.length, process.operator.supervisor.size], [1, 0]);
    }));
}

Deno.test("S2: one that is being provisioned is deleted once the cloud takes a delete, over refusals and outages", async () => {
  await inWorld({ latencyMs: 40, readLagMs: 0, provisionMs: 60_000 }, async (world) => {
    const { process } = await vanishAfter(world, 30);
    world.cloud.faults.refuse("delete", { status: 500, code: "InternalError", message: "no" }, 3);
    await world.run(20_000);
    const end = world.cloud.faults.outage({ status: 503, code: "Unavailable", message: "down" });
    await world.run(60_000);
    end();
    await world.run(180_000);
    assertEquals([world.cloud.databases(), process.operator.supervisor.size], [[], 0]);
    assertEquals(process.operator.orphans.orphans, []);
  });
});

Deno.test("F4, rule 12: one whose database goes by itself before it is deleted ends without a defect, and is not counted as absent for ever", async () => {
  let gone = 0;
  for (let ms = 0; ms < 600; ms += 20) {
    await inWorld({ latencyMs: 200, readLagMs: 0, provisionMs: 100 }, async (world) => {
      const { process } = await vanishAfter(world, 150);
      await world.until("the database", () => world.cloud.databases()[0]?.state === "Available", 2_000, 10);
      await world.run(ms);
      const [database] = world.cloud.databases();
      if (database?.state !== "Available") return;
      gone++;
      world.cloud.remove(database.id);
      const counted: string[] = [];
      const { absences } = process.operator;
      const absent = absences.absent.bind(absences);
      absences.absent = (uid) => {
        counted.push(uid);
        absent(uid);
      };
      await world.run(180_000);
      const defects = world.lines.filter((l) => l.fields["class"] === "bug").map((l) => l.message);
      assertEquals([defects, counted, process.operator.supervisor.size], [[], [], 0], `gone after ${ms} ms`);
    });
  }
  assert(gone > 10, `only ${gone} went before they were deleted`);
});

Deno.test("rule 13: while the CRD is being deleted nothing is deleted for one that vanished", async () => {
  await inWorld({ latencyMs: 40, readLagMs: 0 }, async (world) => {
    const { process } = await vanishAfter(world, 30);
    world.cluster.crd = "terminating";
    await world.run(180_000);
    assertEquals(world.cloud.ledger.effects({ kind: "delete" }), []);
    assertEquals([world.cloud.databases().length, process.operator.supervisor.size], [1, 0]);
  });
});

Deno.test("a resource that was taken for gone and is there is left alone", async () => {
  await inWorld({ latencyMs: 40, readLagMs: 0 }, async (world) => {
    world.cluster.latencyMs = 10;
    const process = world.start({ pollIntervalMs: 30_000 });
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.until(
      "the finalizer",
      () => world.get("orders")?.metadata.finalizers !== undefined,
      1_000,
      1,
    );
    // A list of a lagging API server does not show it.
    process.operator.supervisor.onGone(world.get("orders")!);
    await world.run(60_000);
    assertEquals(world.cloud.ledger.effects({ kind: "delete" }), []);
  });
});

Deno.test("S3: nobody waits for a database whose resource vanished and whose tag is gone (found by simulation, seed 867)", () =>
  inWorld({ latencyMs: 40 }, async (world) => {
    const protect = { status: 503, code: "Unavailable", message: "Service unavailable" };
    world.cloud.faults.add({ verbs: ["delete"], forMs: 60_000, fault: { answer: protect } });
    const { process, recorded } = await vanishAfter(world, 30);
    assertEquals(recorded, undefined);
    await world.run(20_000);
    const [made] = world.cloud.databases();
    assert(made !== undefined && process.operator.supervisor.size === 1, "its deletion is tried");
    const { "db.my.domain/uid": _uid, ...tags } = made.tags;
    world.cloud.edit(made.id, { tags });
    await world.run(600_000);
    assertEquals(world.cloud.databases().map((d) => d.id), [made.id], "it was touched");
    assertEquals(process.operator.supervisor.size, 0);
    assert(world.lines.some((line) => line.message.startsWith("A resource vanished")), "it is told");
  }));

Deno.test("S2, A2: other credentials for a minute do not make one that vanished forget its database (found by simulation, seed 28093)", () =>
  inWorld({ latencyMs: 40, readLagMs: 0, provisionMs: 60_000 }, async (world) => {
    const { process, recorded } = await vanishAfter(world, 30);
    assertEquals(recorded, undefined);
    await world.run(8_000);
    const { account } = world.cloud.settings;
    world.cloud.configure({ account: "another" });
    await world.run(65_000);
    assertEquals(process.operator.supervisor.size, 1, "it waits for its account");
    world.cloud.configure({ account });
    await world.run(240_000);
    assertEquals([world.cloud.databases(), process.operator.supervisor.size], [[], 0]);
  }));

Deno.test("S2, A2: nor do they where the record of its id was refused before it vanished (found by simulation, seed 56763)", () =>
  inWorld({ latencyMs: 40, readLagMs: 0, provisionMs: 60_000 }, async (world) => {
    let records = 0;
    world.cluster.fault = ({ verb, phase }) => {
      if (verb !== "patchStatus" || phase !== "before") return;
      records++;
      throw new KubeError("throttled", "too many requests");
    };
    const process = world.start({ pollIntervalMs: 30_000 });
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.until("its record", () => records > 0, 5_000, 1);
    world.cluster.vanish("default", "orders");
    await world.run(8_000);
    const { account } = world.cloud.settings;
    world.cloud.configure({ account: "another" });
    await world.run(65_000);
    assertEquals(process.operator.supervisor.size, 1, "it waits for its account");
    world.cloud.configure({ account });
    await world.run(240_000);
    assertEquals([world.cloud.databases(), process.operator.supervisor.size], [[], 0]);
  }));

for (const vanishes of [true, false]) {
  Deno.test(
    `S2, S4, A2: what a create of unknown outcome brought is not looked for in another account, ${
      vanishes ? "though its resource vanished" : "though its resource is being deleted"
    } (found by simulation, seed 56763)`,
    () =>
      inWorld({ latencyMs: 40, readLagMs: 0, provisionMs: 60_000 }, async (world) => {
        const down = { status: 503, code: "Unavailable", message: "down" };
        world.cloud.faults.loseAnswer("create");
        const end = world.cloud.faults.add({ verbs: ["list"], fault: { answer: down, effect: "none" } });
        const process = world.start({ pollIntervalMs: 30_000 });
        await world.run(1_000);
        world.cluster.create("default", "orders");
        await world.until("the create", () => world.cloud.databases().length > 0, 60_000, 1);
        await world.run(1_000);
        if (vanishes) world.cluster.vanish("default", "orders");
        else world.cluster.delete("default", "orders");
        await world.run(5_000);
        const { account } = world.cloud.settings;
        world.cloud.configure({ account: "another" });
        end();
        await world.run(120_000);
        assertEquals(process.operator.supervisor.size, 1, "it waits for its account");
        if (!vanishes) assertEquals(world.condition("orders", "Synced"), "False/Conflict");
        world.cloud.configure({ account });
        await world.run(300_000);
        assertEquals([world.cloud.databases(), process.operator.supervisor.size], [[], 0]);
      }),
  );
}
