/**
 * The whole operator, by the http provider, on a cloud that uses what freedom the contract leaves, in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHttpProvider } from "../../src/providers/http.ts";
import { message, MINUTE, PERIOD } from "../support/fleet.ts";
import { FreeCloud } from "../support/free_cloud.ts";
import type { FreeKnobs } from "../support/free_knobs.ts";
import { inWorld, type Process, type World } from "../support/world.ts";

/** Runs `body` in a world whose operators use a free cloud by HTTP. */
function onFreeCloud(
  knobs: Partial<FreeKnobs>,
  body: (world: World, cloud: FreeCloud, start: () => Process) => Promise<void>,
): Promise<void> {
  return inWorld({}, async (world) => {
    const { clock } = world;
    const cloud = new FreeCloud(clock, knobs);
    const provider = () => createHttpProvider({ url: "http://free.test", clock, fetch: cloud.fetch });
    await body(world, cloud, () => world.start({ provider: provider() }));
  });
}

/** Asserts that three periods pass without a change anywhere, and with few calls. */
async function assertIdle(world: World, cloud: FreeCloud): Promise<void> {
  const versions = () => world.cluster.all().map((o) => o.metadata.resourceVersion);
  const before = [versions(), cloud.mutations(), world.events.length];
  const calls = cloud.calls.length;
  await world.run(3 * PERIOD);
  assertEquals([versions(), cloud.mutations(), world.events.length], before);
  assert(cloud.calls.length - calls < 40, `${cloud.calls.length - calls} calls`);
}

const LIVES: Record<string, Partial<FreeKnobs>> = {
  "with nulls and empty pages": { nulls: true, emptyPages: true },
  "with small pages that overlap": { pageSize: 2, repeats: true },
  "without tokens and account, with lag": { clientTokens: false, readLagMs: 20_000, account: null },
  "with odd ids": { idOf: (n) => ` a/b?#%2F ü"'\\${n}`, account: 7, createStatus: 202, deleteStatus: 204 },
  "without a tag filter": { unfiltered: true, deleteStatus: 200, deleteBody: false, passwords: null },
  "without passwords, snapshots and any bound": {
    passwords: "never",
    snapshots: false,
    effectBoundSeconds: 0,
  },
  "with passwords for all": { passwords: "always" },
  "with tags of its own": { ownTags: { "free:owner": "x", "": "", "__proto__": "y" } },
  "with states in capitals": { show: (row, shown) => ({ ...shown, state: row.state.toUpperCase() }) },
  "with slow answers": { latencyMs: 8_000 },
  "without times": { show: (_, shown) => ({ ...shown, createdAt: undefined, updatedAt: undefined }) },
};

for (const [words, knobs] of Object.entries(LIVES)) {
  Deno.test(`R1, S1: a life on a free cloud ${words}`, () =>
    onFreeCloud(knobs, async (world, cloud, start) => {
      start();
      const names = ["a", "b", "c"];
      for (const name of names) world.cluster.create("default", name);
      await world.available(...names);
      assertEquals(cloud.rows.size, 3);
      await assertIdle(world, cloud);
      world.cluster.edit("default", "a", { sizeGb: 50 });
      await world.until("grown", () => world.get("a")?.status?.observed?.sizeGb === 50);
      await world.available(...names);
      assertEquals(cloud.patches(), [{ sizeGb: 50 }]);
      for (const name of names) world.cluster.delete("default", name);
      await world.until("all gone", () => world.cluster.all().length === 0);
      assertEquals(cloud.rows.size, 0);
    }));
}

for (const nulls of [false, true]) {
  const words = nulls ? "null" : "absent";
  Deno.test(`R4: a change that waits as pending is sent once, also where what is not pending is ${words}`, () =>
    onFreeCloud(
      { nulls, onPatch: (row, change) => void (row.pending = change) },
      async (world, cloud, start) => {
        start();
        world.cluster.create("default", "orders");
        await world.available("orders");
        world.cluster.edit("default", "orders", { sizeGb: 50 });
        await world.run(4 * PERIOD);
        assertEquals(cloud.patches(), [{ sizeGb: 50 }]);
        assertEquals(world.condition("orders", "Synced"), "False/Updating");
      },
    ));
}

const WAITING: Record<string, Partial<FreeKnobs>> = {
  "a change that the cloud keeps for its window": { onPatch: (row, change) => void (row.pending = change) },
  "an endpoint that does not come": {
    show: (row, shown) => row.sizeGb === 50 ? { ...shown, endpoint: null } : shown,
  },
};

