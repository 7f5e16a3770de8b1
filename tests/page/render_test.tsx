import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { renderToString } from "preact-render-to-string";
import { App } from "../../src/page/app.tsx";
import * as model from "../../src/page/live/model.ts";
import { commandsFor } from "../../src/page/reasons/meaning.tsx";
import { parseRoute } from "../../src/page/route.ts";
import { databaseChart } from "../../src/server/api/database_chart.ts";
import type { DatabaseDetail } from "../../src/server/api/types.ts";
import { REASON_MEANINGS } from "../../src/statechart/reasons.ts";
import { REASONS } from "../../src/statechart/vocabulary.ts";
import { sampleDetail, sampleHistory } from "./sample_database.ts";
import { NOW, sampleFleet, sampleOrphans, sampleRow, sampleSummary } from "./samples.ts";

const chart = await databaseChart();

function show(path: string, detail?: DatabaseDetail | null): string {
  model.route.value = parseRoute(path);
  model.now.value = NOW;
  model.chart.value = { state: "here", value: chart };
  model.database.value = detail;
  return renderToString(<App />);
}

function fleet(rows = sampleFleet(500)): void {
  model.rows.value = rows;
  model.summary.value = sampleSummary(rows);
  model.orphans.value = sampleOrphans;
  model.search.value = "";
}

const EVIL = `"><img src=x onerror=alert(1)><script>alert(2)</script>'&\u202e`;

/** Every text in `value` made evil; names of states and verdicts stay, for they are the machine's. */
function poisoned<T>(value: T): T {
  if (typeof value === "string") return EVIL as T;
  if (Array.isArray(value)) return value.map(poisoned) as T;
  if (typeof value !== "object" || value === null) return value;
  const kept = new Set([
    "at",
    "tryAt",
    "readAt",
    "since",
    "createdAt",
    "nextTryAt",
    "verdict",
    "kind",
    "status",
    "uid",
  ]);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, kept.has(key) ? inner : poisoned(inner)]),
  ) as T;
}

