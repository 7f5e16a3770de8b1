/**
 * A drift on a real API server, as the operator's API, its terminal and kubectl tell it: who, what, when, with what outcome.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fleetView } from "../../src/cli/fleet_view.ts";
import { showStatechart } from "../../src/cli/statechart_of.ts";
import { systemClock } from "../../src/core/clock.ts";
import { History } from "../../src/operator/history/history.ts";
import type { DatabaseDetail, HistoryEntry } from "../../src/server/api/types.ts";
import { eventually } from "../../tests/support/eventually.ts";
import { serveView } from "../../tests/support/served.ts";
import { installCrd } from "../support/crd.ts";
import { freshNamespace, sharedKube } from "../support/kube.ts";
import { apply, conditionOf, manifest, read, startRig } from "../support/operator.ts";
import { inOrder } from "../support/steps.ts";

Deno.test("a drift goes Available → Drifted → Available in stream, history, terminal and kubectl describe", async (t) => {
  const step = inOrder(t);
  const kube = await sharedKube();
  await installCrd(kube);
  const ns = await freshNamespace(kube, "history");
  const history = new History(systemClock);
  const rig = await startRig(kube, { namespaces: [ns], history, pollIntervalMs: 600_000 });
  const server = await serveView({
    view: fleetView({ operator: rig.operator, history, clock: systemClock, phase: () => "working" }),
  });
  const { url } = server;
  const detail = async (): Promise<DatabaseDetail> =>
    await (await fetch(`${url}/api/databases/${ns}/orders`)).json();
  const kubectl = async (...args: string[]) => {
    const output = await kube.kubectl(...args);
    if (output.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output.stderr}`);
    return output.stdout;
  };
  const inStep = async () => {
    const object = await read(kube, ns, "orders");
    return conditionOf(object, "Synced") === "True/Available" &&
      conditionOf(object, "Ready") === "True/Available";
  };
  /** Names of the states that the stream told of, without repetition. */
  const states: string[] = [];
  let streaming: Promise<void> | undefined;

  try {
    await step("created", async () => {
      await apply(kube, manifest(ns, "orders"));
      await eventually("in step", inStep);
    });

    await step(
      "a drift that nobody was told of is found by kubectl annotate, and repaired while the page looks on",
      async () => {
        const answer = await fetch(`${url}/api/stream?database=${ns}/orders`);
        streaming = watch(answer, states);
        await eventually("the stream tells", () => states.length > 0);
        const id = (await read(kube, ns, "orders"))?.status?.providerId ?? "";
        rig.cloud.edit(id, { sizeGb: 10 });
        await kubectl("annotate", "edb", "orders", "-n", ns, "db.my.domain/reconcile=looked-at");
        await eventually("repaired", async () => rig.cloud.get(id)?.sizeGb === 20 && await inStep());
        await eventually("told", () => states.at(-1) === "Available" && states.includes("Drifted"));
        assertEquals(states, ["Available", "Drifted", "Available"]);
        assertEquals((await read(kube, ns, "orders"))?.status?.lastHandledReconcile, "looked-at");
      },
    );

    await step("the history tells who, what and when, with the modify call's outcome", async () => {
      const { history: { entries } } = await detail();
      const asked = entries.findIndex((e) => /db\.my\.domain\/reconcile unset → "looked-at"/.test(e.cause));
      assert(asked >= 0, told(entries));
      const since = entries.slice(asked);
      assertEquals([since[0]?.event, since[0]?.from, since[0]?.to], [
        "object.changed",
        "Available.idle",
        "Available.observe",
      ]);
      const found = since.find((e) => e.to.startsWith("Drifted"));
      assertEquals(found?.event, "observe done");
      assertMatch(found?.cause ?? "", /^observe: the database is "Available", sizeGb 20 → 10$/);
      const sent = since.flatMap((e) => e.calls).find((c) => c.verb === "modify");
      assertEquals([sent?.to, sent?.outcome, sent?.detail], ["cloud", "ok", "sizeGb 20"]);
      assert(since.some((e) => e.to.startsWith("Available") && e.from.startsWith("Drifted")), told(entries));
      for (const e of since) assert(Math.abs(Date.parse(e.at) - Date.now()) < 60_000, e.at);
      assert(since.every((e) => e.generation === 1));
    });

    await step("the terminal tells the same", async () => {
      const text = await showStatechart({ namespace: ns, name: "orders", url }, {
        clock: systemClock,
        fetch,
      });
      assertMatch(text, /▶ Available\n/);
      assertMatch(text, /cloud modify: ok, \d+ ms; sizeGb 20\n/);
    });

    await step(
      "kubectl describe tells it by Events: what was changed, and that all is well again",
      async () => {
        await eventually("the Events", async () => {
          const text = await kubectl("describe", "edb", "orders", "-n", ns);
          const events = text.slice(text.indexOf("Events:"));
          // The second Available is counted on the first.
          return /Normal +Updating .*Changing sizeGb 10 → 20: at the provider it is not as/.test(events) &&
            /Normal +Available +\d+s \(x2 over \d+s\) .*as the spec asks/.test(events);
        });
        assertMatch(
          await kubectl("wait", "--for=condition=Synced", "edb/orders", "-n", ns, "--timeout=10s"),
          /condition met/,
        );
        assertStringIncludes(await kubectl("get", "databases", "-n", ns), "orders");
      },
    );
  } finally {
    await server.close();
    await streaming;
    await rig.stop();
  }
});

/** Notes each state of the database that a stream tells of, until it ends. */
async function watch(answer: Response, states: string[]): Promise<void> {
  let rest = "";
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    rest += text;
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const data = /\nevent: database\ndata: (.*)/.exec(part)?.[1];
      if (data === undefined) continue;
      const { row: { state } } = JSON.parse(data) as DatabaseDetail;
      if (states.at(-1) !== state) states.push(state);
    }
  }
}

function told(entries: readonly HistoryEntry[]): string {
  return entries.map((e) => `${e.event} ${e.from}>${e.to}: ${e.cause}`).join("\n");
}
