/** What is counted as absent for a resource is counted no more once the resource is gone, however that is found out (rule 12). @module */
import { assertEquals } from "@std/assert";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

Deno.test("rule 12: an absence of one that a list alone ends is not counted for ever", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const { supervisor, reflector } = operator;
    const names = ["a", "b", "c", "d", "e"];
    for (const n of names) world.cluster.create("default", n);
    await world.available(...names);
    await world.run(120_000);
    for (const n of names) world.cloud.remove(world.get(n)!.status!.providerId!);
    operator.observer.requestRound();
    await world.until("mass absence", () => operator.absences.active, 600_000);
    // As in seed 50804: the end of the lost life was told before.
    Object.assign(supervisor, { onGone: () => {} });
    for (const n of names) {
      const { uid } = world.get(n)!.metadata;
      world.cluster.annotate("default", n, { "db.my.domain/abandon": uid });
      world.cluster.delete("default", n);
    }
    await world.until("all are gone", () => names.every((n) => world.get(n) === undefined));
    await world.run(10_000);
    reflector.relist();
    await world.run(10_000);
    assertEquals([supervisor.size, operator.absences.active], [0, false]);
  }));

Deno.test("rule 12: an absence that is read as its resource goes by force is not counted for ever", () =>
  inWorld({ latencyMs: 1_000 }, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    const { absences } = operator;
    const { metadata: { uid }, status } = world.get("orders")!;
    const told: string[] = [];
    const [absent, settled] = [absences.absent.bind(absences), absences.settled.bind(absences)];
    absences.absent = (u) => (told.push("absent"), absent(u));
    absences.settled = (u) => (told.push("settled"), settled(u));
    world.cloud.remove(status!.providerId!);
    const gets = () => world.cloud.ledger.calls({ verb: "get" }).length;
    const before = gets();
    world.cluster.delete("default", "orders");
    await world.until("the delete reads", () => gets() > before, 10_000, 1);
    world.cluster.vanish("default", "orders");
    await world.run(60_000);
    assertEquals(operator.supervisor.has(uid), false);
    // A mass absence of others, just after it, that is over.
    for (const other of ["a", "b", "c", "d"]) absences.absent(other);
    assertEquals(absences.active, true);
    for (const other of ["a", "b", "c", "d"]) absences.present(other);
    assertEquals([absences.active, absences.held], [false, 0], told.join());
  }));
