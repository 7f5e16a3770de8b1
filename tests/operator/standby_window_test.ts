/**
 * Rule 5 for a process that stood by: its settle window begins as it takes the lease, not as it was born.
 */
import { assert, assertEquals } from "@std/assert";
import { noMetrics } from "../../src/core/metrics.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createOperator } from "../../src/operator/operator.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { inWorld } from "../support/world.ts";

Deno.test("Rule 5: a process that stood by for long looks for another's create through the whole window after it takes the lease", () =>
  inWorld({ readLagMs: 20_000, effectBoundMs: 10_000, clientTokens: false }, async (world) => {
    const { clock, cluster, cloud } = world;
    const standby = createOperator({
      cluster,
      provider: createSimulatedProvider(cloud, { clock }),
      recorder: { record: () => {} },
      clock,
      random: seededRandom(1),
      log: { log: () => {} },
      metrics: noMetrics,
    });
    await world.run(600_000);
    const first = world.start();
    cloud.faults.loseAnswer("create");
    cluster.create("default", "orders");
    await world.until("the create was sent", () => cloud.ledger.createEffects().length === 1, 10_000);
    first.crash();
    const stop = new AbortController();
    const takenAt = clock.monotonic();
    const running = standby.run(stop.signal);
    try {
      await world.available("orders");
      assertEquals(cloud.ledger.createEffects().length, 1, "a second database was made");
      assert(clock.monotonic() > takenAt);
    } finally {
      stop.abort(new Error("the test ends"));
      const drained = standby.drain(1_000);
      await world.run(2_000);
      await Promise.all([drained, running]);
    }
  }));
