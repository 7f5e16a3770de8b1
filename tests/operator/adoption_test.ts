/**
 * Adoption, absence and accounts (behaviours A1–A4, C7, D8; rules 11, 12, 18–20) in virtual time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANNOTATION, FINALIZER, TAG } from "../../src/api/constants.ts";
import type { ExternalDatabaseSpec } from "../../src/api/schema.ts";
import { REFUSALS } from "../../src/providers/simulated/faults.ts";
import { inWorld, type World } from "../support/world.ts";

const PERIOD = 300_000;

/** The database of a CR. */
function databaseOf(world: World, name: string) {
  const id = world.get(name)?.status?.providerId;
  const found = id === undefined ? undefined : world.cloud.get(id);
  assert(found !== undefined, `${name} has no database`);
  return found;
}

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

/** Retains a CR's database: the CR goes, the database stays. */
async function retained(world: World, name = "orders", spec: Partial<ExternalDatabaseSpec> = {}) {
  await inStep(world, name, { deletionPolicy: "Retain", ...spec });
  const { id } = databaseOf(world, name);
  world.cluster.delete("default", name);
  await world.until(`${name} is gone`, () => world.get(name) === undefined);
  assert(world.cloud.get(id)?.tags[TAG.retained] !== undefined);
  return id;
}

const message = (world: World, name: string) =>
  world.get(name)?.status?.conditions?.find((c) => c.type === "Synced")?.message ?? "";

/** Asserts that `ms` pass without a mutating call or a change of any CR. */
async function assertQuiet(world: World, ms: number): Promise<void> {
  const mark = world.cloud.ledger.mark();
  const versions = world.cluster.all().map((o) => [o.metadata.name, o.metadata.resourceVersion]);
  await world.run(ms);
  assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
  assertEquals(world.cluster.all().map((o) => [o.metadata.name, o.metadata.resourceVersion]), versions);
}

Deno.test("A1: retained and applied again with spec.providerId: one Event, one tag write, no other change", () =>
  inWorld({}, async (world) => {
    world.start();
    const id = await retained(world);
    const mark = world.cloud.ledger.mark();
    const events = world.events.length;
    const { uid } = world.cluster.create("default", "orders", { providerId: id }).metadata;
    await world.available("orders");
    const calls = world.cloud.ledger.mutatingCalls(mark);
    assertEquals(calls.map((c) => [c.verb, c.id]), [["modify", id]]);
    const { tags, sizeGb, version } = databaseOf(world, "orders");
    assertEquals([tags[TAG.uid], tags[TAG.retained], sizeGb, version], [uid, undefined, 20, "14.2"]);
    assertEquals(world.events.slice(events).filter((e) => e.reason === "Adopted").length, 1);
    assertEquals(world.get("orders")?.status?.adopted, true);
    await assertQuiet(world, 5 * PERIOD);
    world.cluster.delete("default", "orders"); // rule 19: Retain is what an adopted one defaults to
    await world.until("orders is gone", () => world.get("orders") === undefined);
    assertEquals(world.cloud.get(id)?.tags[TAG.retained], uid);
  }));

Deno.test("A1: an adopted database that differs is reported, and changed only with an explicit Repair", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert({ sizeGb: 20, version: "13.1" });
    world.cluster.create("default", "orders", { providerId: id, sizeGb: 50 });
    await world.until("reported", () => world.condition("orders", "Synced") === "False/DriftReported");
    assertEquals(world.condition("orders", "Ready"), "True/Available");
    await assertQuiet(world, 5 * PERIOD);
    assertEquals([databaseOf(world, "orders").sizeGb, databaseOf(world, "orders").version], [20, "13.1"]);
    world.cluster.edit("default", "orders", { driftPolicy: "Repair" });
    await world.until("repaired", () => databaseOf(world, "orders").sizeGb === 50);
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").id, id);
  }));

Deno.test("A1: adopted, its database deleted at the console is reported, never re-created", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert();
    await inStep(world, "orders", { providerId: id });
    world.cloud.remove(id);
    await world.until(
      "reported",
      () => world.condition("orders", "Synced") === "False/ExternalMissing",
      2 * PERIOD,
    );
    await world.run(5 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects(), []);
  }));

