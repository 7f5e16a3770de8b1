/**
 * Ways to let a resource go and keep its database (W9; rules 13 and 16).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { KubeError } from "../../src/kube/port.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inStep } from "../support/fleet.ts";
import { assertWithin } from "../support/doomed.ts";
import { assertNothingLeft, gone, inDeletion, message } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

Deno.test("W9, rule 13: the CRD's deletion over 20 available resources ends and abandons 20 databases, each named in log and Event", () =>
  inWorld({}, async (world) => {
    const released: string[] = [];
    world.start({
      metrics: {
        ...noMetrics,
        released: (cause) => void released.push(cause),
      },
    });
    const names = Array.from({ length: 20 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    const ids = names.map((n) => world.get(n)!.status!.providerId!);
    world.cluster.crd = "terminating";
    for (const name of names) world.cluster.delete("default", name);
    await world.until("all are gone", () => world.cluster.all().length === 0, 30_000);
    await world.run(60_000);
    assertEquals(world.cloud.databases().map((d) => [d.id, d.state]), ids.map((id) => [id, "Available"]));
    assertEquals(released, names.map(() => "crdDeleted"));
    for (const id of ids) {
      assert(
        world.lines.some((l) => l.level === "warn" && l.fields.providerId === id),
        `${id} is not logged`,
      );
      assert(world.events.some((e) => e.reason === "Retained" && e.note.includes(id)), `${id} has no Event`);
    }
    assertWithin(world, { writes: 110, calls: 500, mutations: 40 });
  }));

Deno.test("Rule 13: the CRD's deletion abandons what is being provisioned, changed, created and has a lost create", () =>
  inWorld({ provisionMs: 20_000, modifyMs: 20_000, latencyMs: 100 }, async (world) => {
    world.start();
    world.cluster.create("default", "changed");
    await world.available("changed");
    world.cluster.create("default", "provisioning");
    await world.run(2_000);
    world.cluster.edit("default", "changed", { sizeGb: 60 });
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "lost");
    await world.run(150);
    world.cluster.create("default", "creating");
    await world.run(60);
    world.cluster.crd = "terminating";
    for (const { metadata } of world.cluster.all()) world.cluster.delete("default", metadata.name);
    await world.until("all are gone", () => world.cluster.all().length === 0, 120_000);
    await world.run(60_000);
    assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
    assertEquals(world.cloud.databases().length, 4);
    for (const d of world.cloud.databases()) assertEquals(d.tags[TAG.retained], d.tags[TAG.uid], d.name);
  }));

Deno.test("Rule 13: a deletion that waits for its turn at a slow cloud is not sent once the CRD is being deleted (found by simulation)", () =>
  inWorld({ latencyMs: 20 }, async (world) => {
    world.start({ concurrency: 1 });
    const names = ["a", "b", "c", "d"];
    for (const name of names) world.cluster.create("default", name);
    for (const name of names) await world.available(name);
    world.cloud.configure({ latencyMs: 20_000 });
    for (const name of names) world.cluster.delete("default", name);
    await world.run(2_000); // all were found to be deletable, and wait
    world.cluster.crd = "terminating";
    const mark = world.cloud.ledger.mark();
    await world.until("all are gone", () => world.cluster.all().length === 0, 1_200_000);
    assertEquals(world.cloud.ledger.calls({ verb: "delete", since: mark }), []);
    assertEquals(world.cloud.databases().length, 4);
  }));

Deno.test("Rule 13: while the CRD cannot be read a deletion waits, then goes on", () =>
  inDeletion({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.fault = ({ verb, phase }) => {
      if (verb === "crdState" && phase === "before") {
        throw new KubeError("forbidden", "no such right", { status: 403 });
      }
    };
    world.cluster.delete("default", "orders");
    await world.run(600_000);
    assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
    assertStringIncludes(message(world, "orders"), "no such right");
    world.cluster.fault = () => {};
    await gone(world, "orders", 60_000);
    await assertNothingLeft(world);
    assertWithin(world, { writes: 24, calls: 120, mutations: 2 });
  }));

Deno.test("Rule 16: Retain marks the database, names it in Event and log, and releases the resource", async () => {
  for (const policy of ["before", "after"] as const) {
    await inWorld({}, async (world) => {
      world.start();
      world.cluster.create("default", "orders", policy === "before" ? { deletionPolicy: "Retain" } : {});
      await world.available("orders");
      const { metadata, status } = world.get("orders")!;
      if (policy === "after") world.cluster.edit("default", "orders", { deletionPolicy: "Retain" });
      world.cluster.delete("default", "orders");
      await gone(world, "orders", 10_000);
      const [database] = world.cloud.databases();
      assertEquals(database?.state, "Available");
      assertEquals(database?.tags[TAG.retained], metadata.uid);
      assert(world.events.some((e) => e.reason === "Retained" && e.note.includes(status!.providerId!)));
      assert(world.lines.some((l) => l.level === "warn" && l.fields.providerId === status!.providerId));
      await world.run(1_200_000);
      assertEquals(world.cloud.ledger.calls({ verb: "delete" }), []);
      assertEquals(world.lines.filter((l) => l.level === "error"), [], "a retained database is no orphan");
    });
  }
});

Deno.test("Rule 16: Retain resolves a create of unknown outcome first, and marks what comes of it", async () => {
  for (const clientTokens of [true, false]) {
    for (const effect of ["none", "done", "late"] as const) {
      await inWorld({ clientTokens, readLagMs: 5_000 }, async (world) => {
        world.start();
        await world.run(60_000);
        world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { answer: "lost", effect } });
        world.cluster.create("default", "orders", { deletionPolicy: "Retain" });
        await world.run(100);
        const { uid } = world.get("orders")!.metadata;
        world.cluster.delete("default", "orders");
        await gone(world, "orders", 60_000);
        await world.run(60_000);
        assertEquals(
          world.cloud.databases().map((d) => [d.state, d.tags[TAG.retained]]),
          effect === "none" ? [] : [["Available", uid]],
        );
        assertWithin(world, { writes: 10, calls: 70, mutations: 8 });
      });
    }
  }
});

Deno.test("Rule 16: abandoning releases at once, without the cloud, in whatever state", async () => {
  for (const state of ["creating", "available", "deleting", "cloud down", "paused", "never read"] as const) {
    await inWorld({ deleteMs: 600_000 }, async (world) => {
      const first = world.start();
      world.cluster.create("default", "orders");
      if (state === "creating") await world.run(1_000);
      else await world.available("orders");
      const { uid } = world.get("orders")!.metadata;
      if (state === "paused") world.cluster.edit("default", "orders", { paused: true });
      if (state === "deleting") {
        world.cluster.delete("default", "orders");
        await world.run(10_000);
      }
      if (state === "cloud down" || state === "never read") world.cloud.faults.outage(REFUSALS.unavailable);
      if (state === "never read") {
        first.crash();
        world.start();
        await world.run(5_000);
      }
      const mark = world.cloud.ledger.mark();
      world.cluster.annotate("default", "orders", { [ANNOTATION.abandon]: uid });
      world.cluster.delete("default", "orders");
      await gone(world, "orders", 1_000);
      assertEquals(world.cloud.ledger.mutatingCalls(mark), [], state);
      assertEquals(world.cloud.databases().length, 1, state);
      assert(world.events.some((e) => e.reason === "Abandoned" && e.type === "Warning"));
    });
  }
});

Deno.test("Rule 16: an abandon annotation with another UID abandons nothing", () =>
  inDeletion({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders", {}, {
      annotations: { [ANNOTATION.abandon]: "of-the-last-orders" },
    });
    await world.available("orders");
    world.cluster.delete("default", "orders");
    await gone(world);
    await assertNothingLeft(world);
  }));

Deno.test("Rule 16: a release whose answer is lost is told as one, and is no orphan by force", async () => {
  for (const blindMs of [0, 5_000]) {
    await inWorld({}, async (world) => {
      world.start();
      world.cluster.create("default", "orders", { deletionPolicy: "Retain" });
      await world.available("orders");
      const id = world.get("orders")!.status!.providerId!;
      let lost = 0;
      world.cluster.fault = ({ verb, phase }) => {
        if (verb === "patch" && phase === "after") lost ||= world.clock.monotonic();
        const blind = lost > 0 && verb !== "watch" && world.clock.monotonic() <= lost + blindMs;
        if (blind && (verb === "patch" || blindMs > 0)) throw new KubeError("network", "connection reset");
      };
      world.cluster.delete("default", "orders");
      await world.run(60_000);
      assertEquals(world.get("orders"), undefined);
      assert(lost > 0);
      assertEquals(world.lines.filter((l) => l.level === "error"), []);
      assert(world.lines.some((l) => l.level === "warn" && l.fields.providerId === id));
      if (blindMs === 0) assert(world.events.some((e) => e.reason === "Retained" && e.note.includes(id)));
    });
  }
});

Deno.test("rule 16: nobody is told that a database is kept which is being deleted at the provider", () =>
  inWorld({ deleteMs: 600_000 }, async (world) => {
    world.start();
    await inStep(world, "orders", { deletionPolicy: "Retain" });
    world.cloud.edit(world.get("orders")!.status!.providerId!, { state: "Deleting" });
    world.cluster.delete("default", "orders");
    await world.until("gone", () => world.get("orders") === undefined);
    const told = world.events.filter((e) => e.reason === "Retained").map((e) => e.note);
    assert(told.length === 1 && !told[0]!.includes("is kept"), told.join());
  }));
