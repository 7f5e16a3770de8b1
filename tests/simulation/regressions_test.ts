/**
 * One test for each fault of the operator that the simulation found, at the seed's essence.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ANNOTATION, TAG } from "../../src/api/constants.ts";
import { sleep } from "../../src/core/wait.ts";
import { KubeError } from "../../src/kube/port.ts";
import { inWorld } from "../support/world.ts";

const MINUTE = 60_000;

/** A refusal that pauses the account for so many seconds. */
const throttledFor = (retryAfterSeconds: number) => ({
  status: 429,
  code: "Throttled",
  message: "Too many requests",
  retryAfterSeconds,
});

/** Distinct `Ready` conditions of a resource in the order they were written. */
function readyWords(world: Parameters<Parameters<typeof inWorld>[1]>[0]): string[] {
  const words = world.cluster.writes.map(({ object }) => {
    const ready = object.status?.conditions?.find((c) => c.type === "Ready");
    return `${ready?.status}/${ready?.reason}`;
  });
  return words.filter((w, i) => w !== words[i - 1]);
}

for (const deleted of [false, true]) {
  Deno.test(
    `Seed 136: a paused${
      deleted ? ", deleted" : ""
    } resource whose database vanished says so within a period, not that the provider is silent`,
    () =>
      inWorld({}, async (world) => {
        world.start({ pollIntervalMs: MINUTE });
        world.cluster.create("default", "orders");
        await world.available("orders");
        world.cluster.edit("default", "orders", { paused: true });
        await world.until("paused", () => world.condition("orders", "Synced") === "False/Paused");
        if (deleted) world.cluster.delete("default", "orders");
        await world.run(1_000);
        const before = world.cluster.writes.length;
        world.cloud.remove(world.get("orders")?.status?.providerId ?? "");
        await world.until(
          "the absence is told",
          () => world.condition("orders", "Ready") === "False/ExternalMissing",
          2 * MINUTE,
        );
        await world.run(30 * MINUTE);
        assertEquals(world.condition("orders", "Ready"), "False/ExternalMissing");
        assertEquals(world.condition("orders", "Synced"), "False/Paused");
        assertEquals(world.cluster.writes.length - before, 1, "and says it once");
      }),
  );
}

Deno.test("Seed 371: under another account for long, Ready turns Unknown once and does not flap", () =>
  inWorld({}, async (world) => {
    const first = world.start({ pollIntervalMs: MINUTE });
    world.cluster.create("default", "orders");
    await world.available("orders");
    first.crash();
    world.cloud.configure({ account: "another" });
    world.cluster.writes.length = 0;
    world.start({ pollIntervalMs: MINUTE });
    await world.run(30 * MINUTE);
    assertEquals(world.condition("orders", "Synced"), "False/Conflict");
    assertEquals(readyWords(world), ["True/Available", "Unknown/ProviderUnavailable"]);
  }));

Deno.test("Seed 1034: a list that still shows the database under a changed account does not make Ready flap", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: MINUTE });
    world.cluster.create("default", "orders", { pollInterval: "10s" });
    await world.available("orders");
    // As a create is recorded whose account changed under it.
    const { status } = world.get("orders") ?? {};
    world.cluster.setStatus("default", "orders", { ...status, account: "another" });
    await world.until("in conflict", () => world.condition("orders", "Synced") === "False/Conflict");
    world.cluster.writes.length = 0;
    await world.run(30 * MINUTE);
    assertEquals(readyWords(world), [], "written again and again");
  }));

Deno.test("Seed 2490: a deletion whose status was wiped waits for the account that held the database", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: MINUTE });
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cloud.configure({ account: "another" });
    world.cluster.delete("default", "orders");
    await world.until("in conflict", () => world.condition("orders", "Synced") === "False/Conflict");
    world.cluster.setStatus("default", "orders", {});
    await world.run(10 * MINUTE);
    assertEquals(world.get("orders")?.metadata.finalizers?.length, 1, "released on another account's word");
    world.cloud.configure({ account: "simulated" });
    await world.until("it is gone", () => world.get("orders") === undefined, 5 * MINUTE);
    assertEquals(world.cloud.databases().length, 0);
  }));

