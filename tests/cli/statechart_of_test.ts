/**
 * `statechart --of`: one actor in a terminal.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { parseCommandLine } from "../../src/cli/flags.ts";
import { fleetView } from "../../src/cli/fleet_view.ts";
import { showStatechart } from "../../src/cli/statechart_of.ts";
import { systemClock } from "../../src/core/clock.ts";
import { History } from "../../src/operator/history/history.ts";
import { inStep } from "../support/fleet.ts";
import { whileServed } from "../support/served.ts";
import { inWorld } from "../support/world.ts";

Deno.test("statechart --of shows where an actor is, the way it went and its calls; a resource that went, its last", () =>
  inWorld({}, async (world) => {
    const history = new History(world.clock);
    const { operator } = world.start({ history });
    await inStep(world);
    const view = fleetView({ operator, history, clock: world.clock, phase: () => "working" });
    await whileServed({ view }, async (url) => {
      const show = (name: string) =>
        showStatechart({ namespace: "default", name, url }, { clock: systemClock, fetch });
      const text = await show("orders");
      assertMatch(text, /^default\/orders {2}Available\.idle\n {2}Ready is True \(Available\) for /);
      assertMatch(text, /\n {2}· Pending\n {2}· Creating\n {2}▶ Available\n[^▶]*\n {4}▶ idle\n/);
      assertMatch(text, /create done {2}Creating\.create → Creating\.record/);
      assertStringIncludes(text, 'cloud create: ok, 20 ms; engine "postgres", version "14.2", sizeGb 20');
      world.cluster.delete("default", "orders");
      await world.until("gone", () => world.get("orders") === undefined);
      await world.run(1_000);
      assertMatch(await show("orders"), /^default\/orders is gone from the cluster at .*\n\nHistory: /);
      await assertRejects(() => show("none"), Error, "knows no resource default/none");
    });
  }));

Deno.test("statechart --of tells what is wrong: nobody there, somebody else there, and no line but its own", async () => {
  const asked = (answer: () => Promise<Response>) =>
    showStatechart({ namespace: "a", name: "b", url: "http://127.0.0.1:1" }, {
      clock: systemClock,
      fetch: answer as typeof fetch,
    });
  await assertRejects(
    () => asked(() => Promise.reject(new TypeError("refused"))),
    Error,
    "cannot be reached",
  );
  await assertRejects(() => asked(() => Promise.resolve(new Response("hello"))), Error, "no operator");
  for (const status of [429, 503]) {
    const answer = () => Promise.resolve(new Response("later", { status }));
    await assertRejects(() => asked(answer), Error, `cannot say now (HTTP status ${status}); try again`);
  }
  const history = {
    dropped: 0,
    entries: [{ n: 1, event: "x\u001b[2J", cause: "a\nb\u202e", from: "", to: "A", via: [], calls: [] }],
  };
  let n = 0;
  const text = await asked(() =>
    Promise.resolve(
      n++ === 0 ? new Response("", { status: 404 }) : Response.json({ ...history, goneAt: "\r" }),
    )
  );
  // deno-lint-ignore no-control-regex -- what must not be there
  assert(!/[\u0000-\u0009\u000b-\u001f\u202e]/.test(text), text);
  assertEquals(text.split("\n").length, 6);
});

Deno.test("statechart takes a resource by namespace and name", async () => {
  const parse = (line: string) => parseCommandLine(line.split(" "), { inPod: false, version: "1" });
  const { command, ...rest } = await parse("statechart --of shop/orders --url http://h:1/");
  assertEquals([command, JSON.stringify(rest)], [
    "statechart",
    '{"options":{"format":"mermaid","of":{"namespace":"shop","name":"orders","url":"http://h:1"}}}',
  ]);
  for (const wrong of ["orders", "a/b/c", "/b", "a/", "A/b"]) {
    assertEquals((await parse(`statechart --of ${wrong}`)).command, "usage", wrong);
  }
  const told = await parse("statechart --of a/b --url https://h --token-file t --ca-file c");
  assertEquals(told.command === "statechart" && told.options.of, {
    namespace: "a",
    name: "b",
    url: "https://h",
    tokenFile: "t",
    caFile: "c",
  });
  for (
    const [line, words] of [
      ["statechart --token-file t", "--token-file goes with --of"],
      ["statechart --ca-file c", "--ca-file goes with --of"],
      ["statechart --of a/b --ca-file c", "--ca-file goes with an https:// URL"],
    ] as const
  ) {
    const usage = await parse(line);
    assert(usage.command === "usage");
    assertStringIncludes(usage.text, words);
  }
});
