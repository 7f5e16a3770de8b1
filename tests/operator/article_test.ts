/**
 * The original design's reconciler and the operator in the same scenarios: where the one fails the other must hold. A
 * scenario that the article passed too would prove nothing; so each of them is run on both.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { KubeError } from "../../src/kube/port.ts";
import { createSimulatedProvider } from "../../src/providers/simulated/provider.ts";
import type { CloudSettings } from "../../src/providers/simulated/settings.ts";
import { ArticleController } from "../../src/simulation/article/controller.ts";
import { assertWithin } from "../support/doomed.ts";
import { inWorld, type World } from "../support/world.ts";

/** Starts a subject in a world; the result ends it. */
type Subject = (world: World) => () => void;

const OPERATOR: Subject = (world) => {
  const process = world.start();
  return () => process.crash();
};

const ARTICLE: Subject = (world) => {
  const provider = createSimulatedProvider(world.cloud, { clock: world.clock });
  const controller = new ArticleController({ cluster: world.cluster, provider, clock: world.clock });
  const running = controller.run(new AbortController().signal);
  return () => void controller.drain(0).then(() => running);
};

interface Scenario {
  /** With the number of the behaviour or rule. */
  readonly name: string;
  readonly settings?: Partial<CloudSettings>;
  /** Fails when what must hold does not. */
  readonly run: (world: World) => Promise<void>;
  /** The words in which the article fails; absent: it holds too. */
  readonly articleFails?: string;
}

/** Any event of the resource makes the article look again, if its cache lets it. */
async function touched(world: World): Promise<void> {
  await world.run(301_000); // the article's cache has expired
  const labels = { touched: String(world.clock.monotonic()) };
  world.cluster.meta("default", "orders", { labels });
  await world.run(1_000);
}

