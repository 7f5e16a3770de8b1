/**
 * Recovery (behaviours C5, C8, F1–F4, H2, Q2) over models of cluster and cloud, in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec, ExternalDatabaseStatus } from "../../src/api/schema.ts";
import { KubeError } from "../../src/kube/port.ts";
import { type Fault, REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";

const PERIOD = 300_000;
const MINUTE = 60_000;

async function inStep(world: World, name = "orders", spec: Partial<ExternalDatabaseSpec> = {}) {
  world.cluster.create("default", name, spec);
  await world.available(name);
}

/** Creates so many CRs and waits for them. */
async function fleet(world: World, n: number, spec: Partial<ExternalDatabaseSpec> = {}) {
  const names = Array.from({ length: n }, (_, i) => `db-${String(i).padStart(3, "0")}`);
  for (const name of names) world.cluster.create("default", name, spec);
  await world.available(...names);
  return names;
}

const databaseOf = (world: World, name: string) => world.cloud.get(world.get(name)!.status!.providerId!)!;
const message = (world: World, name: string, type: "Ready" | "Synced" = "Synced") =>
  world.get(name)?.status?.conditions?.find((c) => c.type === type)?.message ?? "";
const statusWrites = (world: World, name: string) =>
  world.cluster.writes.filter((w) => w.verb === "patchStatus" && w.key.name === name).length;

const OUTAGES: Readonly<Record<string, { readonly fault: Fault; readonly reason: string }>> = {
  "401": { fault: { answer: REFUSALS.unauthenticated, effect: "none" }, reason: "Unauthorised" },
  "403": { fault: { answer: REFUSALS.forbidden, effect: "none" }, reason: "Unauthorised" },
  "500": { fault: { answer: REFUSALS.internalError, effect: "none" }, reason: "Unreadable" },
  "503": { fault: { answer: REFUSALS.unavailable, effect: "none" }, reason: "Unreadable" },
  "nothing": { fault: { answer: "stall", effect: "none" }, reason: "Unreadable" },
  "broken connections": { fault: { answer: "lost", effect: "none" }, reason: "Unreadable" },
};

for (const [words, { fault, reason }] of Object.entries(OUTAGES)) {
  Deno.test(`C5: ready databases answer ${words} for ten minutes: told, endpoint kept, nothing changed, healed by itself`, () =>
    inWorld({}, async (world) => {
      world.start({ pollIntervalMs: 60_000 });
      const names = await fleet(world, 10);
      await world.run(2 * MINUTE);
      const endpoints = names.map((n) => world.get(n)?.status?.endpoint);
      const mark = world.cloud.ledger.mark();
      const writes = world.cluster.writes.length;
      const began = world.clock.monotonic();
      const heal = world.cloud.faults.add({ fault });
      await world.until(
        "told",
        () => names.every((n) => world.condition(n, "Synced") === `Unknown/${reason}`),
        3 * MINUTE,
      );
      for (const name of names) assertEquals(world.condition(name, "Ready"), "True/Available");
      const ready = () => names.map((n) => world.condition(n, "Ready"));
      await world.until("Ready is unknown", () => ready().every((r) => r.startsWith("Unknown/")), 5 * MINUTE);
      const after = world.clock.monotonic() - began;
      assert(after >= 2 * MINUTE && after <= 4 * MINUTE, `Ready unknown after ${after} ms`);
      await world.run(10 * MINUTE - after);
      assertEquals(names.map((n) => world.get(n)?.status?.endpoint), endpoints);
      assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
      assert(world.cluster.writes.length - writes <= 2 * names.length, "one write for Synced, one for Ready");
      heal();
      await world.until(
        "healed",
        () =>
          names.every((n) =>
            world.condition(n, "Synced") === "True/Available" &&
            world.condition(n, "Ready") === "True/Available"
          ),
        62_000, // one back-off, and the time-out of the call under way
      );
      world.assertSafe();
    }));
}

Deno.test("C5: Ready stays True for three whole periods of the resource's own length, not the operator's", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: 60_000 });
    await inStep(world, "orders", { pollInterval: "10m" });
    const heal = world.cloud.faults.outage(REFUSALS.unavailable);
    await world.run(25 * MINUTE);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    assertEquals(world.condition("orders", "Synced"), "Unknown/Unreadable");
    await world.run(7 * MINUTE);
    assertEquals(world.condition("orders", "Ready"), "Unknown/ProviderUnavailable");
    heal();
    await world.available("orders");
  }));

