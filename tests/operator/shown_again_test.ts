import { assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";

Deno.test("W8: a released resource that a lagging watch shows again is no resource that went by force (found by soak, seed 11)", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await world.run(1_000);
    world.cluster.create("default", "orders", { deletionPolicy: "Retain" });
    await world.available("orders");
    world.cluster.delete("default", "orders");
    const before = world.get("orders")!;
    await world.until("orders is gone", () => world.get("orders") === undefined);
    await world.run(1_000);
    for (let i = 0; i < 2; i++) {
      operator.supervisor.onUpsert(before);
      await world.run(10_000);
    }
    assertEquals(world.lines.filter((line) => line.level === "error"), []);
    assertEquals(operator.supervisor.size, 0);
    world.cloud.databases().forEach((d) => world.cloud.remove(d.id));
  }));

Deno.test("S2: a resource that does go by force is still told", () =>
  inWorld({}, async (world) => {
    world.start();
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.vanish("default", "orders");
    await world.run(10_000);
    const told = world.lines.filter((line) => line.message.startsWith("A resource is gone while"));
    assertEquals(told.length, 1);
  }));

Deno.test("W8: the actor of a released resource whose end is told before it is there again ends with the next list (seed 50804)", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const { supervisor, reflector } = operator;
    world.cluster.create("default", "orders");
    await world.available("orders");
    // What the watch told of the cluster's lost life was told already when the restored one has the resource again.
    Object.assign(supervisor, { onGone: () => {} });
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    await world.run(10_000);
    assertEquals([supervisor.size, reflector.size], [1, 0]);
    reflector.relist();
    await world.run(10_000);
    assertEquals(supervisor.size, 0);
  }));
