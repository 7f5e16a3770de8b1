import { assert, assertEquals } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { inStep, modifies } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

Deno.test("S5: a delete that is accepted without effect is repeated in ever longer steps, said, and ends when it helps", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const id = world.get("orders")?.status?.providerId ?? "";
    const mark = world.cloud.ledger.mark();
    world.cluster.delete("default", "orders");
    // The cloud says yes each time, and the database is back as it was.
    for (let passed = 0; passed < 600_000; passed += 250) {
      await world.run(250);
      if (world.cloud.get(id)?.state === "Deleting") world.cloud.edit(id, { state: "Available" });
    }
    const deletes = world.cloud.ledger.calls({ verb: "delete", since: mark }).length;
    assert(deletes >= 3 && deletes <= 10, `${deletes} deletes in ten minutes`);
    const reads = world.cloud.ledger.calls({ verb: "get", since: mark }).length;
    assert(reads < 120, `${reads} reads in ten minutes`);
    assertEquals(world.condition("orders", "Synced"), "False/DeleteFailed");
    await world.until("orders is gone", () => world.get("orders") === undefined, 1_300_000, 1_000);
    world.assertSafe();
  }));

Deno.test("Q2: an account that throttles without a time is asked in ever longer steps", () =>
  inWorld({ provisionMs: 100 }, async (world) => {
    world.start();
    await world.run(1_000);
    world.cloud.faults.outage({ status: 429, code: "Throttled", message: "Slow down" }, 120_000);
    for (let i = 0; i < 50; i++) world.cluster.create("default", `db-${i}`);
    await world.run(1_000);
    const mark = world.cloud.ledger.mark();
    await world.run(100_000);
    const calls = world.cloud.ledger.calls({ since: mark }).length;
    assert(calls <= 12, `${calls} calls in a hundred seconds of 429`);
    await world.available(...Array.from({ length: 50 }, (_, i) => `db-${i}`));
    world.assertSafe();
  }));

Deno.test("S5: a change that does not help is not sent without end while the status cannot be written", () =>
  inWorld({ stubborn: ["sizeGb"] }, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    world.cluster.fault = ({ verb, phase }) => {
      if (verb === "patchStatus" && phase === "before") {
        throw new KubeError("forbidden", "denied by a webhook");
      }
    };
    await world.run(600_000);
    assert(modifies(world).length <= 4, `${modifies(world).length} changes in ten minutes`);
  }));