function assertHarmless(html: string): void {
  assert(!/<(script|img)/i.test(html), "an element came out of a text");
  assert(
    !/\son\w+=/i.test(html.replaceAll("&quot;", "").replace(/&lt;[^<]*/g, "")),
    "a handler came out of a text",
  );
  // What an option stands for is not shown; all else is.
  const turned = /.{60}\u202e/.exec(html.replace(/ value="[^"]*"/g, ""))?.[0];
  assert(turned === undefined, `a mark turned the text round: ${turned}`);
  assertStringIncludes(html, "&lt;script>alert(2)&lt;/script>");
}

Deno.test("script in every field of every row, orphan and account shows as text", () => {
  const rows = sampleFleet(3).map((row, index) => ({
    ...poisoned(row),
    uid: String(index),
    attention: true,
  }));
  fleet(rows);
  model.summary.value = poisoned(sampleSummary(rows));
  model.orphans.value = poisoned(sampleOrphans);
  assertHarmless(show("/"));
});

Deno.test("script in every field of a database and of its history shows as text", () => {
  fleet();
  assertHarmless(show("/databases/shop/orders", poisoned(sampleDetail())));
  assertHarmless(show(`/databases/${encodeURIComponent(EVIL)}/x`, null));
});

Deno.test("the fleet tells counts by state, what needs a person before the list, and draws a few rows alone", () => {
  fleet(sampleFleet(10_000));
  const html = show("/");
  assertStringIncludes(html, "10,000 databases");
  assert(html.indexOf("need a person") < html.indexOf('role="table"'));
  assertStringIncludes(html, "DeletionProtected");
  assertStringIncludes(html, "Throttled; the next call is sent in 18 s");
  assertStringIncludes(html, 'aria-rowcount="10001"');
  const drawn = html.match(/role="row"/g)?.length ?? 0;
  assert(drawn > 10 && drawn < 100, `${drawn} rows`);
});

Deno.test("the chart shows every state and step with its number, and links each to its part of the fleet", () => {
  fleet(sampleFleet(2_000));
  const html = show("/chart");
  for (const { path, steps } of chart.states) {
    assertStringIncludes(html, `href="/?state=${path}"`);
    for (const step of steps) assertStringIncludes(html, step.title);
  }
  assertStringIncludes(html, 'href="/?state=Available&amp;detail=Available.idle"');
});

Deno.test("one database shows its state lit, each field beside what was observed, conditions, next try and history", () => {
  fleet();
  const row = sampleRow({ state: "Drifted", detail: "Drifted.modify" });
  const html = show("/databases/shop/orders", sampleDetail(row));
  assertEquals(html.match(/class="card f\d lit/g), ['class="card f3 lit']);
  assertEquals(html.match(/class="chip effect lit/g)?.length, 1);
  for (
    const text of [
      "sizeGb is 20 and is being changed to 40",
      "not written yet",
      "in 42 s",
      "9 s old",
      "differs",
      "Rate exceeded",
    ]
  ) {
    assertStringIncludes(html, text);
  }
  for (const { n, from, to } of sampleHistory()) {
    if (from !== to) assertStringIncludes(html, `Show step ${n} in the chart`);
  }
});

Deno.test("every reason has an entry with an address, which says whose turn it is and how many have it", () => {
  fleet(sampleFleet(4_000));
  const html = show("/reasons/Conflict");
  for (const reason of Object.keys(REASONS)) {
    assertStringIncludes(html, `id="reason-${reason}"`);
    assertStringIncludes(html, `href="/reasons/${reason}"`);
  }
  assertEquals(html.match(/class="panel entry here"/g)?.length, 1);
  assertStringIncludes(html, 'href="/?reason=DeletionProtected"');
  assert(!html.includes("`"), "code is marked as code");
  assertStringIncludes(show("/reasons/Nosuch"), "no reason of the name");
});

Deno.test("a condition leads to its reason's entry and has the commands for this resource; a word that is none of the machine's leads nowhere", () => {
  fleet();
  const detail = sampleDetail();
  const [ready] = detail.conditions;
  assert(ready);
  const conditions = [
    { ...ready, status: "False" as const, reason: "SecretConflict" },
    { ...ready, type: "Theirs", reason: "constructor" },
  ];
  const row = { ...detail.row, namespace: "team-a", name: "ledger" };
  const html = show("/databases/team-a/ledger", { ...detail, row, conditions });
  assertStringIncludes(html, 'href="/reasons/SecretConflict"');
  assertStringIncludes(html, "kubectl -n team-a patch edb ledger --type=merge");
  assertStringIncludes(html, "ledger-login");
  assert(!html.includes("/reasons/constructor"));
});

Deno.test("commands are made for no name that a shell could read as something else", () => {
  const meaning = REASON_MEANINGS.DeleteFailed;
  assertEquals(
    commandsFor(meaning, { namespace: "a", name: "b" }),
    ['kubectl -n a annotate edb b db.my.domain/abandon="$(kubectl -n a get edb b -o jsonpath={.metadata.uid})"'],
  );
  for (const name of ["$(reboot)", "a b", "-o", "A", ""]) {
    assertEquals(commandsFor(meaning, { namespace: "a", name }), meaning.commands);
  }
});

Deno.test("a database that is not there, and a path that is none, say so", () => {
  fleet();
  assertStringIncludes(show("/databases/shop/none", null), "There is no such resource here");
  assertStringIncludes(show("/nowhere"), "Nothing is here");
});

Deno.test("a lost connection is told with since when", () => {
  fleet();
  model.connection.value = { state: "lost", since: NOW - 75_000 };
  assertStringIncludes(show("/"), "for 75 s; what is shown may be old");
  model.connection.value = { state: "live" };
});
