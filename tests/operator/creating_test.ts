/**
 * Creating under crashes, lost and late answers (behaviours C1 to C4, C6, C8; S1, S2, S5; rules 1 to 7).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FINALIZER, TAG } from "../../src/api/constants.ts";
import { KubeError } from "../../src/kube/port.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { assertWithin, startDoomed } from "../support/doomed.ts";
import { inWorld, type World } from "../support/world.ts";

/** Clouds that a create must be safe at. A lag of 20 s is longer than the effect bound of 10 s. */
const CLOUDS: readonly { readonly words: string; readonly settings: Partial<CloudSettings> }[] = [];
for (const clientTokens of [true, false]) {
  for (const lag of [0, 5, 20]) {
    (CLOUDS as unknown[]).push({
      words: `${clientTokens ? "with" : "without"} client tokens, read lag ${lag} s`,
      settings: { clientTokens, readLagMs: lag * 1_000 },
    });
  }
}
const FORGETFUL = {
  words: "with client tokens that are forgotten, read lag 9 s",
  settings: { clientTokens: true, tokenMemoryMs: 1, readLagMs: 9_000 },
};

/** One database, its id recorded, the resource in step; then its deletion leaves nothing. */
async function assertOneLife(world: World, what: string): Promise<void> {
  await world.available("orders");
  world.assertSafe();
  assertEquals(world.cloud.ledger.createEffects().length, 1, what);
  assertEquals(world.get("orders")?.status?.providerId, world.cloud.databases()[0]?.id, what);
  world.cluster.delete("default", "orders");
  await world.until(`${what}: orders is gone`, () => world.get("orders") === undefined);
  assertEquals(world.cloud.databases(), [], what);
}

/** How many calls a process makes until the resource is in step; where `recovering`, after another lost a create's answer. */
async function callsOfOneCreate(settings: Partial<CloudSettings>, recovering = false): Promise<number> {
  let length = 0;
  await inWorld(settings, async (world) => {
    if (recovering) world.cloud.faults.loseAnswer("create");
    let process = startDoomed(world);
    world.cluster.create("default", "orders");
    if (recovering) {
      await world.until("the create is sent", () => process.calls.includes("cloud.create"));
      process.crash();
      process = startDoomed(world);
    }
    await world.available("orders");
    length = process.calls.length;
  });
  return length;
}

for (const { words, settings } of CLOUDS) {
  Deno.test(`C1: killed before and after each call of a create, ${words}, one database comes of it`, async () => {
    const length = await callsOfOneCreate(settings);
    assert(length > 8, `only ${length} calls`);
    for (let at = 0; at < length; at++) {
      for (const when of ["before", "after"] as const) {
        await inWorld(settings, async (world) => {
          world.cluster.latencyMs = 10;
          const first = startDoomed(world, { at, when });
          world.cluster.create("default", "orders");
          await world.until(
            "the doom",
            () => first.dead || world.condition("orders", "Synced") === "True/Available",
          );
          const what = `killed ${when} call ${at} (${first.calls[at]})`;
          first.crash();
          await world.run(30);
          world.start();
          await assertOneLife(world, what);
          assertWithin(world, { writes: 14, calls: 90, mutations: 5 }, what);
        });
      }
    }
  });
}