for (
  const [words, fault] of [
    ["is lost after its effect", { answer: "lost", effect: "done" }],
    ["is lost without effect", { answer: "lost", effect: "none" }],
    ["takes effect late", { answer: "lost", effect: "late" }],
    ["is refused as busy", { answer: { status: 409, code: "InvalidState", message: "busy" } }],
  ] as const
) {
  Deno.test(`rule 18: an adoption whose tag write ${words} ends in one adoption`, () =>
    inWorld({}, async (world) => {
      world.start();
      const { id } = world.cloud.insert();
      world.cloud.faults.add({ verbs: ["modify"], times: 1, fault });
      await inStep(world, "orders", { providerId: id });
      assertEquals(databaseOf(world, "orders").id, id);
      assertEquals(world.events.filter((e) => e.reason === "Adopted").length, 1);
      assertEquals(world.cloud.ledger.createEffects(), []);
      world.assertSafe();
    }));
}

Deno.test("rule 18: killed at any time of an adoption, it is carried through", async () => {
  for (let at = 0; at < 1_500; at += 50) {
    await inWorld({ latencyMs: 200 }, async (world) => {
      world.cluster.latencyMs = 20;
      const first = world.start();
      await world.run(500);
      const { id } = world.cloud.insert();
      world.cluster.create("default", "orders", { providerId: id });
      await world.run(at);
      first.crash();
      world.start();
      await world.available("orders");
      assertEquals(databaseOf(world, "orders").id, id);
      assertEquals(world.cloud.ledger.createEffects(), []);
      world.assertSafe();
    });
  }
});

Deno.test("rule 18: an id that the provider does not have is told, tried slowly, and found when it comes", () =>
  inWorld({}, async (world) => {
    world.start();
    world.cluster.create("default", "orders", { providerId: "db-nowhere" });
    await world.until("told", () => world.condition("orders", "Synced") === "False/CreateFailed");
    assertMatch(message(world, "orders"), /db-nowhere/);
    await world.run(600_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    const { id } = world.cloud.insert();
    world.cluster.edit("default", "orders", { providerId: id });
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").id, id);
  }));

Deno.test("rule 18: a database that belongs to a living resource is not taken, and the message names it", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("default", "thief", { providerId: id });
    await world.until("refused", () => world.condition("thief", "Synced") === "False/Conflict");
    assertMatch(message(world, "thief"), new RegExp(`default/owner.*${tags[TAG.uid]}.*adopt-from`));
    assertEquals(world.condition("thief", "Ready"), "False/Conflict");
    await world.run(1_800_000);
    assertEquals(databaseOf(world, "owner").tags, tags);
    assertEquals(world.condition("owner", "Synced"), "True/Available");
  }));

Deno.test("rule 18: adopt-from consents, at once, and the former owner lets go of it", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("default", "heir", { providerId: id });
    await world.until("refused", () => world.condition("heir", "Synced") === "False/Conflict");
    await world.run(60_000);
    world.cluster.annotate("default", "heir", { [ANNOTATION.adoptFrom]: tags[TAG.uid]! });
    await world.until("adopted", () => world.get("heir")?.status?.providerId === id, 5_000);
    await world.available("heir");
    await world.until(
      "the former owner says so",
      () => world.condition("owner", "Synced") === "False/Conflict",
      2 * PERIOD,
    );
    world.cluster.edit("default", "owner", { sizeGb: 99 });
    await world.run(2 * PERIOD);
    assertEquals(world.cloud.get(id)?.sizeGb, 20);
    assertEquals(world.cloud.ledger.createEffects().length, 1, "the former owner makes no other");
  }));

Deno.test("rule 18: a wrong adopt-from consents to nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "owner");
    const { id, tags } = databaseOf(world, "owner");
    world.cluster.create("default", "thief", { providerId: id }, {
      annotations: { [ANNOTATION.adoptFrom]: "00000000-0000-4000-8000-999999999999" },
    });
    await world.until("refused", () => world.condition("thief", "Synced") === "False/Conflict");
    await world.run(60_000);
    assertEquals(world.cloud.get(id)?.tags, tags);
  }));

