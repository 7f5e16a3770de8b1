/**
 * Which account holds a database is known though its status is wiped: another's word of it counts for nothing (A2, S1, S2).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

Deno.test("S1, A2: after a restart a wiped status and another account for forty seconds bring no second one there", () =>
  inWorld({ provisionMs: 500 }, async (world) => {
    const first = world.start();
    await inStep(world);
    first.crash();
    const down = world.cloud.faults.add({
      verbs: ["list"],
      fault: { answer: { status: 503, code: "Unavailable", message: "later" } },
    });
    world.start();
    await world.run(70_000);
    const own = world.cloud.settings.account;
    const asked = () => world.cloud.ledger.calls({ verb: "info" as never }).length;
    const before = asked();
    await world.until("the account has just spoken", () => asked() > before, 120_000, 10).catch(() => {});
    await world.run(1_000);
    world.cloud.settings.account = "another";
    world.cluster.setStatus("default", "orders", {});
    down();
    await world.run(40_000);
    world.cloud.settings.account = own;
    await world.run(300_000);
    assertEquals(world.cloud.ledger.createEffects().length, 1, world.describe());
  }));

Deno.test("S2, A2, rule 16: nor does Retain let go, by another account's empty list, of what a wiped status named", () =>
  inWorld({ provisionMs: 500 }, async (world) => {
    const first = world.start();
    await inStep(world, "orders", { deletionPolicy: "Retain" });
    const { uid } = world.get("orders")!.metadata;
    first.crash();
    const down = world.cloud.faults.add({
      verbs: ["list"],
      fault: { answer: { status: 503, code: "Unavailable", message: "later" } },
    });
    world.start();
    await world.run(71_000);
    const own = world.cloud.settings.account;
    world.cloud.settings.account = "another";
    world.cluster.setStatus("default", "orders", {});
    world.cluster.delete("default", "orders");
    down();
    await world.run(40_000);
    world.cloud.settings.account = own;
    await world.run(600_000);
    assertEquals(world.cloud.databases().map((d) => d.tags[TAG.retained]), [uid], world.describe());
  }));

Deno.test("S1, A2, rule 24: an actor that crashed on a status which a person then wiped still knows its account", () =>
  inWorld({ provisionMs: 500 }, async (world) => {
    world.start();
    await inStep(world);
    const good = world.get("orders")!.status!;
    const absurd = { ...good, conditions: 7 } as unknown as ExternalDatabaseStatus;
    world.cluster.setStatus("default", "orders", absurd);
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    const crashed = () => world.lines.some((l) => /actor crashed/.test(l.message));
    await world.until("it crashed", crashed, 60_000, 10);
    world.cloud.settings.account = "another";
    world.cluster.setStatus("default", "orders", {});
    await world.run(600_000);
    assertEquals(world.cloud.ledger.createEffects().length, 1, world.describe());
  }));

for (const ends of ["actor crashed", "process restarted"] as const) {
  Deno.test(`S1, A2: where the ${ends} and the id could not be recorded, the account in which its database was seen is known`, () =>
    inWorld({ provisionMs: 500 }, async (world) => {
      const first = world.start();
      world.cluster.fault = ({ verb, phase }) => {
        if (verb === "patchStatus" && phase === "before") throw new KubeError("unavailable", "try later");
      };
      world.cluster.create("default", "orders");
      await world.until("it is made", () => world.cloud.ledger.createEffects().length > 0, 20_000, 10);
      await world.run(30_000);
      if (ends === "actor crashed") {
        world.cluster.setStatus("default", "orders", { conditions: 7 } as unknown as ExternalDatabaseStatus);
        world.cluster.edit("default", "orders", { sizeGb: 30 });
        const crashed = () => world.lines.some((l) => /actor crashed/.test(l.message));
        await world.until("it crashed", crashed, 60_000, 10);
        world.cluster.setStatus("default", "orders", {});
      } else {
        first.crash();
        world.start();
      }
      await world.run(70_000);
      const own = world.cloud.settings.account;
      world.cloud.settings.account = "another";
      await world.run(200_000);
      world.cluster.fault = () => {};
      await world.run(400_000);
      assertEquals(world.cloud.ledger.createEffects().length, 1, world.describe());
      assertEquals(world.condition("orders", "Synced"), "False/Conflict");
      world.cloud.settings.account = own;
      await world.available("orders");
    }));
}