Deno.test("C5: a restart in the middle of an outage says nothing that is not known", () =>
  inWorld({}, async (world) => {
    const first = world.start({ pollIntervalMs: 60_000 });
    await inStep(world);
    const { endpoint } = world.get("orders")!.status!;
    const heal = world.cloud.faults.outage(REFUSALS.forbidden);
    await world.until(
      "told",
      () => world.condition("orders", "Synced") === "Unknown/Unauthorised",
      5 * MINUTE,
    );
    first.crash();
    const events = world.events.length;
    world.start({ pollIntervalMs: 60_000 });
    for (let n = 0; n < 60; n++) {
      await world.run(1_000);
      assert(world.condition("orders", "Synced").startsWith("Unknown/"), world.condition("orders", "Synced"));
      assert(world.condition("orders", "Ready") !== "False", "never called not ready for want of a read");
      assertEquals(world.get("orders")?.status?.endpoint, endpoint);
    }
    assertEquals(world.events.slice(events).filter((e) => e.reason === "Available"), []);
    heal();
    await world.available("orders");
  }));

Deno.test("C5: one lost list is no outage and writes nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { resourceVersion } = world.get("orders")!.metadata;
    for (let n = 0; n < 5; n++) {
      world.cloud.faults.refuse("list", REFUSALS.unavailable, 1);
      await world.run(1.2 * PERIOD);
    }
    assertEquals(world.get("orders")?.metadata.resourceVersion, resourceVersion);
  }));

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

/** Stored objects that no schema would let in, and that a loosened or older one may have left behind. */
const ABSURD: Readonly<Record<string, unknown>> = {
  "no spec at all": undefined,
  "a spec of null": null,
  "a spec that is text": "postgres",
  "a version that is a number": { engine: "postgres", version: 14, sizeGb: 20 },
  "an engine that is a list": { engine: ["postgres"], version: "14.2", sizeGb: 20 },
  "a poll interval of ninety days": { engine: "postgres", version: "14.2", sizeGb: 20, pollInterval: "90d" },
  "a poll interval that is a number": { engine: "postgres", version: "14.2", sizeGb: 20, pollInterval: 5 },
  "a poll interval of nothing": { engine: "postgres", version: "14.2", sizeGb: 20, pollInterval: "0s" },
};

for (const [words, spec] of Object.entries(ABSURD)) {
  Deno.test(`H2: ${words} is reported, crashes nobody, never spins, and its deletion ends`, () =>
    inWorld({}, async (world) => {
      world.start();
      await inStep(world, "good");
      await inStep(world, "old");
      const { id } = databaseOf(world, "old");
      const put = (name: string) => world.cluster.replaceSpec("default", name, spec);
      put("old");
      world.cluster.create("default", "new");
      put("new");
      const mark = world.cloud.ledger.mark();
      await world.run(10 * MINUTE);
      for (const name of ["old", "new"]) {
        assertEquals(world.condition(name, "Synced"), "False/InvalidSpec", name);
      }
      assertEquals(world.condition("old", "Ready"), "True/Available", "the database serves all the same");
      assert(world.cloud.ledger.calls({ since: mark }).length < 30, "no loop");
      assertEquals(world.lines.filter((l) => /crashed/.test(l.message)), []);
      assertEquals(world.condition("good", "Synced"), "True/Available");
      for (const name of ["old", "new"]) world.cluster.delete("default", name);
      await world.until(
        "both are gone",
        () => world.get("old") === undefined && world.get("new") === undefined,
      );
      assertEquals(world.cloud.get(id), undefined);
      world.assertSafe();
    }));
}

Deno.test("F4: a status that makes the actor throw restarts that actor alone, with back-off, says so, and heals", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const names = await fleet(world, 5);
    const bad = names[0]!;
    const good = world.get(bad)!.status!;
    world.cluster.setStatus("default", bad, { ...good, conditions: 7 } as unknown as ExternalDatabaseStatus);
    world.cluster.edit("default", bad, { sizeGb: 50 });
    const crashes = () => world.lines.filter((l) => /actor crashed/.test(l.message)).length;
    await world.run(10 * MINUTE);
    assert(crashes() >= 5 && crashes() <= 25, `${crashes()} crashes in ten minutes`);
    for (const name of names.slice(1)) {
      world.cluster.edit("default", name, { sizeGb: 30 });
    }
    await world.until(
      "the others are not touched",
      () => names.slice(1).every((n) => databaseOf(world, n).sizeGb === 30),
    );
    world.cluster.setStatus("default", bad, good);
    await world.until("50 GiB", () => databaseOf(world, bad).sizeGb === 50, 70_000);
    await world.available(...names);
    assertEquals(operator.supervisor.size, 5);
    world.assertSafe();
  }));

Deno.test("F4: the condition ActorFailed is written, and gone within one pass of the cure", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const [bad, other] = await fleet(world, 2);
    const { uid } = world.get(bad!)!.metadata;
    const real = operator.absences.isHeld.bind(operator.absences);
    operator.absences.isHeld = (of) => {
      if (of === uid) throw new Error("a defect that only this resource meets");
      return real(of);
    };
    world.cluster.annotate("default", bad!, { [ANNOTATION.reconcile]: "1" });
    await world.until("told", () => world.condition(bad!, "Synced") === "Unknown/ActorFailed", 5_000);
    assertMatch(message(world, bad!), /a defect that only this resource meets/);
    assertEquals(world.condition(other!, "Ready"), "True/Available");
    await world.run(5 * MINUTE);
    const writes = statusWrites(world, bad!);
    await world.run(10 * MINUTE);
    assertEquals(statusWrites(world, bad!), writes, "the same crash is not written again");
    operator.absences.isHeld = real;
    await world.until("healed", () => world.condition(bad!, "Synced") === "True/Available", 70_000);
    assertEquals(world.condition(bad!, "Ready"), "True/Available");
    assertEquals(world.get(bad!)?.status?.lastHandledReconcile, "1");
  }));

