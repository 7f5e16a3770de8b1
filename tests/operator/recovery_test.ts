/**
 * Every failure is told and cleared (behaviours F2, F3), in virtual time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";
import { databaseOf, inStep, message, MINUTE, PERIOD } from "../support/fleet.ts";

const statusWrites = (world: World, name: string) =>
  world.cluster.writes.filter((w) => w.verb === "patchStatus" && w.key.name === name).length;

/** One failure: what makes it, what it shows as, and what cures it. */
interface Trouble {
  readonly spec?: Partial<ExternalDatabaseSpec>;
  /** Makes the failure for `orders`, in step before unless `fresh`; the result cures it. */
  readonly make: (world: World) => (() => void) | Promise<() => void>;
  readonly fresh?: true;
  readonly shows: readonly [type: "Ready" | "Synced", is: string];
  readonly says: RegExp;
  /** Time until it shows, and until it is cured, in milliseconds. */
  readonly within?: readonly [shown: number, cured: number];
  /** How often it happens, one Event each. @default 1 */
  readonly times?: number;
}

const refused =
  (verbs: readonly ("create" | "modify" | "delete" | "get" | "list")[], text: string) => (world: World) =>
    world.cloud.faults.add({
      verbs,
      fault: { answer: { status: 400, code: "InvalidParameter", message: text } },
    });

const TROUBLES: Readonly<Record<string, Trouble>> = {
  "a refused create": {
    fresh: true,
    make: (w) => {
      w.cloud.configure({ engines: { postgres: ["15"] } });
      return () => void w.cluster.edit("default", "orders", { version: "15.1" });
    },
    shows: ["Ready", "False/CreateFailed"],
    says: /Version 14\.2 of postgres is not offered/,
    within: [2_000, 10_000],
  },
  "a refused change": {
    make: (w) => {
      const heal = refused(["modify"], "The plan allows 40 GiB")(w);
      w.cluster.edit("default", "orders", { sizeGb: 50 });
      return () => {
        heal();
        w.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "again" });
      };
    },
    shows: ["Synced", "False/UpdateFailed"],
    says: /The plan allows 40 GiB/,
    within: [2_000, 10_000],
  },
  "an invalid spec": {
    make: (w) => {
      w.cluster.edit("default", "orders", { sizeGb: 0 });
      return () => void w.cluster.edit("default", "orders", { sizeGb: 20 });
    },
    shows: ["Synced", "False/InvalidSpec"],
    says: /spec\.sizeGb is 0/,
    within: [1_000, 1_000],
  },
  "a pause": {
    make: (w) => {
      w.cluster.edit("default", "orders", { paused: true });
      return () => void w.cluster.edit("default", "orders", { paused: false });
    },
    shows: ["Synced", "False/Paused"],
    says: /spec\.paused/,
    within: [1_000, 1_000],
  },
  "throttling of a new resource": {
    fresh: true,
    make: (w) => {
      const answer = { ...REFUSALS.throttled, retryAfterSeconds: 20 };
      return w.cloud.faults.add({ verbs: ["create"], fault: { answer } });
    },
    shows: ["Ready", "False/Throttled"],
    says: /Too many requests/,
    within: [2_000, 50_000],
  },
  "revoked credentials for a new resource": {
    fresh: true,
    make: (w) => w.cloud.faults.add({ verbs: ["create"], fault: { answer: REFUSALS.forbidden } }),
    shows: ["Ready", "False/Unauthorised"],
    says: /credentials do not allow/,
    within: [2_000, 70_000],
  },
  "a provider that does not answer a new resource": {
    fresh: true,
    make: (w) => w.cloud.faults.outage(REFUSALS.unavailable),
    shows: ["Ready", "Unknown/ProviderUnavailable"],
    says: /Service unavailable/,
    within: [10_000, 70_000],
  },
  "a failed database": {
    make: (w) => {
      const { id } = databaseOf(w, "orders");
      w.cloud.edit(id, { state: "Failed" });
      return () => void w.cloud.edit(id, { state: "Available" });
    },
    shows: ["Ready", "False/DatabaseFailed"],
    says: /holds data and is not replaced/,
    within: [1.1 * PERIOD, 1.1 * PERIOD],
  },
  "drift that is only reported": {
    spec: { driftPolicy: "Report" },
    make: (w) => {
      w.cluster.edit("default", "orders", { sizeGb: 50 });
      return () => void w.cluster.edit("default", "orders", { driftPolicy: "Repair" });
    },
    shows: ["Synced", "False/DriftReported"],
    says: /sizeGb 20 → 50/,
    within: [1_000, 10_000],
  },
  "three failed provisionings": {
    fresh: true,
    make: (w) => {
      w.cloud.configure({ provisionFailures: 1 });
      return () => {
        w.cloud.configure({ provisionFailures: 0 });
        w.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "again" });
      };
    },
    shows: ["Ready", "False/ProvisioningFailed"],
    says: /3 in a row/,
    within: [200_000, 60_000],
    times: 3,
  },
};

