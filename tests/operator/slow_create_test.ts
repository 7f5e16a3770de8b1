/**
 * A create that waits for its turn is not sent once the operator has read that it is not wanted (rule 14).
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { inWorld } from "../support/world.ts";

const CASES = [
  { seed: 5_001, what: "paused", refused: false },
  { seed: 5_001, what: "deleted", refused: false },
  { seed: 64_295, what: "deleted", refused: true },
] as const;

for (const { seed, what, refused } of CASES) {
  const how = refused ? "read after its own report was refused" : "own report's answer";
  Deno.test(`Seed ${seed}: a create in the queue is not sent when its ${how} shows the resource ${what}`, () =>
    inWorld({ latencyMs: 3_000 }, async (world) => {
      const watch = world.cluster.watch.bind(world.cluster);
      world.cluster.watch = async function* (request) {
        for await (const event of watch(request)) {
          // A watch that lags does not tell of it.
          if (event.type === "BOOKMARK") continue;
          const { spec, metadata } = event.object;
          if (spec.paused || metadata.deletionTimestamp !== undefined) return;
          yield event;
        }
      };
      world.start({ concurrency: 1, reflector: { bookmarkLimitMs: 600_000 } });
      world.cluster.create("default", "first");
      world.cluster.create("default", "second");
      const finalized = (name: string) => world.get(name)?.metadata.finalizers !== undefined;
      await world.until("both are to be created", () => finalized("first") && finalized("second"), 900, 10);
      const name = "second"; // behind the first in the queue
      const uid = world.get(name)?.metadata.uid;
      assert(uid !== undefined);
      if (what === "paused") world.cluster.edit("default", name, { paused: true });
      else world.cluster.delete("default", name);
      const patchStatus = world.cluster.patchStatus.bind(world.cluster);
      if (refused) {
        world.cluster.patchStatus = (key, operations, options) =>
          key.name === name
            ? Promise.reject(new KubeError("invalid", "the request was denied by an admission webhook"))
            : patchStatus(key, operations, options);
      }
      await world.run(12_000);
      const creates = world.cloud.ledger.calls({ verb: "create" }).map((c) => c.uid);
      assertEquals(creates, [world.get("first")?.metadata.uid], "sent though it was known");
    }));
}