Deno.test("rule 18: the database of a resource of this cluster that is gone is free; of another cluster it is not", () =>
  inWorld({}, async (world) => {
    world.start();
    const orphan = (cluster: string) =>
      world.cloud.insert({
        tags: {
          [TAG.uid]: "00000000-0000-4000-8000-00000000dead",
          [TAG.crName]: "lost",
          [TAG.namespace]: "default",
          [TAG.cluster]: cluster,
        },
      }).id;
    const here = orphan("cluster-1"), there = orphan("cluster-2");
    world.cluster.create("default", "finder", { providerId: here });
    world.cluster.create("default", "stranger", { providerId: there });
    await world.available("finder");
    await world.until("refused", () => world.condition("stranger", "Synced") === "False/Conflict");
    assertEquals(world.cloud.get(there)?.tags[TAG.uid], "00000000-0000-4000-8000-00000000dead");
  }));

Deno.test("rule 18: while the owner cannot be read, nothing is taken", () =>
  inWorld({}, async (world) => {
    const { KubeError } = await import("../../src/kube/port.ts");
    world.cluster.fault = ({ verb, key }) => {
      if (verb === "get" && key?.name === "lost") {
        throw new KubeError("server", "etcd is down", { status: 500 });
      }
    };
    world.start();
    const { id } = world.cloud.insert({
      tags: {
        [TAG.uid]: "00000000-0000-4000-8000-00000000dead",
        [TAG.crName]: "lost",
        [TAG.namespace]: "default",
        [TAG.cluster]: "cluster-1",
      },
    });
    world.cluster.create("default", "finder", { providerId: id });
    await world.run(120_000);
    assertEquals(world.cloud.ledger.mutatingCalls(), []);
    world.cluster.fault = () => {};
    await world.available("finder");
  }));

Deno.test("D8: two name the same database; the loser says so, never mutates, and its deletion touches nothing", () =>
  inWorld({}, async (world) => {
    world.start();
    const { id } = world.cloud.insert();
    await inStep(world, "first", { providerId: id });
    const { tags } = databaseOf(world, "first");
    world.cluster.create("default", "second", { providerId: id, deletionPolicy: "Delete", sizeGb: 99 });
    await world.until("refused", () => world.condition("second", "Synced") === "False/Conflict");
    assertMatch(message(world, "second"), /default\/first/);
    const mark = world.cloud.ledger.mark();
    await world.run(1_800_000);
    world.cluster.delete("default", "second");
    await world.until("second is gone", () => world.get("second") === undefined);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assertEquals(databaseOf(world, "first").tags, tags);
    assertEquals(world.condition("first", "Ready"), "True/Available");
  }));

Deno.test("D8: applied together, one wins, and a restart in between changes nothing of it", async () => {
  for (let at = 0; at < 1_000; at += 100) {
    await inWorld({ latencyMs: 200 }, async (world) => {
      const process = world.start();
      await world.run(500);
      const { id } = world.cloud.insert();
      for (const name of ["a", "b"]) {
        world.cluster.create("default", name, { providerId: id, deletionPolicy: "Delete" });
      }
      await world.run(at);
      process.crash();
      world.start();
      const settled = (name: string) => world.condition(name, "Synced");
      await world.until(
        "one wins",
        () => [settled("a"), settled("b")].toSorted().join() === "False/Conflict,True/Available",
        3 * PERIOD,
      );
      const loser = settled("a") === "False/Conflict" ? "a" : "b";
      world.cluster.delete("default", loser);
      await world.run(2 * PERIOD);
      assert(world.cloud.get(id) !== undefined, "the loser's deletion touches nothing");
      assertEquals(world.cloud.databases().length, 1);
    });
  }
});

Deno.test("C7: a backup restored into a new cluster makes databases of its own and touches none of the first's", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 10);
    const before = world.cloud.databases().map((d) => [d.id, JSON.stringify(d.tags)]);
    await first.stop();
    for (const name of names) {
      // A backup holds no status, and what it restores is new.
      const { spec } = world.get(name)!;
      world.cluster.meta("default", name, { finalizers: [] });
      world.cluster.delete("default", name);
      world.cluster.create("default", name, spec);
    }
    world.start({ clusterId: "cluster-2" });
    await world.available(...names);
    for (const [id, tags] of before) assertEquals(JSON.stringify(world.cloud.get(id!)?.tags), tags);
    assertEquals(world.cloud.databases().length, 20);
  }));