Deno.test("Seed 7901: an old resource that a stale list shows as new is not released as if nothing had been created", () =>
  inWorld({ readLagMs: 5_000, provisionMs: 100 }, async (world) => {
    const first = world.start();
    const asNew = world.cluster.create("default", "orders");
    await world.until("the create was sent", () => world.cloud.databases().length === 1, 5_000, 1);
    first.crash(); // before it could record the id
    world.cluster.delete("default", "orders");
    // The next process lists from a server that lags, and cannot read the resource itself for a while.
    world.cluster.fault = ({ verb, phase }) => {
      if (verb === "get" && phase === "before") throw new KubeError("unavailable", "service unavailable");
    };
    const list = world.cluster.list.bind(world.cluster);
    world.cluster.list = async (request) => ({ ...await list(request), items: [asNew] });
    world.start();
    await world.run(3_000);
    world.cluster.fault = () => {};
    await world.until("it is gone", () => world.get("orders") === undefined, 5 * MINUTE);
    assertEquals(world.cloud.databases().length, 0, "an orphan is left behind");
  }));

Deno.test("Seed 186: a deletion that waits for a database of another's goes on when that is gone", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: MINUTE });
    world.cluster.create("default", "orders");
    await world.available("orders");
    const id = world.get("orders")?.status?.providerId ?? "";
    const { [TAG.uid]: _uid, ...tags } = world.cloud.get(id)?.tags ?? {};
    world.cloud.edit(id, { tags });
    world.cluster.delete("default", "orders");
    await world.until("in conflict", () => world.condition("orders", "Synced") === "False/Conflict");
    world.cloud.remove(id);
    await world.until("it is gone", () => world.get("orders") === undefined, 5 * MINUTE);
  }));

Deno.test("Seed 11902: a status written against a stale copy is completed on the fresh one", () =>
  inWorld({}, async (world) => {
    const first = world.start({ pollIntervalMs: MINUTE });
    world.cluster.create("default", "orders");
    await world.available("orders");
    const stale = world.get("orders");
    assert(stale !== undefined);
    first.crash();
    // What another process wrote meanwhile, and what the next one, listing from a server that lags, has not seen.
    const unread = { status: "Unknown", reason: "ProviderUnavailable", message: "Reading failed" } as const;
    const conditions = stale.status?.conditions?.map((c) => c.type === "Synced" ? { ...c, ...unread } : c) ??
      [];
    world.cluster.setStatus("default", "orders", { ...stale.status, conditions });
    const list = world.cluster.list.bind(world.cluster);
    world.cluster.list = async (request) => ({ ...await list(request), items: [stale] });
    world.cloud.edit(stale.status?.providerId ?? "", { sizeGb: 30 }); // something to say besides
    world.start({ pollIntervalMs: MINUTE });
    await world.run(5 * MINUTE);
    assertEquals(world.get("orders")?.status?.observed?.sizeGb, 30);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
  }));

for (
  const [what, change] of Object.entries({
    "a pause": { paused: true },
    "an edit to a spec that is not valid": { sizeGb: -1 },
  })
) {
  Deno.test(`Seed 14342: ${what} that meets the answer of a create does not keep the id from being recorded`, () =>
    inWorld({ latencyMs: 2_000 }, async (world) => {
      world.start();
      world.cluster.create("default", "orders");
      await world.until(
        "the create is sent",
        () => world.cloud.ledger.calls({ verb: "create" }).length === 1,
      );
      world.cluster.edit("default", "orders", change);
      await world.until("the id is there", () => world.get("orders")?.status?.providerId !== undefined);
      world.assertSafe();
    }));
}

Deno.test("Seed 17440: an absence that another account's credentials caused for a moment replaces nothing", () =>
  inWorld({}, async (world) => {
    world.start({ pollIntervalMs: 5 * MINUTE });
    world.cluster.create("default", "orders", { pollInterval: "10s" });
    await world.available("orders");
    await world.run(2 * MINUTE);
    // The account cannot be asked while the credentials are wrong, and says its right name when it can be again.
    world.cloud.faults.add({
      verbs: ["info"],
      forMs: 20_000,
      fault: { answer: { status: 503, code: "Unavailable", message: "Service unavailable" } },
    });
    world.cloud.configure({ account: "another" });
    await world.until(
      "the absence is seen",
      () => world.condition("orders", "Synced") === "False/ExternalMissing",
      30_000,
      10,
    );
    world.cloud.configure({ account: "simulated" });
    await world.run(5 * MINUTE);
    world.assertSafe();
    assertEquals(world.cloud.databases().length, 1, "another was made though the first was there");
    assertEquals(world.condition("orders", "Synced"), "True/Available");
  }));

