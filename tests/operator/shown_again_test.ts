import { assertEquals } from "@std/assert";
import { inStep } from "../support/fleet.ts";
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

Deno.test("S2: one that goes by force while it is asked for is known to be gone after the next list", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start({ pollIntervalMs: 60_000 });
    const { supervisor, reflector } = operator;
    await inStep(world);
    const shown = world.get("orders")!;
    // A list of a server that lagged took it for gone.
    supervisor.onGone(shown);
    await world.run(2_000);
    assertEquals(supervisor.size, 0);
    let answer: (() => void) | undefined;
    world.cluster.fault = ({ verb, phase }) => {
      if (verb !== "get" || phase !== "after" || answer !== undefined) return;
      return new Promise<void>((resolve) => answer = resolve);
    };
    supervisor.onUpsert(shown);
    await world.until("it is asked for", () => answer !== undefined, 5_000);
    world.cluster.vanish("default", "orders");
    await world.run(2_000);
    answer!();
    await world.run(5_000);
    reflector.relist();
    await world.run(40 * 60_000);
    assertEquals(
      [supervisor.size, operator.orphans.orphans.length],
      [0, 1],
      world.describe(),
    );
  }));