Deno.test("C7: restored with spec.providerId into another cluster it does not steal what is in use", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await inStep(world);
    const { id, tags } = databaseOf(world, "orders");
    await first.stop();
    world.cluster.meta("default", "orders", { finalizers: [] });
    world.cluster.delete("default", "orders");
    world.cluster.create("default", "orders", { providerId: id });
    world.start({ clusterId: "cluster-2" });
    await world.until("refused", () => world.condition("orders", "Synced") === "False/Conflict");
    await world.run(1_800_000);
    assertEquals(world.cloud.get(id)?.tags, tags);
  }));

Deno.test("rule 20: a cluster cloned with its UIDs and ids makes everything a conflict under its own --cluster-id", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 5);
    await first.stop();
    const mark = world.cloud.ledger.mark();
    world.start({ clusterId: "cluster-2" });
    for (const name of names) world.cluster.edit("default", name, { sizeGb: 50 });
    await world.until(
      "conflicts",
      () => names.every((n) => world.condition(n, "Synced") === "False/Conflict"),
      2 * PERIOD,
    );
    world.cluster.delete("default", names[0]!);
    await world.run(2 * PERIOD);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    assert(world.get(names[0]!) !== undefined, "its deletion waits for a person");
  }));

Deno.test("A2: credentials that point at another, empty account: a condition, no create, no delete", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world); // one alone is below any count of a mass absence
    const { id } = databaseOf(world, "orders");
    const mark = world.cloud.ledger.mark();
    world.cloud.configure({ account: "another" });
    await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict", 2 * PERIOD);
    assertMatch(message(world, "orders"), /"another".*"simulated"/);
    await world.run(3_600_000);
    world.cluster.edit("default", "orders", { sizeGb: 50 });
    await world.run(PERIOD);
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
    world.cloud.configure({ account: "simulated" });
    await world.until("50 GiB", () => world.cloud.get(id)?.sizeGb === 50, 2 * PERIOD);
    await world.available("orders");
    assertEquals(databaseOf(world, "orders").id, id);
    world.assertSafe();
  }));

Deno.test("A2: at whatever moment the credentials change, and whoever notices first, nothing is re-created", async () => {
  for (let at = 0; at < PERIOD + 60_000; at += 7_000) {
    await inWorld({}, async (world) => {
      world.start();
      await inStep(world, "slow");
      await inStep(world, "quick", { pollInterval: "10s" });
      await world.run(at);
      world.cloud.configure({ account: "another" });
      await world.run(PERIOD + 90_000);
      assertEquals(world.cloud.ledger.createEffects().length, 2, `changed after ${at} ms`);
      for (const name of ["slow", "quick"]) assertEquals(world.condition(name, "Synced"), "False/Conflict");
    });
  }
});

Deno.test("A2: a resource deleted under another account keeps its finalizer until the account is back", async () => {
  for (const wait of [0, 1_000, 20_000, 120_000]) {
    await inWorld({}, async (world) => {
      world.start();
      await inStep(world);
      world.cloud.configure({ account: "another" });
      await world.run(wait);
      world.cluster.delete("default", "orders");
      await world.run(2 * PERIOD);
      assertEquals(world.get("orders")?.metadata.finalizers, [FINALIZER], `deleted after ${wait} ms`);
      assertEquals(world.condition("orders", "Synced"), "False/Conflict");
      world.cloud.configure({ account: "simulated" });
      await world.until("orders is gone", () => world.get("orders") === undefined, PERIOD);
      assertEquals(world.cloud.databases(), []);
    });
  }
});

Deno.test("A2: a restart under another account changes nothing either", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 3);
    await first.stop();
    const mark = world.cloud.ledger.mark();
    world.cloud.configure({ account: "another" });
    world.start();
    await world.run(3 * PERIOD);
    for (const name of names) assertEquals(world.condition(name, "Synced"), "False/Conflict");
    assertEquals(world.cloud.ledger.mutatingCalls(mark), []);
  }));

/** The ways in which a whole account can seem to be empty. */
const VOIDS: Readonly<Record<string, (world: World) => () => void>> = {
  "404 for every database": (world) =>
    world.cloud.faults.add({ verbs: ["get", "modify", "delete"], fault: { answer: REFUSALS.notFound } }),
  "an empty list": (world) => emptied(world, false),
  "an empty account under the same name": (world) => emptied(world, true),
};

