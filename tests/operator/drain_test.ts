/**
 * The end in order (design 7): a mutation that is in flight is answered and recorded before its process ends.
 */
import { assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";

Deno.test("design 7: a process that is asked to end while a create is in flight records its answer first", () =>
  inWorld({ latencyMs: 1_500 }, async (world) => {
    const process = world.start();
    world.cluster.create("default", "orders");
    await world.until("the create is sent", () => world.cloud.ledger.calls({ verb: "create" }).length === 1);
    await process.stop();
    assertEquals(world.get("orders")?.status?.providerId, world.cloud.databases()[0]?.id);
    assertEquals(world.cloud.databases().length, 1);
  }));
