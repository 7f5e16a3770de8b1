/**
 * C1, C3: the operator is killed with -9, twenty times, during two hundred creates, changes and deletes, on a real API
 * server, with a cloud that loses one answer in twenty.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, list, manifest } from "../support/operator.ts";
import { startOperator } from "../support/operator_process.ts";

const COUNT = 200;
const KILLS = { create: 7, change: 7, delete: 6 };
const NAMES = Array.from({ length: COUNT }, (_, i) => `db-${i}`);

interface Round {
  readonly kube: Kube;
  readonly cloud: SimulatedCloud;
  readonly url: string;
  readonly ns: string;
  readonly random: { next(): number };
  /** Kills, and those that hit a mutating call in flight. */
  readonly kills: { count: number; hits: number };
}

/** Mutating calls that were sent after `mark` and are not answered. */
function inFlight(cloud: SimulatedCloud, mark: number): number {
  return cloud.ledger.mutatingCalls(mark).filter((c) => c.outcome === "pending").length;
}

/** Starts operators and kills them, `kills` times, each at a random moment after it was seen at work; the last lives on. */
async function underKills(round: Round, kills: number, done: () => Promise<boolean>): Promise<void> {
  const { kube, cloud, url, ns, random } = round;
  for (let i = 0; i <= kills; i++) {
    const mark = cloud.ledger.mark();
    const child = startOperator(kube, {
      cloudUrl: url,
      namespace: ns,
      args: ["--concurrency=6", "--poll-interval=10s", "--no-leader-elect", "--log-level=warn"],
    });
    try {
      if (i === kills) {
        await eventually("all converge", done, 120_000, 200);
      } else {
        await eventually("the operator is at work", () => inFlight(cloud, mark) > 0, 60_000);
        await new Promise((resolve) => setTimeout(resolve, random.next() * 300));
        // Four in five are aimed at a call in flight, whatever it is; one in five at whatever is going on.
        if (random.next() < 0.8) {
          await eventually("a call is in flight", () => inFlight(cloud, mark) > 0, 60_000);
        }
        round.kills.count++;
        if (inFlight(cloud, mark) > 0) round.kills.hits++;
        child.kill("SIGKILL");
      }
    } finally {
      await child.end();
    }
    // What is still in flight at the cloud goes on without its caller.
  }
}

function assertOne(cloud: SimulatedCloud, count: number): void {
  const live = cloud.liveByUid();
  const duplicates = [...live.values()].filter((dbs) => dbs.length > 1);
  assertEquals(duplicates.length, 0, "duplicates");
  assertEquals(live.size, count, "live databases");
}

/** One cloud, one namespace: two hundred of each under twenty kills. */
async function rounds(kube: Kube, clientTokens: boolean, readLagMs: number): Promise<string> {
  const ns = await freshNamespace(kube, "kill");
  const seed = readLagMs + Number(clientTokens);
  const cloud = new SimulatedCloud({
    clock: systemClock,
    random: seededRandom(seed),
    clientTokens,
    readLagMs,
    effectBoundMs: 2_000,
    latencyMs: 250,
    provisionMs: 500,
    modifyMs: 500,
    deleteMs: 500,
    loseAnswers: 0.05,
  });
  const server = await serveCloud(cloud, {});
  const random = seededRandom(11 + seed);
  const round: Round = { kube, cloud, url: server.url, ns, random, kills: { count: 0, hits: 0 } };
  try {
    for (const name of NAMES) await apply(kube, manifest(ns, name));
    const inStep = async (sizeGb: number) => {
      const items = await list(kube, ns);
      return items.length === COUNT &&
        items.every((cr) =>
          conditionOf(cr, "Synced") === "True/Available" && cr.status?.observed?.sizeGb === sizeGb
        );
    };
    await underKills(round, KILLS.create, () => inStep(20));
    assertOne(cloud, COUNT);
    assertEquals(cloud.ledger.createEffects().length, COUNT, "create effects");
    for (const name of NAMES) await apply(kube, manifest(ns, name, { sizeGb: 50 }));
    await underKills(round, KILLS.change, () => inStep(50));
    assertOne(cloud, COUNT);
    await kube.kubectl("-n", ns, "delete", "edb", "--all", "--wait=false");
    await underKills(round, KILLS.delete, async () => (await list(kube, ns)).length === 0);
    assertEquals(cloud.liveByUid().size, 0, "orphans");
    const { count, hits } = round.kills;
    const words = `${clientTokens ? "with" : "without"} client tokens, list lag ${readLagMs / 1_000} s`;
    assert(count === 20 && hits >= 15, `${words}: ${hits} of ${count} kills hit a mutating call in flight`);
    return `${words}: ${hits} of ${count} kills hit a mutating call in flight`;
  } finally {
    await server.close();
  }
}

Deno.test(`C1, C3: killed twenty times during ${COUNT} creates, changes and deletes, none is doubled or left behind`, async () => {
  const kube = await sharedKube();
  await installCrd(kube);
  const all = await Promise.all([
    rounds(kube, true, 0),
    rounds(kube, true, 5_000),
    rounds(kube, false, 0),
    rounds(kube, false, 5_000),
  ]);
  console.log(all.join("\n"));
});