for (const { words, settings } of [...CLOUDS, FORGETFUL]) {
  Deno.test(`C1: killed as a create is sent that takes effect late, ${words}, one database comes of it`, async () => {
    for (const delayMs of [0, 900, 2_500, 5_000, 7_500, 9_800]) {
      for (const restartMs of [0, 3_000, 9_000]) {
        await inWorld(settings, async (world) => {
          const counting = startDoomed(world);
          world.cluster.create("default", "other");
          await world.available("other");
          const at = counting.calls.indexOf("cloud.create");
          counting.crash();
          world.cluster.delete("default", "other");
          world.start();
          await world.until("other is gone", () => world.get("other") === undefined);
          world.end();
          world.cloud.ledger.clear();
          world.cloud.faults.lateEffect("create", 1, delayMs);
          const first = startDoomed(world, { at, when: "after" });
          world.cluster.create("default", "orders");
          await world.until("the doom", () => first.dead);
          assertEquals(first.calls[at], "cloud.create");
          await world.run(restartMs);
          world.start();
          await assertOneLife(world, `effect after ${delayMs} ms, restart after ${restartMs} ms`);
        });
      }
    }
  });

  Deno.test(`C1: killed at each call of a create and of the recovery from it, ${words}, one database comes of it`, async () => {
    const length = await callsOfOneCreate(settings, true);
    assert(length > 5, `only ${length} calls`);
    for (let at = 0; at < length; at++) {
      await inWorld(settings, async (world) => {
        world.cloud.faults.loseAnswer("create");
        const probe = startDoomed(world);
        world.cluster.create("default", "orders");
        await world.until("the create is sent", () => probe.calls.includes("cloud.create"));
        probe.crash();
        const second = startDoomed(world, { at, when: at % 2 === 0 ? "after" : "before" });
        await world.until(
          "the doom",
          () => second.dead || world.condition("orders", "Synced") === "True/Available",
        );
        const what = `killed again at call ${at} (${second.calls[at]})`;
        second.crash();
        world.start();
        await assertOneLife(world, what);
        assertWithin(world, { writes: 16, calls: 120, mutations: 6 }, what);
      });
    }
  });

  Deno.test(`C1: every create loses its answer for a minute and takes effect at any time, ${words}, one database`, async () => {
    for (
      const [first, second] of [["done", 9_800], ["done", 5_000], [2_000, 9_800], [9_800, 9_800], [9_800, 0]]
    ) {
      await inWorld(settings, async (world) => {
        world.start();
        const { faults } = world.cloud;
        if (first === "done") faults.loseAnswer("create");
        else faults.lateEffect("create", 1, first as number);
        faults.lateEffect("create", 3, second as number);
        world.cluster.create("default", "orders");
        await assertOneLife(world, `effects after ${first} and ${second} ms`);
        assertWithin(world, { writes: 16, calls: 120, mutations: 8 });
      });
    }
  });
}

for (const { words, settings } of CLOUDS) {
  Deno.test(`C1: a create answers long after the caller gave up, ${words}, and is found`, async () => {
    for (const delayMs of [31_000, 60_000, 115_000]) {
      await inWorld({ ...settings, effectBoundMs: 120_000 }, async (world) => {
        world.start();
        world.cloud.faults.add({ verbs: ["create"], times: 1, fault: { delayMs } });
        world.cluster.create("default", "orders");
        await world.run(29_000);
        assertEquals(world.get("orders")?.status?.state, "Creating"); // L4: a slow create is told
        await world.until(
          "orders in step",
          () => world.condition("orders", "Synced") === "True/Available",
          400_000,
        );
        assertEquals(world.cloud.ledger.createEffects().length, 1, `answer after ${delayMs} ms`);
        world.assertSafe();
        assertWithin(world, { writes: 12, calls: 120, mutations: 4 });
      });
    }
  });
}

Deno.test("C1: an actor that crashes between a create's answer and its record finds the database, whatever the lag", async () => {
  for (const clientTokens of [true, false]) {
    await inWorld({ clientTokens, readLagMs: 20_000, latencyMs: 2_000 }, async (world) => {
      world.start();
      await world.run(120_000); // the process is long past the settle window of its start (rule 5)
      world.cluster.create("default", "orders");
      await world.run(1_500);
      const { status } = world.get("orders")!;
      world.cluster.setStatus("default", "orders", { ...status, conditions: 1 as never }); // F4
      await world.until("the crash", () => world.lines.some((l) => l.message.startsWith("An actor crashed")));
      world.cluster.setStatus("default", "orders", {});
      await assertOneLife(world, clientTokens ? "tokens" : "no tokens");
    });
  }
});

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

