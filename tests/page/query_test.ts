import { assert, assertEquals } from "@std/assert";
import {
  byName,
  formatFilter,
  isNarrow,
  parseFilter,
  selectRows,
  tellingReason,
} from "../../src/page/fleet/query.ts";
import { OVERSCAN, rowWindow, Slots } from "../../src/page/fleet/window.ts";
import { NameOrder } from "../../src/page/live/order.ts";
import { databasePath, parseRoute } from "../../src/page/route.ts";
import { coarse, count, duration, relative } from "../../src/page/text/time.ts";
import { at, NOW, sampleFleet, sampleRow } from "./samples.ts";

Deno.test("a filter survives the way into the URL and back, and what makes no sense asks for nothing", () => {
  for (
    const search of [
      "",
      "?q=a+b",
      "?state=Drifted&reason=Updating&class=",
      "?attention=true&sort=next",
      "?detail=Available.idle",
    ]
  ) {
    assertEquals(formatFilter(parseFilter(search)), search);
  }
  assertEquals(parseFilter("?sort=nonsense&attention=perhaps&other=1"), {});
  assert(!isNarrow(parseFilter("?sort=age")));
  assert(isNarrow(parseFilter("?class=")));
});

Deno.test("what needs a person comes first, then what is not ready, each by namespace and name", () => {
  const rows = [
    sampleRow({ name: "d" }),
    sampleRow({ name: "c", ready: "Unknown" }),
    sampleRow({ name: "b", ready: "False" }),
    sampleRow({ name: "z", attention: true }),
    sampleRow({ name: "a" }),
  ];
  assertEquals(selectRows(byName(rows), {}).map((row) => row.name), ["z", "b", "c", "a", "d"]);
  assertEquals(rows[0]?.name, "d");
});

Deno.test("each filter selects by its field alone, and words of a search must all be there", () => {
  const rows = sampleFleet(3_000);
  const only = (search: string) => selectRows(rows, parseFilter(search));
  for (
    const [search, holds] of [
      ["?namespace=billing", (row) => row.namespace === "billing"],
      ["?state=Deleting", (row) => row.state === "Deleting"],
      ["?class=europe", (row) => row.className === "europe"],
      ["?class=", (row) => row.className === undefined],
      ["?reason=ImmutableFieldChanged", (row) => tellingReason(row) === "ImmutableFieldChanged"],
      ["?attention=true", (row) => row.attention === true],
      [
        "?q=BILLING%2Forders+postgres",
        (row) => row.namespace === "billing" && row.name.startsWith("orders") && row.engine === "postgres",
      ],
    ] as readonly (readonly [string, (row: typeof rows[number]) => boolean])[]
  ) {
    const found = only(search);
    assert(found.length > 0, search);
    assertEquals(found.length, rows.filter(holds).length, search);
    assert(found.every(holds), search);
  }
});

Deno.test("the rows drawn are those in sight and a few around, wherever the list is scrolled to", () => {
  assertEquals(rowWindow(10_000, 48, 300, 600), { first: 0, end: 14 + OVERSCAN });
  const middle = rowWindow(10_000, 48, -240_000, 900);
  assertEquals(middle, { first: 5_000 - OVERSCAN, end: 5_000 + 20 + OVERSCAN });
  assertEquals(rowWindow(10_000, 48, -480_000, 900), { first: 10_000 - OVERSCAN, end: 10_000 });
  assertEquals(rowWindow(3, 48, 0, 900), { first: 0, end: 3 });
  assertEquals(rowWindow(0, 48, -500, 900), { first: 0, end: 0 });
});

Deno.test("every view has a path, names with odd characters too, and a broken escape leads nowhere", () => {
  assertEquals(parseRoute("/"), { view: "fleet" });
  assertEquals(parseRoute("/chart"), { view: "chart" });
  for (const [namespace, name] of [["shop", "orders"], ["a b", "c/d"], ["%", "<script>"]] as const) {
    assertEquals(parseRoute(databasePath(namespace, name)), { view: "database", namespace, name });
  }
  for (const path of ["/databases/shop", "/databases/%E0%A4%A/x", "/other"]) {
    assertEquals(parseRoute(path), { view: "nowhere" });
  }
});

Deno.test("times are told in their largest units, past and to come", () => {
  assertEquals([duration(0.4), duration(850), duration(1_900), duration(179_400)], [
    "0 ms",
    "850 ms",
    "1.9 s",
    "2 m 59 s",
  ]);
  assertEquals([coarse(12_300), coarse(3 * 3_600_000), coarse(5 * 86_400_000)], ["12 s", "3 h", "5 d"]);
  assertEquals([
    relative(at(42), NOW),
    relative(at(-200), NOW),
    relative(at(0), NOW),
    relative("no time", NOW),
  ], [
    "in 42 s",
    "3 m 20 s ago",
    "now",
    "–",
  ]);
  assertEquals([count(0), count(999), count(1_234_567)], ["0", "999", "1,234,567"]);
});

Deno.test("rows keep their order through changes, and rows that come and go take their places", () => {
  const order = new NameOrder();
  const rows = new Map([..."dbca"].map((name) => [name, sampleRow({ uid: name, name })]));
  const names = () => order.of(rows).map((row) => row.name + row.state.charAt(0)).join(" ");
  assertEquals(names(), "aA bA cA dA");
  rows.set("c", sampleRow({ uid: "c", name: "c", state: "Drifted" }));
  assertEquals(names(), "aA bA cD dA");
  rows.delete("b");
  assertEquals(names(), "aA cD dA");
  rows.set("bb", sampleRow({ uid: "bb", name: "bb" }));
  assertEquals(names(), "aA bbA cD dA");
  rows.delete("a");
  rows.set("e", sampleRow({ uid: "e", name: "e" }));
  assertEquals(names(), "bbA cD dA eA");
});

Deno.test("a row keeps its element while it is in sight, and the elements of those that left go to those that came", () => {
  const slots = new Slots();
  slots.keep(["a", "b", "c"]);
  assertEquals(["a", "b", "c"].map((uid) => slots.of(uid)), [0, 1, 2]);
  slots.keep(["b", "c", "d"]);
  assertEquals(["b", "c", "d"].map((uid) => slots.of(uid)), [1, 2, 0]);
  slots.keep(["x", "y", "z", "w"]);
  assertEquals(new Set(["x", "y", "z", "w"].map((uid) => slots.of(uid))), new Set([0, 1, 2, 3]));
  slots.keep(["w"]);
  slots.keep(["v", "w"]);
  assertEquals(new Set(["v", "w"].map((uid) => slots.of(uid))).size, 2);
  assertEquals(slots.of("x"), undefined);
});
