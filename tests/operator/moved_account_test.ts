/**
 * A change that was decided by what one account holds is not sent to another, which may call a database of somebody else's
 * by the same id (S3, A2).
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { amongAccounts } from "./classes_support.ts";

const gold = { provider: "simulated", parameters: { cloud: "gold" } } as const;

for (const deed of ["change", "delete"] as const) {
  Deno.test(`S3, A2: a ${deed} whose database was read before its class led to another account is not sent there`, () =>
    amongAccounts(async (accounts) => {
      const { world, classes } = accounts;
      const { clock } = world;
      for (const account of ["gold", "other"]) {
        accounts.clouds.set(account, new SimulatedCloud({ clock, random: { next: () => 0.5 }, account }));
      }
      classes.apply("gold", gold);
      accounts.start();
      world.cluster.create("default", "orders", { className: "gold" });
      await world.available("orders");
      const id = world.get("orders")!.status!.providerId!;
      // Ids are unique in an account (and region) alone: there it is somebody else's.
      assertEquals(accounts.cloud("other").insert({ tags: {} }).id, id);
      await world.run(10_000);
      const reads = () => accounts.cloud("gold").ledger.calls({ verb: "get" }).length;
      const before = reads();
      accounts.cloud("gold").faults.add({ verbs: ["get"], id, times: 1, fault: { delayMs: 3_000 } });
      if (deed === "change") world.cluster.edit("default", "orders", { sizeGb: 50 });
      else world.cluster.delete("default", "orders");
      await world.until("it is being read", () => reads() > before, 60_000, 10);
      classes.apply("gold", { ...gold, parameters: { cloud: "other" } });
      await world.run(60_000);
      const sent = accounts.cloud("other").ledger.mutatingCalls().map((c) => `${c.verb} ${c.id}`);
      assertEquals(sent, [], world.describe());
    }));
}