for (const clientTokens of [true, false]) {
  const words = `${clientTokens ? "with" : "without"} client tokens`;
  Deno.test(`C3: fifty creates in flight at a kill, half took effect and all lost their answer, ${words}, all resolve`, () =>
    inWorld({ clientTokens, readLagMs: 5_000, tokenMemoryMs: 1 }, async (world) => {
      world.cloud.faults.add({ verbs: ["create"], times: 25, fault: { answer: "lost", effect: "done" } });
      world.cloud.faults.add({ verbs: ["create"], times: 25, fault: { answer: "lost", effect: "none" } });
      const first = world.start();
      const names = Array.from({ length: 50 }, (_, i) => `db-${i}`);
      for (const name of names) world.cluster.create("default", name);
      await world.until("all are sent", () => world.cloud.ledger.mutatingCalls().length === 50, 5_000, 5);
      first.crash();
      world.start();
      await world.available(...names);
      world.assertSafe();
      assertEquals(world.cloud.ledger.createEffects().length, 50);
      assertWithin(world, { writes: 250, calls: 2_000, mutations: 110 });
    }));

  Deno.test(`C3: creates under chance, ${words}, never make a second database`, async () => {
    for (let round = 0; round < 4; round++) {
      await inWorld({
        clientTokens,
        tokenMemoryMs: 1,
        readLagMs: [0, 2_000, 9_000, 20_000][round] ?? 0,
        loseAnswers: 0.3,
        lateEffects: 0.4,
        failBefore: 0.1,
        failAfter: 0.1,
      }, async (world) => {
        const names = Array.from({ length: 40 }, (_, i) => `db-${i}`);
        for (const name of names) world.cluster.create("default", name);
        for (let kill = 0; kill < 3; kill++) {
          const process = world.start();
          await world.run(400 + 4_000 * kill);
          process.crash();
          world.assertSafe();
        }
        world.start();
        await world.run(60_000);
        world.assertSafe();
        world.cloud.configure({ loseAnswers: 0, lateEffects: 0, failBefore: 0, failAfter: 0 });
        await world.available(...names);
        world.assertSafe();
        assertEquals(world.cloud.ledger.createEffects().length, 40);
      });
    }
  });
}

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

Deno.test("S1: of two databases that carry its UID a resource without id takes the older, reports the other, creates none", () =>
  inWorld({}, async (world) => {
    world.cluster.create("default", "orders", {}, { finalizers: [FINALIZER] });
    const { uid } = world.get("orders")!.metadata;
    const tags = { [TAG.uid]: uid, [TAG.cluster]: "cluster-1", [TAG.managedBy]: "externaldatabase-operator" };
    const older = world.cloud.insert({ tags });
    await world.run(1_000);
    const newer = world.cloud.insert({ tags });
    world.start();
    await world.until(
      "the duplicate is told",
      () => world.condition("orders", "Synced") === "False/Duplicate",
      20_000,
    );
    assertEquals(world.get("orders")?.status?.providerId, older.id);
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    assertStringIncludes(world.get("orders")?.status?.conditions?.[1]?.message ?? "", newer.id);
    await world.run(1_500_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    world.cloud.remove(newer.id);
    await world.until(
      "in step again",
      () => world.condition("orders", "Synced") === "True/Available",
      400_000,
    );
    assertWithin(world, { writes: 6, calls: 60, mutations: 0 });
  }));

Deno.test("S1: a recorded database is kept although an older one of its UID turns up", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    const { metadata, status } = world.get("orders")!;
    world.cloud.insert({
      createdAt: 0,
      tags: {
        [TAG.uid]: metadata.uid,
        [TAG.cluster]: "cluster-1",
        [TAG.managedBy]: "externaldatabase-operator",
      },
    });
    await world.until(
      "the duplicate is told",
      () => world.condition("orders", "Synced") === "False/Duplicate",
      400_000,
    );
    assertEquals(world.get("orders")?.status?.providerId, status?.providerId);
    assertEquals(world.cloud.ledger.mutatingCalls().length, 1);
  }));

Deno.test("S3: a lookup that shows a stranger's database of the same name is no reason to take it", () =>
  inWorld({}, async (world) => {
    const foreign = world.cloud.insert({ name: "orders", tags: { [TAG.crName]: "orders" } });
    world.start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    assert(world.get("orders")?.status?.providerId !== foreign.id);
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.databases().map((d) => d.id), [foreign.id]);
  }));