Deno.test("Seed 62478: an actor that slept while the watch was silent wakes with what it had written itself", () =>
  inWorld({}, async (world) => {
    const watch = world.cluster.watch.bind(world.cluster);
    let silent = false;
    world.cluster.watch = async function* (request) {
      for await (const event of watch(request)) {
        if (!silent) yield event;
        silent ||= event.type === "MODIFIED"; // nothing after the finalizer
      }
    };
    world.start({ hibernateAfterMs: MINUTE, reflector: { bookmarkLimitMs: 60 * MINUTE } });
    world.cluster.create("default", "orders");
    await world.available("orders");
    await world.run(4 * MINUTE);
    const { status } = world.get("orders") ?? {};
    world.cloud.configure({ account: "another" }); // told to everyone, sleepers too
    await world.run(2 * MINUTE);
    assertEquals(world.get("orders")?.status?.account, status?.account, "the account was overwritten");
    assertEquals(world.get("orders")?.status?.providerId, status?.providerId);
  }));

Deno.test("Seed 68155: what a watch that lags tells of a resource that was read to be gone does not bring it back", () =>
  inWorld({ latencyMs: 40, provisionMs: 20_000 }, async (world) => {
    const watch = world.cluster.watch.bind(world.cluster);
    world.cluster.watch = async function* (request) {
      for await (const event of watch(request)) {
        if (event.type !== "ADDED") await sleep(world.clock, 5_000, request.signal);
        yield event;
      }
    };
    world.start({ pollIntervalMs: 30_000 });
    world.cluster.create("default", "orders");
    await world.until(
      "the finalizer",
      () => world.get("orders")?.metadata.finalizers !== undefined,
      1_000,
      1,
    );
    world.cluster.vanish("default", "orders");
    await world.run(3 * MINUTE);
    assertEquals(world.cloud.ledger.createEffects().length, 1);
    assertEquals(world.cloud.databases(), [], "its database outlives it");
  }));

for (const late of [false, true]) {
  Deno.test(
    `Seed ${late ? 2412 : 342}: an id that was recorded meanwhile is not written over by ${
      late ? "a write that lands late" : "what was decided on a stale copy without one"
    }`,
    () =>
      inWorld({ clientTokens: false }, async (world) => {
        const { cluster, cloud } = world;
        const watch = cluster.watch.bind(cluster);
        cluster.watch = async function* (request) {
          for await (const event of watch(request)) {
            if (event.type !== "ADDED") await sleep(world.clock, MINUTE, request.signal);
            yield event;
          }
        };
        // Another process has made a second database, and records that one when we are about to record ours.
        let first: string | undefined;
        const patchStatus = cluster.patchStatus.bind(cluster);
        cluster.patchStatus = async (key, operations, options) => {
          const ours = operations.some((o) => o.op !== "test" && o.path === "/status/providerId");
          if (!ours || first !== undefined) return await patchStatus(key, operations, options);
          const { name, engine, version, sizeGb, tags, account } = cloud.databases()[0]!;
          const { id } = cloud.insert({ name, engine, version, sizeGb, tags: { ...tags }, account });
          first = id;
          const { uid } = world.get("orders")!.metadata;
          await patchStatus(key, [
            { op: "test", path: "/metadata/uid", value: uid },
            { op: "add", path: "/status/providerId", value: id },
            { op: "add", path: "/status/account", value: "simulated" },
          ], options);
          if (late) await sleep(world.clock, 5_000);
          return await patchStatus(key, operations, options);
        };
        world.start();
        cluster.create("default", "orders");
        await world.until("both are there", () => first !== undefined);
        await world.run(3 * MINUTE);
        const ids = cluster.writes.map(({ object }) => object.status?.providerId).filter((id) =>
          id !== undefined
        );
        assertEquals([...new Set(ids)], [first], "the first one was given up");
        assertEquals(world.get("orders")?.status?.state, "Available");
      }),
  );
}

Deno.test("Seed 2238: an absence that another account told for a moment, soon after the right one spoke, replaces nothing", () =>
  inWorld({ readLagMs: 0, effectBoundMs: 1_000, provisionMs: 100 }, async (world) => {
    world.start({ pollIntervalMs: 5 * MINUTE });
    await world.run(1_000);
    world.cluster.create("default", "orders", { pollInterval: "10s" });
    await world.available("orders"); // its record asked for the account
    const { id } = world.cloud.databases()[0]!;
    world.cloud.faults.add({
      verbs: ["info"],
      forMs: 14_000,
      fault: { answer: { status: 503, code: "Unavailable", message: "Service unavailable" } },
    });
    world.cloud.configure({ account: "another" });
    await world.until(
      "the absence is seen",
      () => world.condition("orders", "Synced") === "False/ExternalMissing",
      14_000,
      10,
    );
    await world.run(2_000); // the list that counts it says so too (rule 12)
    world.cloud.configure({ account: "simulated" });
    await world.run(5 * MINUTE);
    world.assertSafe();
    assertEquals(world.get("orders")?.status?.incarnation, 1, "it was given up though it was there");
    assertEquals(world.get("orders")?.status?.providerId, id);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
  }));

