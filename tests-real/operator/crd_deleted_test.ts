/**
 * W9: the CRD is missing at the start, comes, is deleted over twenty Available resources, and comes back. Rule 13: who
 * deletes the CRD abandons the databases, and does not delete them. A cluster of its own, for the CRD is all of it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { CRD_NAME, TAG } from "../../src/api/constants.ts";
import { serveCloud } from "../../src/providers/simulated/server.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { installCrd } from "../support/crd.ts";
import { startKube } from "../support/kube.ts";
import { apply, conditionOf, fastCloud, list, manifest, read } from "../support/operator.ts";
import { logged, probe, startOperator } from "../support/operator_process.ts";
import { inOrder } from "../support/steps.ts";

const COUNT = 20;
const MISSING = new RegExp(`Not in step with the cluster: the CRD ${CRD_NAME} is not installed`);

Deno.test(`W9: the operator waits for its CRD, keeps ${COUNT} databases when it is deleted, and goes on when it is back`, async (t) => {
  const step = inOrder(t);
  const kube = await startKube();
  const cloud = fastCloud();
  const server = serveCloud(cloud);
  const child = startOperator(kube, { cloudUrl: server.url, args: ["--poll-interval=10s"] });
  const ready = async (status: number, text: RegExp) => {
    const answer = await probe(child, "/readyz");
    return answer.status === status && text.test(answer.text);
  };
  const available = async (count: number) => {
    const items = await list(kube, "default");
    return items.length === count && items.every((cr) => conditionOf(cr, "Synced") === "True/Available");
  };
  try {
    await step("without its CRD it is not ready, says why, and is healthy", async () => {
      await eventually("readiness says why", () => ready(503, MISSING), 10_000, 50);
      assertEquals((await probe(child, "/healthz")).status, 200);
    });

    await step("once it is installed it becomes ready by itself and works", async () => {
      await installCrd(kube);
      await eventually("ready", () => ready(200, /^ok\n/), 40_000, 50);
      for (let i = 0; i < COUNT; i++) await apply(kube, manifest("default", `db-${i}`));
      await eventually("all are Available", () => available(COUNT), 30_000, 50);
    });

    const items = await list(kube, "default");
    await step("kubectl delete crd ends, and every database lives and says whose it was", async () => {
      const mark = cloud.ledger.mark();
      const deleted = await kube.kubectl("delete", "crd", CRD_NAME, "--timeout=45s");
      assertEquals([deleted.code, deleted.stderr], [0, ""]);
      for (const { metadata, status } of items) {
        const database = cloud.get(status?.providerId ?? "");
        assertEquals([database?.state, database?.tags[TAG.retained]], ["Available", metadata.uid]);
      }
      assertEquals(cloud.ledger.mutatingCalls(mark).filter((call) => call.verb !== "modify"), []);
      assertEquals(cloud.ledger.effects({ since: mark, kind: "modify" }).length, COUNT);
    });

    await step("each is named in the log and counted in the metrics", async () => {
      const lines = logged(child).filter((line) => line["cause"] === "crdDeleted");
      assertEquals(
        lines.map((line) => [line["name"], line["providerId"]]).toSorted(),
        items.map(({ metadata, status }) => [metadata.name, status?.providerId]).toSorted(),
      );
      assertMatch(
        String(lines[0]?.["msg"]),
        /^The database "db-.*" is kept, as the CustomResourceDefinition itself is being deleted$/,
      );
      const { text } = await probe(child, "/metrics");
      assert(text.includes(`externaldatabase_released_total{cause="crdDeleted"} ${COUNT}\n`), text);
      assert(text.includes(`externaldatabase_orphans{database_class="(flags)"} 0\n`), text);
      await eventually("readiness says why", () => ready(503, MISSING), 40_000, 50);
    });

    await step(
      "when it is back a new resource gets a database of its own; what was kept stays untouched",
      async () => {
        await installCrd(kube);
        await apply(kube, manifest("default", "db-0"));
        await eventually("it is Available", () => available(1), 60_000, 50);
        const { status } = await read(kube, "default", "db-0") ?? {};
        assert(!items.some((cr) => cr.status?.providerId === status?.providerId));
        assertEquals(cloud.databases().filter((d) => d.state === "Available").length, COUNT + 1);
        assert(await ready(200, /^ok\n/));
      },
    );

    await step("and what was kept is taken on again by its id", async () => {
      const { metadata, status } = items[1]!;
      await apply(kube, manifest("default", metadata.name, { providerId: status?.providerId }));
      await eventually("it is Available", () => available(2), 30_000, 50);
      const again = await read(kube, "default", metadata.name);
      assertEquals([again?.status?.adopted, again?.status?.providerId], [true, status?.providerId]);
      assertEquals(cloud.get(status?.providerId ?? "")?.tags[TAG.uid], again?.metadata.uid);
    });

    child.kill("SIGTERM");
    assertEquals([await child.code(), child.err], [0, ""]);
  } finally {
    await child.end();
    await server.close();
    await kube.stop();
  }
});
