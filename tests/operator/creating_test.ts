/**
 * Creating (behaviours C2, C4, C6 to C8; S5, L1).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { assertWithin } from "../support/doomed.ts";
import { assertOneLife } from "../support/lives.ts";
import { inWorld } from "../support/world.ts";

Deno.test("C2: the write of providerId meets five conflicts while labels change, and lands before anything else", () =>
  inWorld({ clientTokens: false }, async (world) => {
    world.start();
    await world.run(500);
    let left = 5;
    world.cluster.fault = ({ verb, phase }) => {
      if (verb !== "patchStatus" || phase !== "before" || left === 0) return;
      left--;
      world.cluster.meta("default", "orders", { labels: { round: String(left) } });
      throw new KubeError("conflict", "the object has been modified", { status: 409 });
    };
    world.cluster.create("default", "orders");
    await world.until(
      "the id is recorded",
      () => world.get("orders")?.status?.providerId !== undefined,
      10_000,
    );
    assertEquals(left, 0);
    await assertOneLife(world, "after conflicts");
    assertWithin(world, { writes: 10, calls: 60, mutations: 2 });
  }));

Deno.test("C2: the write of providerId fails for two minutes in every way, the id is not lost and nothing loops", async () => {
  for (const kind of ["server", "network", "timeout", "forbidden", "throttled"] as const) {
    for (const phase of ["before", "after"] as const) {
      await inWorld({ clientTokens: false, readLagMs: 20_000 }, async (world) => {
        world.start();
        await world.run(60_000);
        const until = world.clock.monotonic() + 120_000;
        let tries = 0;
        world.cluster.fault = (call) => {
          if (call.verb !== "patchStatus" || call.phase !== phase || world.clock.monotonic() > until) return;
          tries++;
          throw new KubeError(kind, "refused", kind === "throttled" ? { retryAfterMs: 1_000 } : {});
        };
        world.cluster.create("default", "orders");
        await world.run(120_000);
        assert(tries <= 130, `${kind} ${phase}: ${tries} status writes in two minutes`);
        assert(world.cloud.ledger.mutatingCalls().length <= 1, `${kind} ${phase}: created more than once`);
        await assertOneLife(world, `${kind} ${phase}`);
      });
    }
  }
});

Deno.test("S5: a refused create is not repeated before its time because the status cannot be written", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.fault = ({ verb, phase }) => {
      if (verb === "patchStatus" && phase === "before") throw new KubeError("server", "no status today");
    };
    world.cloud.faults.refuse(
      "create",
      { status: 400, code: "InvalidParameter", message: "no such version" },
      1e9,
    );
    world.cluster.create("default", "orders");
    await world.run(600_000);
    const creates = world.cloud.ledger.mutatingCalls().length;
    assert(creates >= 2 && creates <= 12, `${creates} creates in ten minutes`);
  }));

Deno.test("L1: a lost status write is written again in its time", async () => {
  for (let lost = 1; lost <= 4; lost++) {
    await inWorld({}, async (world) => {
      world.start();
      await world.run(500);
      let writes = 0;
      world.cluster.fault = ({ verb, phase }) => {
        if (verb === "patchStatus" && phase === "before" && ++writes === lost) {
          throw new KubeError("server", "lost");
        }
      };
      world.cluster.create("default", "orders");
      await world.until(
        "orders in step",
        () => world.condition("orders", "Synced") === "True/Available",
        20_000,
      );
    });
  }
});

Deno.test("C4: restarted at 20, 50 and 90 % of a long provisioning, it goes on with the same database", async () => {
  for (const part of [0.2, 0.5, 0.9]) {
    await inWorld({ provisionMs: 600_000, clientTokens: false }, async (world) => {
      const first = world.start();
      world.cluster.create("default", "orders");
      await world.run(600_000 * part);
      const id = world.get("orders")?.status?.providerId;
      assert(id !== undefined);
      assertEquals(world.condition("orders", "Ready"), "False/Creating");
      const { resourceVersion } = world.get("orders")!.metadata;
      first.crash();
      world.start();
      await world.run(10_000);
      assertEquals(
        world.get("orders")?.metadata.resourceVersion,
        resourceVersion,
        "a restart alone is no news",
      );
      await world.until(
        "orders in step",
        () => world.condition("orders", "Synced") === "True/Available",
        600_000 * (1 - part) + 40_000,
      );
      assertEquals(world.get("orders")?.status?.providerId, id);
      assertEquals(world.cloud.ledger.createEffects().length, 1);
      assertWithin(world, { writes: 4, calls: 120, mutations: 1 });
    });
  }
});

Deno.test("C6: created and deleted after 0 to 2 s, fifty at a time, leaves nothing", async () => {
  for (let step = 0; step < 20; step++) {
    await inWorld({ latencyMs: 150, provisionMs: 1_000, clientTokens: step % 2 === 0 }, async (world) => {
      world.cluster.latencyMs = 20;
      world.start();
      await world.run(200);
      const names = Array.from({ length: 50 }, (_, i) => `db-${i}`);
      for (const name of names) world.cluster.create("default", name);
      await world.run(step * 100);
      for (const name of names) if (world.get(name)) world.cluster.delete("default", name);
      await world.until("all are gone", () => world.cluster.all().length === 0);
      assertEquals(world.cloud.databases(), [], `deleted after ${step * 100} ms`);
      assertWithin(world, { writes: 400, calls: 1_700, mutations: 100 });
    });
  }
});

Deno.test("C6: a whole namespace goes, new and old resources alike", () =>
  inWorld({ latencyMs: 100 }, async (world) => {
    world.cluster.latencyMs = 10;
    world.start();
    for (let i = 0; i < 25; i++) world.cluster.create("team", `old-${i}`);
    await world.run(20_000);
    for (let i = 0; i < 25; i++) world.cluster.create("team", `new-${i}`);
    await world.run(130);
    for (const { metadata } of world.cluster.all()) world.cluster.delete("team", metadata.name);
    await world.until("all are gone", () => world.cluster.all().length === 0);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("C7: specs restored into another cluster make their own databases and touch none of the first's", () =>
  inWorld({}, async (world) => {
    const first = world.start({ clusterId: "first" });
    world.cluster.create("default", "orders");
    await world.available("orders");
    const old = world.get("orders")!;
    first.crash();
    world.cluster.meta("default", "orders", { finalizers: [] });
    world.cluster.delete("default", "orders"); // stands for the other cluster's being empty
    const restored = world.cluster.create("default", "orders");
    assert(restored.metadata.uid !== old.metadata.uid);
    world.start({ clusterId: "second" });
    await world.available("orders");
    assert(world.get("orders")?.status?.providerId !== old.status?.providerId);
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.databases().map((d) => [d.id, d.state]), [[
      old.status?.providerId,
      "Available",
    ]]);
  }));

Deno.test("C8: a refused spec says why, is tried slowly, is woken by an edit, and slows nobody", () =>
  inWorld({ engines: { postgres: ["14"] } }, async (world) => {
    world.start();
    await world.run(500);
    const bad = Array.from({ length: 20 }, (_, i) => `bad-${i}`);
    const good = Array.from({ length: 50 }, (_, i) => `good-${i}`);
    for (const name of bad) world.cluster.create("default", name, { version: "99.1" });
    for (const name of good) world.cluster.create("default", name);
    await world.until(
      "the good are in step",
      () => good.every((n) => world.condition(n, "Synced") === "True/Available"),
      20_000,
    );
    assertEquals(world.condition("bad-0", "Ready"), "False/CreateFailed");
    const message = world.get("bad-0")?.status?.conditions?.[0]?.message ?? "";
    assertStringIncludes(message, "Version 99.1 of postgres is not offered");
    const mark = world.cloud.ledger.mark();
    await world.run(3_600_000);
    const tries = world.cloud.ledger.mutatingCalls(mark).length / bad.length;
    assert(tries >= 5 && tries <= 15, `${tries} tries an hour`);
    world.cluster.edit("default", "bad-0", { version: "14.1" });
    await world.until(
      "the mended one is in step",
      () => world.condition("bad-0", "Synced") === "True/Available",
      15_000,
    );
    assertEquals(world.cloud.ledger.createEffects().length, 51);
  }));

Deno.test("C8: forbidden credentials and an unpaid quota are told, and healed without a person", async () => {
  for (
    const [refusal, reason] of [
      [{ status: 403, code: "Forbidden", message: "not allowed" }, "Unauthorised"],
      [{ status: 403, code: "QuotaExceeded", message: "quota is used up" }, "CreateFailed"],
      [{ status: 503, code: "Unavailable", message: "come later" }, "CreateFailed"],
    ] as const
  ) {
    await inWorld({}, async (world) => {
      world.start();
      world.cloud.faults.add({ verbs: ["create"], forMs: 120_000, fault: { answer: refusal } });
      world.cluster.create("default", "orders");
      await world.run(60_000);
      assertEquals(world.condition("orders", "Synced"), `False/${reason}`);
      await world.until(
        "orders in step",
        () => world.condition("orders", "Synced") === "True/Available",
        700_000,
      );
      assertEquals(world.cloud.ledger.createEffects().length, 1);
      assertWithin(world, { writes: 20, calls: 100, mutations: 16 });
    });
  }
});

Deno.test("S5: a restart costs the resources that are in step no write", () =>
  inWorld({ latencyMs: 400 }, async (world) => {
    const first = world.start();
    const names = Array.from({ length: 20 }, (_, i) => `db-${i}`);
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    const written = world.cluster.writes.length;
    first.crash();
    world.start();
    await world.run(1_200_000);
    assertEquals(world.cluster.writes.length, written);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 20);
  }));