/** An available database, also for the article, which must be pushed to look. */
async function available(world: World): Promise<string> {
  world.cluster.create("default", "orders");
  await world.run(10_000);
  await touched(world);
  const { status } = world.get("orders")!;
  assertEquals(status?.state, "Available");
  return status!.providerId!;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "a resource is created, looked at and deleted where nothing goes wrong",
    run: async (world) => {
      await available(world);
      world.cluster.delete("default", "orders");
      await world.run(30_000);
      assertEquals(world.get("orders"), undefined);
      assertEquals(world.cloud.databases(), []);
      assertEquals(world.cloud.ledger.createEffects().length, 1);
    },
  },
  {
    name: "C1, S1: a lost status write brings no second create",
    articleFails: "created more than once",
    run: async (world) => {
      let left = 2;
      world.cluster.fault = ({ verb, phase }) => {
        if (verb !== "patchStatus" || phase !== "before") return;
        if (world.cloud.databases().length === 0 || left-- <= 0) return;
        throw new KubeError("server", "etcdserver: request timed out", { status: 500 });
      };
      world.cluster.create("default", "orders");
      await world.run(60_000);
      assertEquals(world.cloud.ledger.createEffects().length, 1, "created more than once");
      assertEquals(world.get("orders")?.status?.providerId, world.cloud.databases()[0]?.id);
    },
  },
  {
    name: "D2b, S2: a resource deleted before its providerId was written leaves no orphan",
    articleFails: "an orphan is left",
    run: async (world) => {
      let once = true;
      world.cluster.fault = ({ verb, phase }) => {
        if (verb !== "patchStatus" || phase !== "before" || !once) return;
        if (world.cloud.databases().length === 0) return;
        once = false;
        world.cluster.delete("default", "orders");
        throw new KubeError("server", "etcdserver: request timed out", { status: 500 });
      };
      world.cluster.create("default", "orders");
      await world.run(120_000);
      assertEquals(world.get("orders"), undefined);
      assertEquals(world.cloud.databases().length, 0, "an orphan is left");
    },
  },
  {
    name: "C4, L1: what is provisioning is looked at until it is available",
    articleFails: "the endpoint never came",
    run: async (world) => {
      world.cluster.create("default", "orders");
      await world.run(3_600_000);
      assert(world.get("orders")?.status?.endpoint !== undefined, "the endpoint never came");
      assertEquals(world.get("orders")?.status?.state, "Available");
    },
  },
  {
    name: "R2, L1: drift at the cloud is found and repaired without anyone's touching the resource",
    articleFails: "drift was never seen",
    run: async (world) => {
      const id = await available(world);
      world.cloud.edit(id, { sizeGb: 10 });
      await world.run(3_600_000);
      assertEquals(world.cloud.get(id)?.sizeGb, 20, "drift was never seen");
    },
  },
  {
    name: "R5: a change of the engine is reported",
    articleFails: "nobody was told",
    run: async (world) => {
      const id = await available(world);
      world.cluster.edit("default", "orders", { engine: "mysql" });
      await touched(world);
      assertEquals(world.cloud.get(id)?.engine, "postgres");
      assertEquals(world.condition("orders", "Synced"), "False/ImmutableFieldChanged", "nobody was told");
    },
  },
  {
    name:
      "D1, S2: a resource deleted while its database is provisioning stays until that is gone, and no delete is sent in vain",
    settings: { provisionMs: 1_200_000, deleteMs: 60_000 },
    articleFails: "the database outlived its resource",
    run: async (world) => {
      world.cluster.create("default", "orders");
      await world.run(60_000);
      world.cluster.delete("default", "orders");
      await world.until("orders is gone", () => world.get("orders") === undefined, 7_200_000, 500);
      const wrong: string[] = [];
      if (world.cloud.databases().length > 0) wrong.push("the database outlived its resource");
      const refused = world.cloud.ledger.mutatingCalls().filter((c) => c.outcome === "InvalidState").length;
      if (refused > 0) wrong.push(`${refused} deletes were refused`);
      if (world.clock.monotonic() > 1_000 + 1_260_000 + 60_000) {
        wrong.push("it took more than a minute too long");
      }
      assertEquals(wrong.join("; "), "", wrong.join("; "));
    },
  },
  {
    name: "R7, L1: a database that is gone at the cloud while its resource lives is made anew",
    articleFails: "nothing came back",
    run: async (world) => {
      const id = await available(world);
      world.cloud.remove(id);
      await touched(world);
      await world.run(3_600_000);
      const [database] = world.cloud.databases();
      assert(database !== undefined, "nothing came back");
      assertEquals(world.get("orders")?.status?.providerId, database.id);
      world.assertSafe();
    },
  },
  {
    name: "R4, S5: a change that the cloud carries out slowly is sent once",
    settings: { modifyMs: 120_000 },
    articleFails: "changes were sent",
    run: async (world) => {
      const id = await available(world);
      const mark = world.cloud.ledger.mark();
      world.cluster.edit("default", "orders", { sizeGb: 50 });
      await world.run(600_000);
      assertEquals(world.cloud.get(id)?.sizeGb, 50);
      const sent = world.cloud.ledger.calls({ verb: "modify", since: mark }).length;
      assertEquals(sent, 1, `${sent} changes were sent`);
    },
  },
  {
    name: "C8: a refused spec is not sent again and again in quick succession",
    settings: { engines: { postgres: ["14"] } },
    articleFails: "creates in the first minute",
    run: async (world) => {
      world.cluster.create("default", "orders", { version: "99" });
      await world.run(60_000);
      const sent = world.cloud.ledger.mutatingCalls().length;
      assert(sent <= 5, `${sent} creates in the first minute`);
    },
  },
];

async function play(scenario: Scenario, subject: Subject): Promise<void> {
  await inWorld({ ...scenario.settings }, async (world) => {
    const end = subject(world);
    try {
      await world.run(1_000);
      await scenario.run(world);
      if (subject === OPERATOR) assertWithin(world, { writes: 20, calls: 200, mutations: 5 }, scenario.name);
    } finally {
      end();
      await world.run(1_000); // what was under way hears of its end
    }
  });
}

for (const scenario of SCENARIOS) {
  const { name, articleFails } = scenario;
  Deno.test(`${name}: the operator holds`, () => play(scenario, OPERATOR));
  Deno.test(
    `${name}: the article's reconciler ${articleFails === undefined ? "holds" : "does not"}`,
    async () => {
      if (articleFails === undefined) await play(scenario, ARTICLE);
      else await assertRejects(() => play(scenario, ARTICLE), Error, articleFails);
    },
  );
}
