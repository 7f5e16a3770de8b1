import { assert, assertEquals, assertRejects } from "@std/assert";
import { chartAnswer } from "../../src/server/api/chart.ts";
import { databaseChart } from "../../src/server/api/database_chart.ts";
import { Api } from "../../src/server/api/handler.ts";
import type { ChartAnswer } from "../../src/server/api/types.ts";
import { flatten, toChart } from "../../src/statechart/draw/chart.ts";
import { databaseMachine } from "../../src/statechart/machine.ts";
import { TOP_STATES } from "../../src/statechart/vocabulary.ts";
import { viewOf } from "../support/fleet_view.ts";
import { ManualClock } from "../support/manual_clock.ts";

const SILENT = { state: () => "", guard: () => "", trigger: () => "" };

Deno.test("the chart's answer holds every state of the machine, and each inside has all its boxes within", async () => {
  const answer = await chartAnswer(databaseMachine, SILENT);
  assertEquals(answer.states.map((state) => state.path), [...TOP_STATES]);
  const paths = flatten(toChart(databaseMachine).root).map((state) => state.path).filter((path) =>
    path !== ""
  );
  assertEquals(
    answer.states.flatMap((state) => [state.path, ...state.steps.map((step) => step.path)]).sort(),
    paths.sort(),
  );
  for (const { path, steps, inside } of answer.states) {
    const drawn = (inside?.nodes ?? []).flatMap((node) => [node.path, ...node.rows.map((row) => row.path)]);
    assertEquals(drawn.filter((each) => each !== "").sort(), steps.map((step) => step.path).sort(), path);
    for (const node of inside?.nodes ?? []) {
      assert(node.x >= 0 && node.x + node.width <= (inside?.width ?? 0), `${path}: ${node.title}`);
      assert(node.y >= 0 && node.y + node.height <= (inside?.height ?? 0), `${path}: ${node.title}`);
    }
    for (const { points } of inside?.arrows ?? []) {
      for (const [x, y] of points) {
        assert(x >= 0 && x <= inside!.width && y >= 0 && y <= inside!.height, path);
      }
    }
  }
});

Deno.test("every way from one top-level state to another is one move, and every transition inside is on an arrow", async () => {
  const { moves, states } = await chartAnswer(databaseMachine, SILENT);
  const chart = toChart(databaseMachine);
  const top = (path: string) => path.split(".")[0];
  const wanted = new Set(
    chart.transitions.filter((each) => each.target !== undefined && top(each.source) !== top(each.target))
      .map((each) => `${top(each.source)} ${top(each.target ?? "")}`),
  );
  assertEquals(moves.map(({ from, to }) => `${from} ${to}`).sort(), [...wanted].sort());
  const said = states.flatMap(({ inside }) => inside?.arrows ?? []).flatMap(({ from, to, guards }) =>
    guards.map((guard) => `${from}|${to}|${guard.event}|${guard.guard}`)
  );
  for (const each of chart.transitions) {
    if (each.target === undefined || top(each.source) !== top(each.target)) continue;
    const { source, target, guard = "" } = each;
    assert(
      said.some((text) => {
        const [from = "", to = "", , name] = text.split("|");
        return from.split(" ").includes(source) && to.split(" ").includes(target) && name === guard;
      }),
      `${source} → ${target} [${guard}]`,
    );
  }
});

/** Asks an API for the chart that `chart` makes. */
function asking(chart: () => Promise<ChartAnswer>): () => Promise<Response | undefined> {
  const api = new Api({ view: viewOf(() => []), clock: new ManualClock(), chart });
  const url = new URL("http://127.0.0.1/api/chart");
  return () => api.answer(new Request(url), url);
}

Deno.test("the chart is made once, with what states and effects mean", async () => {
  let made = 0;
  const ask = asking(() => {
    made++;
    return databaseChart();
  });
  const answer: ChartAnswer = await (await ask())?.json();
  assertEquals(await (await ask())?.json(), answer);
  assertEquals(made, 1);
  assertEquals(
    new Set(answer.states.flatMap((state) => state.steps).map((step) => step.kind)),
    new Set(["rest", "effect", "choice"]),
  );
  assert(answer.states[3]?.steps.some((step) => step.title === "modify" && step.mutating));
  for (const { path, description, steps } of answer.states) {
    for (const each of [{ path, description }, ...steps]) assert(each.description !== "", each.path);
  }
  for (const { from, to, guards } of answer.moves) {
    assert(guards.length > 0 && guards.every((guard) => guard.meaning !== ""), `${from} → ${to}`);
  }
});

Deno.test("a chart that could not be made is made at the next request", async () => {
  let tries = 0;
  const ask = asking(() =>
    ++tries === 1 ? Promise.reject(new Error("not this time")) : Promise.resolve({} as never)
  );
  await assertRejects(ask, Error, "not this time");
  assertEquals(await (await ask())?.json(), {});
  await ask();
  assertEquals(tries, 2, "and then it is kept");
});
