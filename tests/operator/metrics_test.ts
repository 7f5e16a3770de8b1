import { assert, assertEquals } from "@std/assert";
import { startMetered } from "../support/scrapes.ts";
import { inWorld, type World } from "../support/world.ts";

const drift = (what: string, reason: string) => `externaldatabase_drift_${what}_total{reason="${reason}"}`;

/** The cloud's own console changes the first database. */
function shrink(world: World): void {
  const [database] = world.cloud.databases();
  assert(database);
  world.cloud.edit(database.id, { sizeGb: 5 });
}

Deno.test("the time to Ready is counted once, and neither a restart nor a repair counts again", () =>
  inWorld({ provisionMs: 40_000 }, async (world) => {
    const first = startMetered(world);
    await world.run(1_000);
    world.cluster.create("default", "orders");
    await world.run(20_000);
    const age = await first.sample("externaldatabase_oldest_unready_seconds");
    assert(age > 15 && age < 25, `a resource of 20 s is ${age} s old`);
    await world.available("orders");
    const bucket = (le: number) =>
      `externaldatabase_time_to_ready_seconds_bucket{le="${le}",database_class="(flags)"}`;
    assertEquals([await first.sample(bucket(30)), await first.sample(bucket(60))], [0, 1]);
    assertEquals(await first.sample("externaldatabase_oldest_unready_seconds"), 0);
    first.process.crash();
    const second = startMetered(world);
    shrink(world);
    await world.run(400_000);
    await world.available("orders");
    assertEquals(await second.sample(bucket(7_200)), 0);
  }));

Deno.test("a drift made at the cloud is counted when it is found and when it is repaired, an edit of the spec is not", () =>
  inWorld({}, async (world) => {
    const { sample } = startMetered(world);
    world.cluster.create("default", "orders");
    await world.available("orders");
    world.cluster.edit("default", "orders", { sizeGb: 30 });
    await world.run(60_000);
    await world.available("orders");
    assertEquals([await sample(drift("found", "Updating")), await sample(drift("repaired", "Updating"))], [
      0,
      0,
    ]);
    shrink(world);
    await world.run(400_000);
    await world.available("orders");
    assertEquals([await sample(drift("found", "Updating")), await sample(drift("repaired", "Updating"))], [
      1,
      1,
    ]);
  }));

Deno.test("calls, actors and lists are read from an operator as it runs", () =>
  inWorld({}, async (world) => {
    const metered = startMetered(world);
    const { sample } = metered;
    world.cluster.create("default", "orders");
    world.cluster.create("default", "ledger");
    await world.available("orders", "ledger");
    await world.run(301_000);
    assertEquals(await sample('externaldatabase_actors{state="Available",reason="Available"}'), 2);
    const labels = 'provider="simulated",database_class="(flags)",verb="create"';
    assertEquals(await sample(`externaldatabase_cloud_calls_total{${labels},outcome="ok"}`), 2);
    assertEquals(await sample(`externaldatabase_cloud_call_duration_seconds_count{${labels}}`), 2);
    const listed = await sample('externaldatabase_last_list_timestamp_seconds{database_class="(flags)"}');
    const age = world.clock.now() / 1_000 - listed;
    assert(age >= 0 && age < 320, `the last list is ${age} s old`);
    assertEquals(await sample('externaldatabase_list_period_seconds{database_class="(flags)"}'), 300);
    assertEquals(await sample('leader_election_master_status{name="externaldatabase"}'), 1);
    await world.run(700_000);
    assertEquals(await sample("externaldatabase_actors_asleep"), 2);
    metered.phase = "standby";
    assertEquals(await sample('leader_election_master_status{name="externaldatabase"}'), 0);
    assertEquals(await sample('externaldatabase_last_list_timestamp_seconds{database_class="(flags)"}'), 0);
  }));
