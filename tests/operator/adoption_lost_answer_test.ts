import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { inWorld } from "../support/world.ts";

for (const deletionPolicy of ["Delete", "Retain"] as const) {
  for (const lost of ["tag write", "read after it"] as const) {
    Deno.test(`rules 15, 16: an adoption whose ${lost} lost its answer is not forgotten by a deletion, ${deletionPolicy}`, () =>
      inWorld({}, async (world) => {
        const db = world.cloud.insert({ state: "Available", tags: {}, endpoint: "db.example:5432" });
        world.start();
        await world.run(1_000);
        if (lost === "tag write") world.cloud.faults.loseAnswer("modify", 1);
        world.cluster.create("default", "orders", { providerId: db.id, deletionPolicy });
        await world.until(
          "our tag is on it",
          () => world.cloud.get(db.id)?.tags[TAG.uid] !== undefined,
          5_000,
          5,
        );
        if (lost === "read after it") world.cloud.faults.loseAnswer("get", 1);
        world.cluster.delete("default", "orders");
        await world.until("orders is gone", () => world.get("orders") === undefined, 200_000);
        const left = world.cloud.get(db.id);
        if (deletionPolicy === "Delete") assertEquals(left, undefined, "S2");
        else assertEquals(typeof left?.tags[TAG.retained], "string", "marked as retained");
      }));
  }
}