Deno.test("F4: one that crashes is deleted by force all the same, and leaves no timer and no keeper", () =>
  inWorld({}, async (world) => {
    const { operator } = world.start();
    const [bad] = await fleet(world, 3);
    const { uid } = world.get(bad!)!.metadata;
    const real = operator.absences.isHeld.bind(operator.absences);
    operator.absences.isHeld = (of) => {
      if (of === uid) throw new Error("a defect");
      return real(of);
    };
    world.cluster.annotate("default", bad!, { [ANNOTATION.reconcile]: "1" });
    await world.run(MINUTE);
    world.cluster.meta("default", bad!, { finalizers: [] });
    world.cluster.delete("default", bad!);
    await world.run(MINUTE);
    assertEquals(operator.supervisor.size, 2);
    const crashes = world.lines.filter((l) => /actor crashed/.test(l.message)).length;
    await world.run(10 * MINUTE);
    assertEquals(world.lines.filter((l) => /actor crashed/.test(l.message)).length, crashes);
  }));

Deno.test("Q2: a 429 with Retry-After pauses the whole account, nothing is lost, and no burst follows", () =>
  inWorld({}, async (world) => {
    world.start();
    await fleet(world, 20);
    await world.run(MINUTE);
    world.cloud.faults.refuse("modify", { ...REFUSALS.throttled, retryAfterSeconds: 40 }, 1);
    const names = world.cluster.all().map((o) => o.metadata.name);
    world.cluster.edit("default", names[0]!, { sizeGb: 50 });
    await world.run(1_000);
    const mark = world.cloud.ledger.mark();
    for (const name of names.slice(1)) world.cluster.edit("default", name, { sizeGb: 50 });
    for (let i = 0; i < 10; i++) world.cluster.create("default", `new-${i}`);
    await world.run(38_000);
    assertEquals(world.cloud.ledger.calls({ since: mark }), [], "not one call in the pause");
    await world.until("all is done", () =>
      names.every((n) => databaseOf(world, n).sizeGb === 50) &&
      Array.from({ length: 10 }, (_, i) => world.condition(`new-${i}`, "Ready")).every((c) =>
        c === "True/Available"
      ));
    world.assertSafe();
  }));

Deno.test("Q2: under a limit of calls a second everything is done, with few refusals and none lost", () =>
  inWorld({ ratePerSecond: 10, burst: 10 }, async (world) => {
    world.start();
    for (let i = 0; i < 100; i++) world.cluster.create("default", `db-${i}`);
    const names = Array.from({ length: 100 }, (_, i) => `db-${i}`);
    await world.until(
      "all available",
      () => names.every((n) => world.condition(n, "Ready") === "True/Available"),
      600_000,
      1_000,
    );
    const refused = world.cloud.ledger.calls().filter((c) => c.outcome === "Throttled").length;
    const all = world.cloud.ledger.calls().length;
    assert(refused < all / 2, `${refused} of ${all} calls were refused`);
    assertEquals(world.cloud.ledger.createEffects().length, 100);
    world.assertSafe();
  }));

Deno.test("C8: a hundred that fail in every way do not slow good ones", () =>
  inWorld({ engines: { postgres: ["14", "15"] } }, async (world) => {
    world.start({ concurrency: 8 });
    await world.run(1_000);
    for (let i = 0; i < 60; i++) world.cluster.create("default", `bad-${i}`, { version: "99" });
    for (let i = 0; i < 20; i++) {
      world.cluster.create("default", `nowhere-${i}`, { providerId: `db-none-${i}` });
    }
    for (let i = 0; i < 20; i++) world.cluster.create("default", `invalid-${i}`, { sizeGb: 0 });
    await world.run(30_000);
    const began = world.clock.monotonic();
    const names = await fleet(world, 50);
    const took = world.clock.monotonic() - began;
    assert(took < 12_000, `fifty good ones took ${took} ms`);
    world.cluster.edit("default", names[0]!, { sizeGb: 50 });
    await world.until("an edit goes ahead", () => databaseOf(world, names[0]!).sizeGb === 50, 5_000);
    const mark = world.cloud.ledger.mark();
    await world.run(3_600_000);
    const creates = world.cloud.ledger.calls({ verb: "create", since: mark }).length;
    assert(creates <= 60 * 13, `${creates} creates of hopeless ones in an hour`);
    world.cluster.edit("default", "bad-0", { version: "15.1" });
    await world.available("bad-0");
  }));
