/** The supervisor: what it counts, tells and takes, in virtual time. */
import { assert, assertEquals } from "@std/assert";
import type { ExternalDatabase } from "../../src/api/schema.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

Deno.test("rule 11: a change that is judged by what was observed before counts as a hit of the cache", () =>
  inWorld({}, async (world) => {
    const asked: boolean[] = [];
    world.start({ metrics: { ...noMetrics, cache: (hit) => void asked.push(hit) } });
    await inStep(world);
    const before = asked.length;
    world.cluster.meta("default", "orders", { labels: { team: "a" } });
    await world.until("it is judged", () => asked.length > before, 5_000);
    assertEquals(asked.slice(before), [true]);
  }));

Deno.test("F2: a transition is logged with whose it is, from where, to where, by what, why and after how long", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const lines = world.lines.filter((l) => l.message === "Transition").map((l) => l.fields);
    assertEquals(lines.length, world.transitions.length);
    for (const [n, t] of world.transitions.entries()) {
      const { namespace, name, uid } = t.object.metadata;
      const { event, reason, durationMs } = t;
      assertEquals(lines[n], {
        namespace,
        name,
        uid,
        from: t.from ?? "",
        to: t.to,
        event,
        reason,
        durationMs,
      });
    }
  }));

Deno.test("rule 12: every list says who is there and who is not", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    const uid = world.get("orders")!.metadata.uid;
    const told: string[] = [];
    const { absences } = operator;
    const [present, absentAll] = [absences.present.bind(absences), absences.absentAll.bind(absences)];
    absences.present = (u) => (told.push(`present ${u}`), present(u));
    absences.absentAll = (us) => (told.push(`absent ${us}`), absentAll(us));
    operator.observer.requestRound();
    await world.until("a list", () => told.length === 2, 5_000);
    assertEquals(told, [`present ${uid}`, "absent "]);
    world.cloud.remove(world.get("orders")!.status!.providerId!);
    told.length = 0;
    operator.observer.requestRound();
    await world.until("another list", () => told.some((t) => t.startsWith("absent")), 5_000);
    assertEquals(told[0], `absent ${uid}`);
  }));

Deno.test("design 7: a supervisor that has drained takes nothing in any more", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    await inStep(world);
    const { supervisor } = operator;
    const drained = supervisor.drain(0);
    await world.run(1_000);
    await drained;
    supervisor.onUpsert(world.get("orders")!);
    await world.run(1_000);
    assertEquals([supervisor.size, supervisor.backlog], [0, 0]);
  }));

Deno.test("rule 12: a resource without any status is none that ought to have a database", () =>
  inWorld({}, async (world) => {
    const counted: number[] = [];
    const process = world.start({
      onTransition: (t) =>
        void (t.object.metadata.uid === "bare" && counted.push(supervisor.known(operator.siteOf(t.object)))),
    });
    const { operator } = process;
    const { supervisor } = operator;
    await inStep(world);
    const { metadata, status: _, ...rest } = world.get("orders")!;
    const bare = { ...rest, metadata: { ...metadata, uid: "bare", name: "bare", finalizers: [] } };
    supervisor.onUpsert(bare as unknown as ExternalDatabase);
    await world.until("it is taken in", () => counted.length > 0, 5_000);
    assertEquals(counted[0], 1);
  }));

Deno.test("rule 14: what is gone and shown again by a watch that goes on from an old version is read, and left alone (found by simulation, seed 10916)", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const old = world.get("orders");
    assert(old !== undefined);
    world.cluster.delete("default", "orders");
    await world.until("gone", () => world.get("orders") === undefined && operator.supervisor.size === 0);
    const calls = world.cloud.ledger.calls().length;
    operator.supervisor.onUpsert({ ...old, spec: { ...old.spec, sizeGb: 99 } });
    await world.run(5_000);
    assertEquals(operator.supervisor.size, 0);
    assertEquals(
      world.cloud.ledger.calls().slice(calls).filter(({ id }) => id === old.status?.providerId),
      [],
    );
  }));
