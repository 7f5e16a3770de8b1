/**
 * C6, D3: resources that are deleted as soon as they are made, at every moment of their creation; then a namespace that
 * is deleted whole, with all that it holds in whatever state.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd, requestResource } from "../support/crd.ts";
import { freshNamespace, type Kube, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, list, manifest } from "../support/operator.ts";
import { logged, probe, startOperator } from "../support/operator_process.ts";
import { inOrder } from "../support/steps.ts";

const STEPS = 20;
const EACH = 50;
/** The last step lives for so long, in milliseconds; the first not at all. */
const LONGEST_MS = 2_000;

/** Makes so many, and deletes them after `ms`. */
async function shortLives(kube: Kube, ns: string, prefix: string, ms: number): Promise<void> {
  const lives = Array.from({ length: EACH }, async (_, i) => {
    await apply(kube, manifest(ns, `${prefix}-${i}`));
    await new Promise((resolve) => setTimeout(resolve, ms)); // the length of a life is what is tried
    const { status } = await requestResource(kube, ns, `${prefix}-${i}`, { method: "DELETE" });
    assertEquals(status, 200);
  });
  await Promise.all(lives);
}

Deno.test(`C6, D3: ${STEPS * EACH} resources deleted after 0 to 2 s, then a whole namespace, leave nothing behind`, async (t) => {
  const step = inOrder(t);
  const kube = await sharedKube();
  await installCrd(kube);
  const [ns, doomed] = [await freshNamespace(kube, "short"), await freshNamespace(kube, "doomed")];
  const cloud = fastCloud({ provisionMs: 700, deleteMs: 200, latencyMs: 20, readLagMs: 300 });
  const server = serveCloud(cloud);
  const child = startOperator(kube, {
    cloudUrl: server.url,
    args: ["--poll-interval=10s", `--namespace=${ns},${doomed}`],
  });
  /** S1: whatever was deleted when, no resource ever had two. */
  const once = () => {
    const uids = cloud.ledger.createEffects().map((effect) => effect.uid);
    assertEquals(new Set(uids).size, uids.length, "creates by UID");
  };
  try {
    await step("one after another, a little later each time", async () => {
      const lane = async (first: number) => {
        for (let i = first; i < STEPS; i += 2) {
          await shortLives(kube, ns, `step-${i}`, LONGEST_MS * i / (STEPS - 1));
        }
      };
      await Promise.all([lane(0), lane(1)]);
      await eventually(
        "all resources are gone",
        async () => (await list(kube, ns)).length === 0,
        30_000,
        100,
      );
      assertEquals(cloud.databases(), []);
      once();
      const made = cloud.ledger.createEffects().length;
      assert(
        made > EACH && made < STEPS * EACH,
        `${made} were created: some lives were too short, others not`,
      );
    });

    await step("a namespace that holds new, Creating and Available ones is deleted and ends", async () => {
      const names = (state: string) => Array.from({ length: 15 }, (_, i) => `${state}-${i}`);
      for (const name of names("available")) await apply(kube, manifest(doomed, name));
      await eventually(
        "they are Available",
        async () => (await list(kube, doomed)).every((cr) => conditionOf(cr, "Ready") === "True/Available"),
        20_000,
        50,
      );
      cloud.configure({ provisionMs: 3_000 });
      for (const name of names("creating")) await apply(kube, manifest(doomed, name));
      await eventually(
        "the others are Creating",
        async () => (await list(kube, doomed)).filter((cr) => cr.status?.state === "Creating").length === 15,
      );
      for (const name of names("new")) await apply(kube, manifest(doomed, name));
      const deleted = await kube.kubectl("delete", "namespace", doomed, "--timeout=50s");
      assertEquals([deleted.code, deleted.stderr], [0, ""]);
      assertEquals(cloud.databases(), []);
      once();
    });

    await step("nothing is called an orphan, and nothing went wrong", async () => {
      const { text } = await probe(child, "/metrics");
      assert(text.includes(`externaldatabase_orphans{database_class="(flags)"} 0\n`), text);
      assertEquals(logged(child).filter((line) => line["level"] === "error"), []);
    });
  } finally {
    await child.end();
    await server.close();
  }
});
