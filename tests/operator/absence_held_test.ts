/**
 * Which absences a mass absence holds, and which are asked for (rule 12).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { inWorld } from "../support/world.ts";

Deno.test("S6, rule 12: a database that failed, was asked to go and was repaired is given up in no mass absence", () =>
  inWorld({ provisionMs: 500 }, async (world) => {
    world.start();
    for (let n = 0; n < 10; n++) world.cluster.create("default", `db-${n}`);
    await world.available(...Array.from({ length: 10 }, (_, n) => `db-${n}`));
    world.cloud.settings.provisionFailures = 1;
    // The removal is not answered, and does not take effect.
    world.cloud.faults.add({ verbs: ["delete"], times: 1, fault: { answer: "lost", effect: "none" } });
    world.cluster.create("default", "orders");
    await world.until("asked", () => world.cloud.ledger.calls({ verb: "delete" }).length > 0, 60_000, 10);
    world.cloud.settings.provisionFailures = 0;
    const id = world.get("orders")!.status!.providerId!;
    world.cloud.edit(id, { state: "Available", endpoint: `${id}.db.example:5432` });
    await world.available("orders");
    await world.run(120_000); // past the effect bound
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    // For a while the account shows nothing that it has.
    const blind = world.cloud.faults.add({
      verbs: ["get"],
      fault: { answer: { status: 404, code: "NotFound", message: "no such database" } },
    });
    const moved = world.cloud.databases();
    for (const d of moved) Object.assign(d, { account: "elsewhere" });
    await world.run(900_000);
    assertEquals(world.condition("db-0", "Synced"), "False/MassAbsence");
    blind();
    for (const d of moved) Object.assign(d, { account: "simulated" });
    await world.run(900_000);
    const others = Array.from({ length: 10 }, (_, n) => world.condition(`db-${n}`, "Synced"));
    assertEquals(new Set(others), new Set(["True/Available"]));
    assertEquals(world.get("orders")?.status?.providerId, id, world.describe());
    assertEquals(world.cloud.databases().length, 11);
  }));

Deno.test("rule 12, L2: one that was lost long before does not make a mass absence endless", () =>
  inWorld({ provisionMs: 500 }, async (world) => {
    world.start();
    const names = Array.from({ length: 10 }, (_, n) => `db-${n}`);
    for (const name of names) world.cluster.create("default", name);
    world.cluster.create("default", "lost", { onMissing: "Report" });
    await world.available(...names, "lost");
    world.cloud.remove(world.get("lost")!.status!.providerId!);
    await world.run(2 * 3_600_000);
    assertEquals(world.condition("lost", "Synced"), "False/ExternalMissing");
    const moved = world.cloud.databases();
    for (const d of moved) Object.assign(d, { account: "elsewhere" });
    await world.run(900_000);
    assertEquals(world.condition("db-0", "Synced"), "False/MassAbsence");
    for (const d of moved) Object.assign(d, { account: "simulated" });
    await world.run(900_000);
    assertEquals(world.condition("db-0", "Synced"), "True/Available");
    world.cloud.remove(world.get("db-1")!.status!.providerId!);
    world.cluster.delete("default", "db-1");
    world.cloud.remove(world.get("db-2")!.status!.providerId!);
    await world.run(3_600_000);
    assertEquals([world.get("db-1"), world.condition("db-2", "Synced")], [undefined, "True/Available"]);
  }));
