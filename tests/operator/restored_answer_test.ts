/** An answer of before a restore, which comes after it: the resource is there again, whatever the lost history said (W8, L1). @module */
import { assertEquals } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { inStep } from "../support/fleet.ts";
import { inWorld } from "../support/world.ts";

for (const kind of ["network", "notFound"] as const) {
  Deno.test(`L1, W8: a restored resource is not given up for an answer from before the restore (${kind})`, () =>
    inWorld({}, async (world) => {
      let hold: (() => void) | undefined;
      let armed = false;
      const cluster = new Proxy(world.cluster, {
        get: (t, property) => {
          const value = Reflect.get(t, property);
          if (typeof value !== "function") return value;
          if (property === "patchStatus" && armed) {
            return async () => {
              armed = false;
              await new Promise<void>((resolve) => hold = resolve);
              throw new KubeError(kind, "gone in the history that is no more", { status: 404 });
            };
          }
          return value.bind(t);
        },
      });
      const { operator } = world.start({ cluster });
      const { supervisor } = operator;
      await inStep(world);
      await world.run(5_000);
      const now = world.get("orders")!;
      const uid = now.metadata.uid;
      // The lost history: it was edited (paused), which is to be reported.
      armed = true;
      supervisor.onUpsert({
        ...now,
        spec: { ...now.spec, paused: true },
        metadata: { ...now.metadata, generation: 2, resourceVersion: "900" },
      });
      await world.until("the report is on its way", () => hold !== undefined, 10_000);
      // The cluster is restored: it has the resource as it was.
      supervisor.onUpsert(now, "900");
      await world.run(1_000);
      hold!();
      await world.run(20 * 60_000);
      const after20 = supervisor.has(uid);
      await world.run(20 * 60_000);
      assertEquals([after20, supervisor.has(uid)], [true, true], "nobody handles a resource that is there");
    }));
}
