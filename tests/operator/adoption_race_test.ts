/**
 * Two resources that adopt one database at the same time (D8, rule 18), in virtual time.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { sleep } from "../../src/core/wait.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import { inWorld } from "../support/world.ts";

Deno.test("D8, rule 18: of two that find one database free at once, the second does not write over the tags of the first (found by simulation)", () =>
  inWorld({ latencyMs: 100 }, async (world) => {
    const provider = createSimulatedProvider(world.cloud, { clock: world.clock });
    let changes = 0;
    world.start({
      provider: {
        ...provider,
        // The second tag write is slow on its way: by then the first one has been read again.
        modify: async (id, request, options) => {
          if (++changes === 2) await sleep(world.clock, 2_000, options.signal);
          return await provider.modify(id, request, options);
        },
      },
    });
    const { id } = world.cloud.insert();
    const names = ["orders", "invoices"];
    const uids = names.map((n) => world.cluster.create("default", n, { providerId: id }).metadata.uid);
    await world.run(60_000);
    const owners = world.cloud.ledger.effects({ kind: "modify" }).map((e) => e.tags[TAG.uid]);
    const owner = world.cloud.get(id)?.tags[TAG.uid] ?? "";
    assertEquals(owners, [owner], "the tags were written over");
    const synced = names.map((n) => world.condition(n, "Synced"));
    const won = uids.indexOf(owner);
    assertEquals([synced[won], synced[1 - won]], ["True/Available", "False/Conflict"]);
  }));

Deno.test("D8, rules 5 and 18: a database is not adopted while another's write of its tags may still take effect (found by simulation)", () =>
  inWorld({ latencyMs: 50, effectBoundMs: 30_000 }, async (world) => {
    world.start();
    const { id } = world.cloud.insert();
    world.cloud.configure({ lateEffects: 1 }); // the caller gives up, the tags are written later
    world.cluster.create("default", "orders", { providerId: id });
    await world.until(
      "the write was lost",
      () => world.cloud.ledger.calls({ verb: "modify" }).length > 0,
      60_000,
    );
    await world.run(5_000);
    world.cloud.configure({ lateEffects: 0 });
    // As a cluster restored from a backup forgets it.
    world.cluster.vanish("default", "orders");
    const { uid } = world.cluster.create("default", "invoices", { providerId: id }).metadata;
    await world.until("adopted", () => world.condition("invoices", "Synced") === "True/Available", 300_000);
    await world.run(60_000);
    assertEquals(world.cloud.get(id)?.tags[TAG.uid], uid);
    assertEquals(world.condition("invoices", "Synced"), "True/Available");
  }));