Deno.test("Rule 4: a spec edited while the create's answer is lost becomes a modify, never a second create", async () => {
  for (const clientTokens of [true, false]) {
    await inWorld({ clientTokens, readLagMs: 5_000 }, async (world) => {
      world.start();
      world.cloud.faults.loseAnswer("create");
      world.cluster.create("default", "orders");
      await world.run(300);
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.available("orders");
      assertEquals(world.cloud.ledger.createEffects().length, 1);
      assertEquals(world.cloud.databases()[0]?.sizeGb, 50);
      assertWithin(world, { writes: 12, calls: 60, mutations: 6 });
    });
  }
});

Deno.test("Rule 4: a used-up token raises the incarnation once nothing can show any more", () =>
  inWorld({ readLagMs: 5_000 }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(200);
    first.crash();
    world.cloud.remove(world.cloud.databases()[0]!.id); // someone deletes what nobody knew of
    world.start();
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.databases().length, 1);
    assertWithin(world, { writes: 12, calls: 80, mutations: 6 });
  }));

Deno.test("Rule 7: a database that dies while it is looked for is waited out and never taken", () =>
  inWorld({ deleteMs: 60_000, clientTokens: true }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(200);
    first.crash();
    const lost = world.cloud.databases()[0]!.id;
    world.cloud.edit(lost, { state: "Available" });
    void world.cloud.call({ verb: "delete", id: lost }); // someone at the console
    world.start();
    await world.run(30_000);
    assertEquals(world.get("orders")?.status?.providerId, undefined);
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.databases().map((d) => d.id), [world.get("orders")?.status?.providerId]);
    assertWithin(world, { writes: 12, calls: 160, mutations: 5 });
  }));

Deno.test("Rule 7: three databases that fail before they were available are replaced with back-off, then it stops and says so", () =>
  inWorld({ provisionFailures: 1 }, async (world) => {
    world.start();
    world.cluster.create("default", "orders");
    await world.until(
      "it gives up",
      () =>
        world.condition("orders", "Ready") === "False/ProvisioningFailed" &&
        world.get("orders")?.status?.provisioningFailures === 2 &&
        world.cloud.ledger.createEffects().length === 3,
      600_000,
    );
    await world.run(3_600_000);
    assertEquals(world.cloud.ledger.createEffects().length, 3);
    assertEquals(world.cloud.databases().length, 1);
    assertWithin(world, { writes: 24, calls: 200, mutations: 6 });
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.databases(), []);
  }));

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

Deno.test("S1: two processes that overlap without a lease make one database of a new resource", async () => {
  for (const readLagMs of [0, 5_000]) {
    for (let apart = 0; apart <= 160; apart += 20) {
      await inWorld({ clientTokens: false, readLagMs, latencyMs: 100 }, async (world) => {
        world.cluster.latencyMs = 40;
        world.start();
        await world.run(100_000);
        world.cluster.create("default", "first");
        await world.run(apart);
        world.start();
        await world.run(apart);
        world.cluster.create("default", "second");
        await world.available("first", "second");
        await world.run(60_000);
        assertEquals(world.cloud.ledger.createEffects().length, 2, `${apart} ms apart`);
        world.assertSafe();
      });
    }
  }
});

Deno.test("A4, S1: a status that is wiped a second after the create, while lists lag, brings no second database", async () => {
  for (const wipeMs of [100, 1_000, 8_000]) {
    await inWorld({ clientTokens: false, readLagMs: 20_000, provisionMs: 500 }, async (world) => {
      world.start();
      await world.run(60_000);
      world.cluster.create("default", "orders");
      await world.run(wipeMs);
      world.cluster.setStatus("default", "orders", {});
      await assertOneLife(world, `wiped after ${wipeMs} ms`);
    });
  }
});

Deno.test("L1: an edited spec whose token made a database that is gone gets a new one", () =>
  inWorld({ readLagMs: 5_000 }, async (world) => {
    const first = world.start();
    world.cloud.faults.loseAnswer("create");
    world.cluster.create("default", "orders");
    await world.run(200);
    first.crash();
    world.cloud.remove(world.cloud.databases()[0]!.id);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    world.start();
    await world.available("orders");
    assertEquals(world.get("orders")?.status?.incarnation, 2);
    assertEquals(world.cloud.databases().map((d) => d.sizeGb), [50]);
    assertWithin(world, { writes: 12, calls: 80, mutations: 6 });
  }));