Deno.test("Seed 1897: a finalizer written minutes ago proves nothing: the resource is read again before the create", () =>
  inWorld({}, async (world) => {
    const watch = world.cluster.watch.bind(world.cluster);
    world.cluster.watch = async function* (request) {
      for await (const event of watch(request)) {
        if (event.type === "MODIFIED") await sleep(world.clock, 10 * MINUTE, request.signal);
        yield event;
      }
    };
    world.cloud.faults.add({
      verbs: ["info"],
      forMs: 3 * MINUTE,
      fault: { answer: { status: 403, code: "Forbidden", message: "The credentials do not allow this" } },
    });
    world.start({ reflector: { bookmarkLimitMs: 60 * MINUTE } });
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.until("told", () => world.condition("orders", "Ready") === "Unknown/Unauthorised");
    world.cluster.delete("default", "orders");
    await world.until("orders is gone", () => world.get("orders") === undefined, 8 * MINUTE);
    assertEquals(world.cloud.ledger.mutatingCalls(), [], "a create was sent for what is being deleted");
  }));

Deno.test("Seed 855: a restart while nothing can be read does not take back that a paused resource's database is missing", () =>
  inWorld({}, async (world) => {
    const first = world.start({ pollIntervalMs: MINUTE });
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.edit("default", "orders", { paused: true });
    await world.until("paused", () => world.condition("orders", "Synced") === "False/Paused");
    world.cloud.remove(world.get("orders")?.status?.providerId ?? "");
    const missing = () => world.condition("orders", "Ready") === "False/ExternalMissing";
    await world.until("the absence is told", missing, 2 * MINUTE);
    await world.run(1_000);
    first.crash();
    const before = world.cluster.writes.length;
    world.cloud.faults.add({
      verbs: ["list", "get"],
      forMs: 5 * MINUTE,
      fault: { answer: { status: 503, code: "Unavailable", message: "Service unavailable" } },
    });
    world.start({ pollIntervalMs: MINUTE });
    await world.run(30 * MINUTE);
    assertEquals(world.cluster.writes.length - before, 0, "a restart is no news");
    assert(missing());
  }));

Deno.test("Seed 24240: a create that waits in the queue is not sent once its resource's finalizer was stripped: that is put back first", () =>
  inWorld({ latencyMs: 100 }, async (world) => {
    world.start({ pollIntervalMs: 10 * MINUTE });
    await world.run(1_000);
    world.cloud.faults.refuse("info", throttledFor(120), 1);
    await world.until("throttled", () => world.cloud.ledger.calls({ verb: "info" }).length > 1, 2 * MINUTE);
    await world.run(1_000); // it was answered
    world.cluster.create("default", "orders");
    await world.until("the finalizer", () => world.get("orders")?.metadata.finalizers !== undefined, 2_000);
    await world.run(15_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), [], "the create waits");
    world.cluster.meta("default", "orders", { finalizers: [] });
    const { ledger } = world.cloud;
    const sent = () => ledger.calls({ verb: "create" }).length > 0;
    await world.until("the create is sent", sent, 5 * MINUTE, 10);
    assertEquals(world.get("orders")?.metadata.finalizers?.length, 1, "sent without our finalizer");
    await world.available("orders");
    assertEquals(world.cloud.databases().length, 1);
  }));

for (const heard of [true, false]) {
  Deno.test(`Seed 27644: no lookup of another account's, ${heard ? "heard of" : "unheard of"}, tells what a create of unknown outcome brought`, () =>
    inWorld({ clientTokens: false, readLagMs: 0, effectBoundMs: 2_000, provisionMs: 100 }, async (world) => {
      world.start({ pollIntervalMs: 10 * MINUTE });
      await world.run(1_000);
      const { cloud, cluster } = world;
      cloud.faults.loseAnswer("create");
      const down = { answer: { status: 503, code: "Unavailable", message: "Service unavailable" } };
      cloud.faults.add({ verbs: ["list"], forMs: 5_000, fault: down });
      cluster.create("default", "orders");
      await world.until("made", () => cloud.databases().length === 1);
      await world.run(1_000);
      const { account } = cloud.settings;
      cloud.configure({ account: "another" });
      if (!heard) cloud.faults.add({ verbs: ["info"], forMs: MINUTE, fault: down });
      await world.run(heard ? 5 * MINUTE : MINUTE);
      assertEquals(cloud.ledger.createEffects().length, 1, "a second one was made");
      if (heard) assertEquals(world.condition("orders", "Synced"), "False/Conflict");
      cloud.configure({ account });
      await world.available("orders");
      assertEquals(cloud.ledger.createEffects().length, 1);
      world.assertSafe();
    }));
}