for (
  const [words, { spec, make, fresh, shows: [type, is], says, within = [5_000, 5_000], times = 1 }] of Object
    .entries(
      TROUBLES,
    )
) {
  Deno.test(`F2: ${words} is told with reason, message and generation, once, and cleared with its cure`, () =>
    inWorld({}, async (world) => {
      world.start();
      await world.run(1_000);
      if (!fresh) await inStep(world, "orders", spec);
      const cure = await make(world);
      if (fresh) world.cluster.create("default", "orders", spec);
      await world.until(
        `${type} ${is}`,
        () => world.condition("orders", type) === is && says.test(message(world, "orders", type)),
        within[0],
      );
      const { status, metadata } = world.get("orders")!;
      assertEquals(status?.observedGeneration, metadata.generation);
      for (const c of status?.conditions ?? []) {
        assertEquals(c.observedGeneration, metadata.generation, c.type);
        assert(c.message.length > 0 && c.reason.length > 0);
      }
      const reason = world.get("orders")?.status?.conditions?.find((c) => c.type === "Synced")?.reason;
      if (reason !== "Creating") {
        const events = world.events.filter((e) => e.reason === reason);
        assertEquals(events.length, times, `Events of ${reason}`);
      }
      // L4: a state that lasts is not written again and again: the steps of its back-off are bounded.
      await world.run(30 * MINUTE);
      const before = statusWrites(world, "orders");
      await world.run(2 * 60 * MINUTE);
      const more = statusWrites(world, "orders") - before;
      assert(more <= 9, `${more} status writes in two hours of the same trouble`);
      await cure();
      await world.until("cured", () =>
        world.condition("orders", "Ready") === "True/Available" &&
        world.condition("orders", "Synced") === "True/Available", Math.max(within[1], 600_000 * 1.1));
      world.assertSafe();
    }));
}

Deno.test("F2: a status that cannot be written for a while is written when it can be, and nothing hangs on it", async () => {
  for (
    const kind of ["server", "conflict", "invalid", "network", "throttled", "forbidden", "tooLarge"] as const
  ) {
    await inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      world.cluster.fault = ({ verb, phase }) => {
        if (verb === "patchStatus" && phase === "before") throw new KubeError(kind, "no write now");
      };
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.until("50 GiB all the same", () => databaseOf(world, "orders").sizeGb === 50);
      const calls = world.cloud.ledger.calls().length;
      await world.run(10 * MINUTE);
      assert(world.cloud.ledger.calls().length - calls < 60, "no loop at the cloud");
      world.cluster.fault = () => {};
      await world.until("told", () => world.get("orders")?.status?.observedGeneration === 2, 40_000);
      await world.available("orders");
      assertEquals(world.get("orders")?.status?.observed?.sizeGb, 50);
    });
  }
});

Deno.test("L2: a deletion ends though its status cannot be written at all", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cluster.fault = ({ verb, phase }) => {
      if (verb === "patchStatus" && phase === "before") throw new KubeError("forbidden", "no write for you");
    };
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("F2: a status write whose answer is lost, each time, ends in the right status and no loop", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    let lost = 0;
    world.cluster.fault = ({ verb, phase }) => {
      if (verb !== "patchStatus" || phase !== "after" || lost >= 5) return;
      lost++;
      throw new KubeError("network", "the connection broke");
    };
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("told", () => world.get("orders")?.status?.observed?.sizeGb === 50);
    await world.available("orders");
    const { resourceVersion } = world.get("orders")!.metadata;
    await world.run(PERIOD);
    assertEquals(world.get("orders")?.metadata.resourceVersion, resourceVersion);
    assert(lost > 0);
  }));

Deno.test("F3: a changed reconcile value is observed once, at once, and acknowledged", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    await world.run(10 * MINUTE);
    for (const value of ["1", "2", "2026-01-01T00:00:00Z"]) {
      const mark = world.cloud.ledger.mark();
      const writes = world.cluster.writes.length;
      world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: value });
      await world.run(500);
      assertEquals(world.cloud.ledger.calls({ since: mark }).map((c) => c.verb), ["get"], "at once");
      assertEquals(world.get("orders")?.status?.lastHandledReconcile, value);
      assertEquals(world.cluster.writes.length, writes + 1);
      await world.run(MINUTE);
      assertEquals(world.cloud.ledger.calls({ verb: "get", since: mark }).length, 1, "once");
    }
  }));

Deno.test("F3: it is answered in an outage too, when that is over, and a restart does not lose it", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await inStep(world);
    const heal = world.cloud.faults.outage(REFUSALS.unavailable);
    world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: "1" });
    await world.run(MINUTE);
    assertEquals(world.get("orders")?.status?.lastHandledReconcile, undefined);
    first.crash();
    world.start();
    await world.run(MINUTE);
    heal();
    await world.until(
      "acknowledged",
      () => world.get("orders")?.status?.lastHandledReconcile === "1",
      40_000,
    );
    await world.available("orders");
  }));

Deno.test("F3: it ends a long back-off at once, with and without a database", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const heal = refused(["modify", "create"], "not now")(world);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    world.cluster.create("default", "fresh");
    await world.run(20 * MINUTE);
    heal();
    for (const name of ["orders", "fresh"]) {
      world.cluster.annotate("default", name, { [ANNOTATION.reconcile]: "1" });
    }
    await world.until("50 GiB", () => databaseOf(world, "orders").sizeGb === 50, 5_000);
    await world.available("orders", "fresh");
    for (const name of ["orders", "fresh"]) assertEquals(world.get(name)?.status?.lastHandledReconcile, "1");
  }));

Deno.test("F3: a resource whose create is refused acknowledges each try that was asked for", () =>
  inWorld({}, async (world) => {
    world.start();
    refused(["create"], "not now")(world);
    world.cluster.create("default", "orders");
    await world.until("told", () => world.condition("orders", "Ready") === "False/CreateFailed");
    for (const value of ["1", "2"]) {
      const before = world.cloud.ledger.calls({ verb: "create" }).length;
      world.cluster.annotate("default", "orders", { [ANNOTATION.reconcile]: value });
      await world.until(
        "acknowledged",
        () => world.get("orders")?.status?.lastHandledReconcile === value,
        5_000,
      );
      assertEquals(world.cloud.ledger.calls({ verb: "create" }).length, before + 1);
    }
  }));