/** Takes all databases out of sight; the result brings them back. */
function emptied(world: World, byId: boolean): () => void {
  const all = world.cloud.databases();
  for (const record of all) {
    world.cloud.edit(record.id, { tags: {} });
    if (byId) Object.assign(record, { account: "elsewhere" });
  }
  const tags = new Map(all.map((r) => [r.id, tagsBefore(r.id, world)]));
  return () => {
    for (const record of all) {
      if (byId) Object.assign(record, { account: "simulated" });
      world.cloud.edit(record.id, { tags: tags.get(record.id) ?? {} });
    }
  };
}

/** The tags that a database was created with. */
function tagsBefore(id: string, world: World): Record<string, string> {
  return { ...world.cloud.ledger.effects({ kind: "create" }).find((e) => e.id === id)?.tags };
}

for (const [words, make] of Object.entries(VOIDS)) {
  const absent = words !== "an empty list"; // tags taken away are a conflict, not an absence
  Deno.test(`A3: ${words}: nothing is re-created, no finalizer goes, one alert, and all heals by itself`, () =>
    inWorld({}, async (world) => {
      world.start();
      const names = await fleet(world, 30);
      const mark = world.cloud.ledger.mark();
      const heal = make(world);
      // Whoever reads by itself, is edited, or is asked for finds the absence first.
      world.cluster.edit("default", names[0]!, { pollInterval: "10s" });
      world.cluster.edit("default", names[1]!, { sizeGb: 50 });
      world.cluster.annotate("default", names[2]!, { [ANNOTATION.reconcile]: "1" });
      await world.run(PERIOD + 60_000);
      world.cluster.delete("default", names[3]!);
      await world.run(4 * PERIOD);
      assertEquals(world.cloud.ledger.effects({ by: "api", since: mark }), []);
      assertEquals(world.cluster.all().length, 30);
      for (const { metadata } of world.cluster.all()) assertEquals(metadata.finalizers, [FINALIZER]);
      if (absent) {
        const alerts = world.lines.filter((l) =>
          l.level === "error" && /turned absent together/.test(l.message)
        );
        assert(alerts.length <= 1, `${alerts.length} alerts`);
        if (words !== "404 for every database") {
          for (const name of names) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
        }
      }
      heal();
      await world.until("the deleted one is gone", () => world.get(names[3]!) === undefined, 3 * PERIOD);
      const rest = names.filter((n) => n !== names[3]);
      await world.until(
        "all in step",
        () => rest.every((n) => world.condition(n, "Synced") === "True/Available"),
        3 * PERIOD,
      );
      assertEquals(world.cloud.ledger.createEffects().length, 30);
      assertEquals(world.cloud.get(world.get(names[1]!)!.status!.providerId!)?.sizeGb, 50);
      world.assertSafe();
    }));
}

for (const deletionPolicy of ["Delete", "Retain"] as const) {
  Deno.test(`A3: a whole namespace deleted while the account seems empty keeps its finalizers, policy ${deletionPolicy}`, async () => {
    for (const before of [0, 2 * PERIOD]) {
      await inWorld({}, async (world) => {
        world.start();
        const names = await fleet(world, 20, { deletionPolicy });
        const heal = emptied(world, true);
        await world.run(before);
        for (const name of names) world.cluster.delete("default", name);
        await world.run(3 * PERIOD);
        assertEquals(world.cluster.all().length, 20, `deleted ${before} ms after the account went empty`);
        for (const name of names) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
        heal();
        await world.until("all gone", () => world.cluster.all().length === 0, 3 * PERIOD);
        const left = world.cloud.databases();
        assertEquals(left.length, deletionPolicy === "Retain" ? 20 : 0);
        assert(left.every((d) => d.tags[TAG.retained] !== undefined), "and what is kept is marked");
      });
    }
  });
}

Deno.test("rule 16: a retained database that is gone lets its resource go, one or a few at a time", () =>
  inWorld({}, async (world) => {
    world.start();
    const names = await fleet(world, 5, { deletionPolicy: "Retain" });
    world.cloud.remove(databaseOf(world, names[0]!).id);
    world.cluster.delete("default", names[0]!);
    await world.until("it is gone", () => world.get(names[0]!) === undefined, PERIOD);
  }));

Deno.test("A3: so does one that is deleted while the operator is down, and one restarted in the middle of it", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 20);
    first.crash();
    const heal = emptied(world, true);
    for (const name of names) world.cluster.delete("default", name);
    const second = world.start();
    await world.run(2 * PERIOD);
    assertEquals(world.cluster.all().length, 20);
    second.crash();
    world.start();
    await world.run(2 * PERIOD);
    assertEquals(world.cluster.all().length, 20, "after another restart");
    heal();
    await world.until("all gone", () => world.cluster.all().length === 0, 3 * PERIOD);
    assertEquals(world.cloud.databases(), []);
  }));

