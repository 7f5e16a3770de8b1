/**
 * H1: of two operators one acts. The leader is frozen in the middle of its work, the other takes over, and the frozen
 * one wakes; then the leader is asked to end in the middle of its work. The cloud's ledger tells who called.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { SimulatedCloud } from "../../src/providers/simulated/cloud.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import type { Child } from "../../tests/cli/support.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, list, manifest } from "../support/operator.ts";
import { probe, startOperator } from "../support/operator_process.ts";
import { inOrder } from "../support/steps.ts";

const COUNT = 200;
/** How many of them then grow. */
const EDITED = 50;
const CONCURRENCY = 8;
/** How long the leader is frozen, in milliseconds. */
const FREEZE_MS = 30_000;
/** The lease's duration and renew deadline, two retry periods and some time for the work itself (H1). */
const TAKEOVER_MS = 24_000;

Deno.test(`H1: a leader that is frozen among ${COUNT} creates is replaced, sends nothing when it wakes, and exits; one that is asked to end hands over at once`, async (t) => {
  const step = inOrder(t);
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "leader");
  const cloud = new SimulatedCloud({
    clock: systemClock,
    random: seededRandom(21),
    readLagMs: 0,
    effectBoundMs: 2_000,
    latencyMs: 400,
    provisionMs: 500,
    modifyMs: 300,
  });
  const server = serveCloud(cloud);
  const children: Child[] = [];
  const start = (pod: string) => {
    const args = ["--leader-elect", `--lease-namespace=${ns}`, `--concurrency=${CONCURRENCY}`];
    const child = startOperator(kube, {
      cloudUrl: server.url,
      namespace: ns,
      args: [...args, "--poll-interval=10s"],
      env: { POD_NAME: pod },
    });
    children.push(child);
    return child;
  };
  const callsOf = (pod: string, since = 0) =>
    cloud.ledger.calls({ since }).filter((call) => call.caller?.startsWith(`${pod}_`));
  /** Calls that the cloud has not answered; at the bound nothing of the caller is between its check and the socket. */
  const pending = () => cloud.ledger.calls().filter((call) => call.outcome === "pending").length;
  const leads = (child: Child) => child.line((line) => line.includes('"msg":"Took the lease"'));
  const inStep = async () => {
    const items = await list(kube, ns);
    return items.length === COUNT &&
      items.every((cr) =>
        conditionOf(cr, "Ready") === "True/Available" && conditionOf(cr, "Synced") === "True/Available" &&
        cr.status?.observed?.sizeGb === cr.spec.sizeGb
      );
  };
  try {
    const a = start("pod-a");
    await leads(a);
    const b = start("pod-b");
    await step("one acts, the other stands by, is ready and names the holder", async () => {
      await eventually("b knows the holder", async () => {
        const { status, text } = await probe(b, "/readyz");
        return status === 200 && /Standing by: the lease is held by pod-a_/.test(text);
      });
    });

    await step("the frozen leader is replaced in time", async () => {
      for (let i = 0; i < COUNT; i++) await apply(kube, manifest(ns, `db-${i}`));
      await eventually(
        "the leader is at work, every slot taken",
        () => callsOf("pod-a").length > 3 * CONCURRENCY && pending() === CONCURRENCY,
        30_000,
      );
      a.kill("SIGSTOP");
      const frozenAt = performance.now();
      assertEquals(callsOf("pod-b"), []);
      await eventually("b calls the cloud", () => callsOf("pod-b").length > 0, TAKEOVER_MS, 20);
      const left = FREEZE_MS - (performance.now() - frozenAt);
      await new Promise((resolve) => setTimeout(resolve, left)); // H1 wants it frozen for so long
    });

    await step("the woken leader calls nothing and exits by itself, not with 0", async () => {
      const mark = cloud.ledger.mark();
      const wokenAt = performance.now();
      a.kill("SIGCONT");
      const code = await a.code();
      assert(code !== 0, a.out);
      assert(performance.now() - wokenAt < 10_000);
      assertEquals(callsOf("pod-a", mark), []);
      assert(/The lease was lost: /.test(a.err), a.err);
    });

    await step("all converge, and none is doubled", async () => {
      await eventually("all are Available", inStep, 60_000, 250);
      const live = [...cloud.liveByUid().values()];
      assertEquals([live.length, live.filter((dbs) => dbs.length > 1).length], [COUNT, 0]);
      assertEquals(cloud.ledger.createEffects().length, COUNT);
    });

    await step(
      "SIGTERM: calls in flight end, the lease is released, and the other takes over at once",
      async () => {
        const c = start("pod-c");
        await eventually("c stands by", async () => /held by pod-b_/.test((await probe(c, "/readyz")).text));
        for (let i = 0; i < EDITED; i++) await apply(kube, manifest(ns, `db-${i}`, { sizeGb: 50 }));
        await eventually("b changes, every slot taken", () => pending() === CONCURRENCY, 30_000);
        const mark = cloud.ledger.mark();
        b.kill("SIGTERM");
        assertEquals([await b.code(), b.err], [0, ""]);
        const endedAt = performance.now();
        await leads(c);
        assert(performance.now() - endedAt < 5_000, "not at once: the lease lasts 15 s");
        const sent = callsOf("pod-b").filter((call) => call.verb === "modify");
        assertEquals(sent.filter((call) => call.outcome !== "ok" || call.seq > mark), []);
        await eventually("all have grown", inStep, 60_000, 250);
        // Each change was sent once: what the leader had sent it had waited for.
        assertEquals(cloud.ledger.effects({ kind: "modify", by: "api" }).length, EDITED);
      },
    );
  } finally {
    for (const child of children) await child.end();
    await server.close();
  }
});
