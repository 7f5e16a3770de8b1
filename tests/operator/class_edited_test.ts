/**
 * A class that is edited while an effect has its turn to come: what is sent goes by the class as it is then.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { ClassSpec } from "../../src/api/class_schema.ts";
import { type Accounts, amongAccounts } from "./classes_support.ts";

const gold = { provider: "simulated", parameters: { cloud: "gold" } } as const;

/** `stir` brings a delete or a change of `orders`; while the read before it takes long, the class gets other defaults. */
async function whileReading(
  accounts: Accounts,
  stir: () => void,
  defaults: NonNullable<ClassSpec["defaults"]>,
): Promise<void> {
  const { world, classes } = accounts;
  classes.apply("gold", gold);
  accounts.start();
  world.cluster.create("default", "orders", { className: "gold" });
  await world.available("orders");
  const id = world.get("orders")!.status!.providerId!;
  const { ledger, faults } = accounts.cloud("gold");
  const before = ledger.calls({ verb: "get" }).length;
  faults.add({ verbs: ["get"], id, times: 2, fault: { delayMs: 3_000 } });
  stir();
  await world.until("read", () => ledger.calls({ verb: "get" }).length > before, 60_000, 10);
  await world.run(500);
  classes.apply("gold", { ...gold, defaults });
}

Deno.test("rule 9: a delete that was queued is not sent once the class keeps what its resources name no policy for", () =>
  amongAccounts(async (accounts) => {
    const { world } = accounts;
    await whileReading(accounts, () => world.cluster.delete("default", "orders"), {
      deletionPolicy: "Retain",
    });
    await world.until("let go", () => world.get("orders") === undefined);
    assertEquals(accounts.names("gold"), ["orders"], world.describe());
  }));

Deno.test("rule 8: a change is not sent once the class only reports what its resources name no policy for", () =>
  amongAccounts(async (accounts) => {
    const { world } = accounts;
    await whileReading(accounts, () => world.cluster.edit("default", "orders", { sizeGb: 50 }), {
      driftPolicy: "Report",
    });
    await world.until("told", () => world.condition("orders", "Synced") === "False/DriftReported");
    assertEquals(accounts.cloud("gold").ledger.calls({ verb: "modify" }), []);
  }));

for (const adopts of [false, true]) {
  Deno.test(`Classes: what a class does not allow any more is not ${adopts ? "adopted" : "created"}, though its turn had been asked for`, () =>
    amongAccounts(async (accounts) => {
      const { world, classes } = accounts;
      const rateLimit = { concurrency: 1 };
      classes.apply("gold", { ...gold, rateLimit });
      accounts.start();
      await world.until("ready", () => classes.condition("gold", "Ready") === "True/Available");
      const cloud = accounts.cloud("gold");
      const { id } = cloud.insert({ name: "old" });
      // Its one call at a time takes long.
      cloud.faults.add({ verbs: adopts ? ["get"] : ["create"], times: 1, fault: { delayMs: 8_000 } });
      const busy = cloud.ledger.calls().length;
      if (!adopts) world.cluster.create("default", "first", { className: "gold" });
      await world.run(300);
      world.cluster.create("default", "orders", { className: "gold", ...(adopts ? { providerId: id } : {}) });
      await world.run(2_000);
      assertEquals(cloud.ledger.calls().length > busy, true);
      classes.apply("gold", { ...gold, rateLimit, allowed: { sizeGb: { max: 10 } } });
      await world.until("told", () => world.condition("orders", "Synced") === "False/NotAllowed");
      await world.run(30_000);
      const mine = cloud.ledger.mutatingCalls().filter((c) => JSON.stringify(c).includes("orders"));
      assertEquals(mine, [], world.describe());
    }));
}