Deno.test("rule 12: deletions that we asked for are no mass absence, at whatever moment the operator dies", async () => {
  for (let at = 0; at < 4_000; at += 100) {
    await inWorld({ latencyMs: 100 }, async (world) => {
      world.cluster.latencyMs = 20;
      const first = world.start();
      const names = await fleet(world, 12);
      for (const name of names) world.cluster.delete("default", name);
      await world.run(at);
      first.crash();
      await world.run(10_000); // the cloud carries on
      world.start();
      await world.until(`all gone, killed after ${at} ms`, () => world.cluster.all().length === 0, PERIOD);
      assertEquals(world.cloud.databases(), []);
    });
  }
});

Deno.test("rule 12: an absence that a person confirms is acted on, one by one", () =>
  inWorld({}, async (world) => {
    world.start();
    const names = await fleet(world, 10);
    for (const record of world.cloud.databases()) world.cloud.remove(record.id); // they are really gone
    await world.until(
      "held",
      () => names.every((n) => world.condition(n, "Synced") === "False/MassAbsence"),
      2 * PERIOD,
    );
    world.cluster.annotate("default", names[0]!, { [ANNOTATION.confirmAbsence]: "yes" });
    await world.available(names[0]!);
    world.cluster.annotate("default", names[1]!, { [ANNOTATION.confirmAbsence]: "yes" });
    world.cluster.delete("default", names[1]!);
    await world.until("the deleted one is gone", () => world.get(names[1]!) === undefined);
    assertEquals(world.cloud.ledger.createEffects().length, 11, "and no other");
    for (const name of names.slice(2)) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
    assertEquals(world.get(names[0]!)?.status?.lastHandledConfirmation, "yes");
    for (const name of names.slice(2)) {
      world.cluster.annotate("default", name, { [ANNOTATION.confirmAbsence]: "yes" });
    }
    await world.available(names[0]!, ...names.slice(2));
    world.assertSafe();
    await assertQuiet(world, 3 * PERIOD);
  }));

Deno.test("rule 12: few absences are acted on; a restart forgets neither that many were absent nor that few were", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    const names = await fleet(world, 20);
    for (const name of names.slice(0, 3)) world.cloud.remove(databaseOf(world, name).id);
    await world.until("re-created", () => world.cloud.ledger.createEffects().length === 23, 2 * PERIOD);
    await world.available(...names);
    await world.run(2 * PERIOD);
    for (const name of names.slice(0, 8)) world.cloud.remove(databaseOf(world, name).id);
    await world.until("held", () => world.condition(names[0]!, "Synced") === "False/MassAbsence", 2 * PERIOD);
    first.crash();
    world.start();
    await world.run(3 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects().length, 23);
    assertEquals(world.condition(names[7]!, "Synced"), "False/MassAbsence");
    assertEquals(world.condition(names[8]!, "Synced"), "True/Available");
  }));

Deno.test("rule 12: absences of a fleet larger than a slice are counted before any is acted on", () =>
  inWorld({ latencyMs: 5 }, async (world) => {
    world.start({ concurrency: 256 });
    const names = await fleet(world, 1_200);
    const gone = names.filter((_, i) => i % 10 === 9);
    for (const name of gone) world.cloud.remove(databaseOf(world, name).id);
    await world.run(2.5 * PERIOD);
    assertEquals(world.cloud.ledger.createEffects().length, 1_200);
    for (const name of gone) assertEquals(world.condition(name, "Synced"), "False/MassAbsence");
    assertEquals(world.condition(names[0]!, "Synced"), "True/Available");
  }));

Deno.test("A4: replaced without its finalizer, it has it back at once and nothing is created", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    const { id } = databaseOf(world, "orders");
    world.cluster.meta("default", "orders", { finalizers: [] });
    await world.until("it is back", () => world.get("orders")?.metadata.finalizers?.[0] === FINALIZER, 1_000);
    await assertQuiet(world, 3 * PERIOD);
    assertEquals([databaseOf(world, "orders").id, world.cloud.ledger.createEffects().length], [id, 1]);
  }));

