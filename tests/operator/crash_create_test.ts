/**
 * Rule 5 across a crash of one actor (F4): what its create may still bring is not forgotten with it.
 */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { inWorld } from "../support/world.ts";

Deno.test("rule 5: an actor that crashes while its create's outcome is unknown looks for it through the whole window", () =>
  inWorld({ clientTokens: false, readLagMs: 5_000, effectBoundMs: 60_000 }, async (world) => {
    world.start();
    await world.run(600_000); // the window of the process itself is long over
    world.cloud.faults.lateEffect("create", 1, 55_000);
    world.cluster.create("default", "orders");
    const creates = () => world.cloud.ledger.calls({ verb: "create" }).length;
    await world.until("the create is sent", () => creates() === 1, 5_000);
    world.cluster.setStatus("default", "orders", { conditions: 7 } as unknown as ExternalDatabaseStatus);
    const crashed = () => world.lines.some((l) => /actor crashed/.test(l.message));
    await world.until("the actor crashes", crashed, 40_000);
    world.cluster.setStatus("default", "orders", {} as ExternalDatabaseStatus);
    await world.run(300_000);
    assertEquals(world.cloud.ledger.createEffects().length, 1, "a second database was made");
    await world.available("orders");
    assert(creates() >= 1);
    world.assertSafe();
  }));