Deno.test("Seed 345137: a create of unknown outcome that was sent while the account went back unheard does not wait for the account heard of before", () =>
  inWorld({ clientTokens: false, readLagMs: 0, effectBoundMs: 2_000, provisionMs: 100 }, async (world) => {
    const { cloud, cluster } = world;
    const { account } = cloud.settings;
    cloud.configure({ account: "another" });
    world.start({ pollIntervalMs: 10 * MINUTE });
    await world.run(1_000);
    cloud.configure({ account });
    const down = { answer: { status: 503, code: "Unavailable", message: "Service unavailable" } };
    cloud.faults.add({ verbs: ["create"], forMs: 1_000, fault: down });
    cluster.create("default", "orders");
    await world.available("orders");
    assertEquals(cloud.databases().map((d) => d.account), [account]);
  }));

Deno.test("Seed 13142: nothing is waited for any more once the operator has stopped, though deletes wait for a throttled cloud", () =>
  inWorld({}, async (world) => {
    const process = world.start({ pollIntervalMs: MINUTE });
    const names = ["a", "b", "c", "d"];
    for (const name of names) world.cluster.create("default", name);
    await world.available(...names);
    world.cloud.faults.refuse("list", throttledFor(600), 1);
    await world.until("throttled", () => process.operator.site.scheduler.pauses > 0, 2 * MINUTE);
    for (const name of names) world.cluster.delete("default", name);
    await world.run(10_000); // the CRD is asked again and again
    assertEquals(await process.stop(), 0);
    assertEquals(world.cloud.databases().length, names.length);
  }));

Deno.test("Seed 30607: who adopts a database sets no password while one of its last owner may still take effect", () =>
  inWorld({ effectBoundMs: 30_000 }, async (world) => {
    world.start({ callTimeoutMs: 1_000 });
    const { cloud, cluster } = world;
    cluster.create("default", "orders", { connectionSecretRef: {} });
    await world.available("orders");
    await world.run(MINUTE); // no earlier process can have anything under way
    const id = world.get("orders")?.status?.providerId ?? "";
    cloud.faults.lateEffect("modify", 1, 20_000);
    cluster.annotate("default", "orders", { [ANNOTATION.rotatePassword]: "1" });
    const asked = () => cloud.ledger.calls({ verb: "modify" }).length === 1;
    await world.until("the password was asked for", asked);
    await world.run(1_500);
    const { [TAG.uid]: _, ...tags } = cloud.get(id)?.tags ?? {};
    cloud.edit(id, { tags });
    cluster.create("default", "taken", { providerId: id, connectionSecretRef: {} });
    const isReady = () => world.condition("taken", "Ready") === "True/Available";
    await world.until("adopted", isReady, 5 * MINUTE);
    await world.run(MINUTE);
    const password = world.secrets.read("taken-connection")?.password ?? "";
    assert(cloud.loginWorks(id, password), "the Secret does not log in");
  }));

for (const named of [true, false]) {
  Deno.test(
    `Seed 16426: what was looked at a moment before its resource manages is ${
      named ? "adopted with its tags" : "nobody's, where the spec names it no more"
    }`,
    () =>
      inWorld({ latencyMs: 2_000 }, async (world) => {
        world.start();
        const { cloud, cluster } = world;
        const { id } = cloud.insert({ name: "theirs" });
        await world.run(10_000);
        cluster.create("default", "orders", { managementPolicy: "ObserveOnly", providerId: id });
        await world.until("looked at", () => cloud.ledger.calls({ verb: "get" }).length > 0);
        cluster.edit("default", "orders", {
          managementPolicy: "Full",
          providerId: named ? id : undefined,
        });
        await world.available("orders");
        const { uid } = world.get("orders")?.metadata ?? {};
        assertEquals(world.get("orders")?.status?.providerId === id, named);
        assertEquals(world.get("orders")?.status?.adopted ?? false, named);
        assertEquals(cloud.get(id)?.tags[TAG.uid] === uid, named);
        assertEquals(cloud.databases().length, named ? 1 : 2);
      }),
  );
}