for (const tokens of [true, false]) {
  for (const running of [true, false]) {
    for (const what of ["status", "finalizer", "finalizer and status"] as const) {
      if (what === "finalizer and status" && !running) continue; // then nothing tells it from a new one (rule 1)
      const words = `${what} wiped ${running ? "under a running operator" : "while it is down"}, ${
        tokens ? "with" : "without"
      } tokens`;
      Deno.test(`A4: ${words}: id and finalizer come back by lookup, nothing is created`, () =>
        inWorld({ clientTokens: tokens, readLagMs: 5_000 }, async (world) => {
          const first = world.start();
          await inStep(world);
          const { id } = databaseOf(world, "orders");
          await world.run(60_000);
          if (!running) first.crash();
          if (what !== "finalizer") world.cluster.setStatus("default", "orders", {});
          if (what !== "status") world.cluster.meta("default", "orders", { finalizers: [] });
          if (!running) world.start();
          await world.until("id and finalizer are back", () => {
            const { metadata, status } = world.get("orders")!;
            return status?.providerId === id && metadata.finalizers?.[0] === FINALIZER;
          });
          await world.available("orders");
          assertEquals(world.cloud.ledger.createEffects().length, 1);
          world.assertSafe();
          await assertQuiet(world, 2 * PERIOD);
        }));
    }
  }
}

Deno.test("A4: a status wiped after a second incarnation finds that one again", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world);
    world.cloud.remove(databaseOf(world, "orders").id);
    await world.until("another", () => world.get("orders")?.status?.incarnation === 2, 2 * PERIOD);
    await world.available("orders");
    const { id } = databaseOf(world, "orders");
    world.cluster.setStatus("default", "orders", {});
    await world.until("its id is back", () => world.get("orders")?.status?.providerId === id);
    await world.available("orders");
    assertEquals(world.cloud.ledger.createEffects().length, 2);
    world.assertSafe();
  }));

Deno.test("A4: a status that names a stranger's database harms nobody, and healed it is in step again", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "victim");
    await inStep(world);
    const mine = world.get("orders")!.status!;
    const victim = databaseOf(world, "victim");
    world.cluster.setStatus("default", "orders", { ...mine, providerId: victim.id });
    await world.until("told", () => world.condition("orders", "Synced") === "False/Conflict", 2 * PERIOD);
    world.cluster.edit("default", "orders", { sizeGb: 99 });
    await world.run(PERIOD);
    assertEquals([victim.sizeGb, victim.state], [20, "Available"]);
    world.cluster.setStatus("default", "orders", {});
    await world.until("50", () => world.get("orders")?.status?.providerId === mine.providerId, 2 * PERIOD);
    await world.available("orders", "victim");
    assertEquals(databaseOf(world, "orders").sizeGb, 99);
    world.assertSafe();
  }));

Deno.test("rule 11: a pollInterval shorter than the list's reads by itself, and notices a drift that soon", () =>
  inWorld({}, async (world) => {
    world.start();
    await inStep(world, "orders", { pollInterval: "10s" });
    await inStep(world, "other");
    const mark = world.cloud.ledger.mark();
    await world.run(2 * PERIOD);
    const reads = world.cloud.ledger.calls({ verb: "get", since: mark });
    assert(reads.every((c) => c.id === databaseOf(world, "orders").id), "only its own");
    assert(reads.length >= 50 && reads.length <= 66, `${reads.length} reads in ten minutes`);
    world.cloud.edit(databaseOf(world, "orders").id, { sizeGb: 10 });
    await world.until("repaired", () => databaseOf(world, "orders").sizeGb === 20, 20_000);
  }));

Deno.test("rule 11: a restart goes on reading by the shorter interval though the list fails", () =>
  inWorld({}, async (world) => {
    const first = world.start();
    await inStep(world, "orders", { pollInterval: "10s" });
    await first.stop();
    world.cloud.faults.add({ verbs: ["list"], fault: { answer: REFUSALS.forbidden } });
    world.start();
    await world.run(60_000);
    world.cloud.edit(databaseOf(world, "orders").id, { sizeGb: 35 });
    await world.until("told", () => world.get("orders")?.status?.observed?.sizeGb === 35, 30_000);
    assertEquals(world.condition("orders", "Synced"), "True/Available");
    await assertQuiet(world, PERIOD);
  }));
