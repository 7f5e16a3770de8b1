/**
 * A change that another resource's adoption overtakes, or a mark that outlives its owner: the database is the other's by then
 * (S3, rules 8, 16 and 18).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

Deno.test("S3, rule 8: a delete that waits for its turn does not hit what another resource has adopted meanwhile", () =>
  inWorld({ provisionMs: 500 }, async (world) => {
    world.start({ ratePerSecond: 2 });
    const names = Array.from({ length: 40 }, (_, n) => `db-${n}`);
    for (const name of names) world.cluster.create("default", name);
    await world.until(
      "all in step",
      () => names.every((n) => world.condition(n, "Synced") === "True/Available"),
      900_000,
      1_000,
    );
    const { uid } = world.get("db-0")!.metadata;
    const id = world.get("db-0")!.status!.providerId!;
    for (const name of names) world.cluster.delete("default", name);
    const read = () => world.cloud.ledger.calls({ verb: "get" }).some((c) => c.id === id);
    world.cloud.ledger.clear();
    await world.until("it was read", read, 60_000, 10);
    const taker = world.cluster.create("default", "taker", { providerId: id }, {
      annotations: { "db.my.domain/adopt-from": uid },
    });
    await world.until("adopted", () => world.cloud.get(id)?.tags[TAG.uid] === taker.metadata.uid, 60_000, 10);
    await world.run(600_000);
    assertEquals(world.cloud.get(id)?.state, "Available");
  }));

for (const deed of ["change", "delete"] as const) {
  Deno.test(`S3, rule 8: a ${deed} that waited for its turn while another resource adopted the database is not sent`, () =>
    inWorld({ latencyMs: 1_000 }, async (world) => {
      world.start();
      await inStep(world);
      const id = world.get("orders")!.status!.providerId!;
      const a = world.get("orders")!.metadata.uid;
      const { uid } = world.cluster.create("default", "invoices", { providerId: id }).metadata;
      world.cluster.annotate("default", "invoices", { [ANNOTATION.adoptFrom]: a });
      // The tags take effect a little later than others; a slow server is normal.
      world.cloud.faults.add({ verbs: ["modify"], id, times: 1, fault: { effect: "done", delayMs: 3_000 } });
      world.cloud.faults.add({
        verbs: ["create"],
        times: 1,
        fault: { answer: { status: 429, code: "Throttled", message: "slow down", retryAfterSeconds: 30 } },
      });
      const calls = (verb: "get" | "modify") => world.cloud.ledger.calls({ verb }).length;
      const begun = calls("modify");
      await world.until("the tags are being written", () => calls("modify") > begun, 20_000, 10);
      world.cluster.create("default", "payments");
      await world.run(20);
      if (deed === "change") world.cluster.edit("default", "orders", { sizeGb: 50 });
      else world.cluster.delete("default", "orders");
      await world.run(400_000);
      const sent = world.cloud.ledger.effects({ by: "api" }).filter((e) =>
        e.id === id && e.tags[TAG.uid] === uid && (e.kind === "delete" || e.detail.includes("sizeGb"))
      );
      assertEquals(sent.map((e) => [e.kind, e.detail]), []);
      assertEquals(world.cloud.get(id)?.tags[TAG.uid], uid);
    }));
}

Deno.test("S3, rule 16: a delete of unknown outcome does not delete a database that was retained after it and adopted since", () =>
  inWorld({ effectBoundMs: 60_000 }, async (world) => {
    world.start();
    await inStep(world);
    const id = world.get("orders")!.status!.providerId!;
    world.cloud.faults.lateEffect("delete", 1, 45_000);
    world.cluster.delete("default", "orders");
    await world.until("sent", () => world.cloud.ledger.calls({ verb: "delete" }).length > 0, 20_000, 10);
    // A person has second thoughts.
    world.cluster.edit("default", "orders", { deletionPolicy: "Retain" });
    const { uid } = world.cluster.create("default", "invoices", { providerId: id }).metadata;
    await world.run(180_000);
    const deleted = world.cloud.ledger.effects({ kind: "delete", by: "api" });
    assertEquals(deleted.filter((e) => e.tags[TAG.uid] === uid).length, 0, world.describe());
    assertEquals(world.get("orders"), undefined);
  }));

Deno.test("S3, rule 18: a mark of 'retained' that takes effect late does not give the next owner's live database away", () =>
  inWorld({ effectBoundMs: 60_000 }, async (world) => {
    world.start();
    await inStep(world, "orders", { deletionPolicy: "Retain" });
    const id = world.get("orders")!.status!.providerId!;
    // The first marking loses its answer, and takes effect late; the second is answered.
    world.cloud.faults.lateEffect("modify", 1, 50_000);
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined, 40_000);
    const { uid } = world.cluster.create("default", "invoices", { providerId: id }).metadata;
    await world.available("invoices");
    await world.run(120_000);
    assertEquals(world.cloud.get(id)?.tags[TAG.uid], uid);
    // A user of another namespace, who was given nothing.
    world.cluster.create("other", "thief", { providerId: id });
    await world.run(60_000);
    assertEquals(world.cloud.get(id)?.tags[TAG.uid], uid, "taken from a resource that lives");
  }));

Deno.test("S3, rule 18: a retained tag of before a restore does not let another namespace take a living resource's database", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { uid } = world.get("orders")!.metadata;
    const id = world.get("orders")!.status!.providerId!;
    // It was deleted under Retain, and the cluster was restored to before that.
    world.cloud.edit(id, { tags: { ...world.cloud.get(id)!.tags, [TAG.retained]: uid } });
    world.cluster.create("other", "thief", { providerId: id });
    await world.run(120_000);
    assertEquals(world.cloud.get(id)?.tags[TAG.uid], uid);
  }));