for (const [words, knobs] of Object.entries(WAITING)) {
  Deno.test(`S5: ${words} is waited for by growing steps`, () =>
    onFreeCloud(knobs, async (world, cloud, start) => {
      start();
      world.cluster.create("default", "orders");
      await world.available("orders");
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.run(1_000);
      const calls = cloud.calls.length;
      await world.run(60 * MINUTE);
      const reads = cloud.calls.slice(calls).filter((c) => c.path.startsWith("/v1/databases/"));
      assert(reads.length < 150, `${reads.length} reads in an hour`);
      cloud.knobs.show = (_, shown) => shown;
      for (const row of cloud.rows.values()) Object.assign(row, row.pending, { pending: null });
      await world.until("done", () => world.condition("orders", "Synced") === "True/Available", MINUTE);
    }));
}

Deno.test("L1: a version that is pending for the cloud's window does not hold a size back", () => {
  const onPatch: FreeKnobs["onPatch"] = (row, { version, sizeGb }) => {
    if (version !== undefined) row.pending = { version };
    if (sizeGb !== undefined) row.sizeGb = Number(sizeGb);
  };
  return onFreeCloud({ onPatch }, async (world, cloud, start) => {
    start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.edit("default", "orders", { version: "15.1" });
    await world.run(MINUTE);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(PERIOD);
    assertEquals(cloud.patches(), [{ version: "15.1" }, { sizeGb: 50 }]);
    assertEquals(world.condition("orders", "Synced"), "False/Updating");
    for (const row of cloud.rows.values()) Object.assign(row, row.pending, { pending: null });
    await world.until("done", () => world.condition("orders", "Synced") === "True/Available", PERIOD);
    assertEquals(cloud.patches().length, 2);
  });
});

for (const code of [undefined, null, 400, "", "E".repeat(200)]) {
  Deno.test(`C8: what a cloud says of a refusal is told, though its code is ${JSON.stringify(code)?.slice(0, 9)}`, () => {
    const body = { error: { code, message: "the quota of 5 databases is used up" } };
    const intercept: FreeKnobs["intercept"] = ({ method }) =>
      method === "POST" ? Response.json(body, { status: 400 }) : undefined;
    return onFreeCloud({ intercept }, async (world, _, start) => {
      start();
      world.cluster.create("default", "orders");
      await world.until("told", () => world.condition("orders", "Ready") === "False/CreateFailed");
      assertStringIncludes(
        message(world, "orders", "Ready"),
        "HTTP status 400: the quota of 5 databases is used up",
      );
    });
  });
}

Deno.test("S5: a change of unknown outcome is read for by growing steps until its bound is over", () =>
  onFreeCloud({ effectBoundSeconds: 900 }, async (world, cloud, start) => {
    start();
    world.cluster.create("default", "orders");
    await world.available("orders");
    cloud.knobs.intercept = ({ method }) =>
      method === "PATCH" ? new Response(null, { status: 500 }) : undefined;
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.until("sent", () => cloud.patches().length === 1);
    cloud.knobs.intercept = () => undefined;
    const calls = cloud.calls.length;
    await world.run(14 * MINUTE);
    const reads = cloud.calls.slice(calls).filter((c) => c.path.startsWith("/v1/databases/"));
    assert(reads.length < 60, `${reads.length} reads`);
    assertEquals(cloud.patches().length, 1);
    await world.until("grown", () => world.get("orders")?.status?.observed?.sizeGb === 50, 3 * MINUTE);
    await world.available("orders");
    assertEquals(cloud.patches().length, 2);
  }));

Deno.test("A1: an adoption that waits names the cloud's own word for a state that is not known", () =>
  onFreeCloud({}, async (world, cloud, start) => {
    const { id } = cloud.put({ state: "Hibernating" });
    start();
    world.cluster.create("default", "orders", { providerId: id });
    await world.until("told", () => world.condition("orders", "Synced") === "False/Pending");
    assertStringIncludes(message(world, "orders"), 'is "Hibernating", a state that is not known here,');
    assertEquals(cloud.mutations(), 0);
  }));

Deno.test("S6: a page token that is a number is as good as a text", () =>
  onFreeCloud({ pageSize: 1, tokenOf: (n) => n }, async (world, cloud, start) => {
    start();
    const names = ["a", "b", "c"];
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    await assertIdle(world, cloud);
  }));

Deno.test("R8: what only observes tells of a difference beside a change that is pending", () =>
  onFreeCloud({}, async (world, cloud, start) => {
    const { id } = cloud.put({ pending: { sizeGb: 50 } });
    start();
    const spec = { providerId: id, managementPolicy: "ObserveOnly", sizeGb: 50, version: "15.1" } as const;
    world.cluster.create("default", "orders", spec);
    await world.until("told", () => world.condition("orders", "Synced") === "False/DriftReported");
    assertStringIncludes(message(world, "orders"), "version 14.2 → 15.1");
    assertEquals(cloud.mutations(), 0);
  }));
