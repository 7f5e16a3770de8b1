import { assert, assertEquals } from "@std/assert";
import { topFlows } from "../../src/page/chart/flow.ts";
import { type Overview, overview } from "../../src/page/chart/geometry.ts";
import { databaseChart } from "../../src/server/api/database_chart.ts";
import { NOW, sampleFleet, sampleSummary } from "./samples.ts";

const chart = await databaseChart();
const WIDTHS = [300, 345, 420, 640, 779, 780, 900, 1_080, 1_400, 1_800];

function each(work: (drawn: Overview, width: number) => void): void {
  for (const width of WIDTHS) for (const terse of [false, true]) work(overview(chart, width, terse), width);
}

Deno.test("at every width all states and ways are there, inside the drawing, and no two cards touch", () => {
  each((drawn, width) => {
    assertEquals(drawn.cards.map((card) => card.state.path), chart.states.map((state) => state.path));
    assertEquals(drawn.ways.length, chart.moves.length);
    for (const card of drawn.cards) {
      assert(card.x >= 0 && card.x + card.width <= width, `${card.state.path} at ${width}`);
      assert(card.y >= 0 && card.y + card.height <= drawn.height, `${card.state.path} at ${width}`);
      for (const other of drawn.cards) {
        if (other === card) continue;
        const apart = card.x + card.width < other.x || other.x + other.width < card.x ||
          card.y + card.height < other.y || other.y + other.height < card.y;
        assert(apart, `${card.state.path} and ${other.state.path} at ${width}`);
      }
    }
    for (const { d, head } of drawn.ways) {
      for (const [, x, y] of `${d}${head}`.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)) {
        assert(Number(x) >= 0 && Number(x) <= width && Number(y) >= 0 && Number(y) <= drawn.height, d);
      }
    }
  });
});

Deno.test("a card with room shows each of its steps within it; a narrow one shows none", () => {
  each((drawn) => {
    for (const { state, chips, x, y, width, height } of drawn.cards) {
      assertEquals(
        chips.map((chip) => chip.step.path),
        drawn.compact ? [] : state.steps.map((step) => step.path),
      );
      for (const chip of chips) {
        assert(
          chip.x >= x && chip.x + chip.width <= x + width && chip.y >= y && chip.y + 21 <= y + height,
          chip.step.path,
        );
      }
    }
  });
  assert(overview(chart, 360).compact);
  assert(!overview(chart, 1_200).compact);
});

Deno.test("no two ways leave or enter at the same point", () => {
  each((drawn, width) => {
    const ends = drawn.ways.flatMap(({ d, head }) => [
      /^M(-?[\d.]+ -?[\d.]+)/.exec(d)?.[1],
      /^M(-?[\d.]+ -?[\d.]+)/.exec(head)?.[1],
    ]);
    assertEquals(new Set(ends).size, ends.length, String(width));
  });
});

Deno.test("there and back between two cards do not cross", () => {
  const drawn = overview(chart, 1_200);
  const ends = (from: string, to: string) => {
    const way = drawn.ways.find(({ move }) => move.from === from && move.to === to);
    assert(way);
    const numbers = [...way.d.matchAll(/-?[\d.]+/g)].map(Number);
    return { x1: numbers[0] ?? 0, x2: numbers.at(-2) ?? 0 };
  };
  const there = ends("Available", "Drifted");
  const back = ends("Drifted", "Available");
  assertEquals(Math.sign(there.x1 - back.x2), Math.sign(there.x2 - back.x1));
  assertEquals(there.x1, there.x2);
});

Deno.test("flow is summed up between top-level states; what stays inside one is not counted", () => {
  const flows = topFlows(sampleSummary(sampleFleet(10), NOW).flow);
  assertEquals(flows.get("Available Drifted"), { total: 128, lastMinute: 23 });
  assertEquals(flows.has("Available Available"), false);
});

Deno.test("numbers of ways there and back stand apart, at every width", () => {
  for (const width of [390, 820, 1_080, 1_400]) {
    const { ways } = overview(chart, width);
    for (const way of ways) {
      const back = ways.find(({ move }) => move.from === way.move.to && move.to === way.move.from);
      if (!back) continue;
      const [x, y] = [0, 1].map((axis) => Math.abs((way.at[axis] ?? 0) - (back.at[axis] ?? 0)));
      // A number of three digits is 33 wide and 18 high.
      assert((x ?? 0) >= 33 || (y ?? 0) >= 18, `${way.move.from} and ${way.move.to} at ${width}: ${x}, ${y}`);
    }
  }
});
