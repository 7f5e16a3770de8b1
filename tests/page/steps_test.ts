import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  chapters,
  detailText,
  historyText,
  presentFrame,
  stepFrame,
  walk,
} from "../../src/page/database/steps.ts";
import { sampleDetail, sampleHistory } from "./sample_database.ts";
import { NOW, sampleRow } from "./samples.ts";

Deno.test("a step shows where it came from, what it passed and where it led; the present shows the configuration", () => {
  const [, finalized, , , listed, drifted] = sampleHistory();
  assert(finalized && listed && drifted);
  assertEquals(stepFrame(drifted), {
    active: "Drifted.modify",
    top: "Drifted",
    from: "Available.idle",
    via: ["Available.deciding", "Drifted.deciding"],
    passed: ["Available", "Drifted"],
  });
  assertEquals(stepFrame(listed).passed, []);
  assertEquals(
    stepFrame({
      ...drifted,
      from: "Pending.lookup",
      via: ["Creating.deciding", "Pending.deciding"],
      to: "Deleting.remove",
    }).passed,
    [
      "Pending",
      "Creating",
      "Pending",
      "Deleting",
    ],
  );
  assertEquals(presentFrame(sampleDetail(sampleRow())).active, "Available.idle");
});

Deno.test("walking goes from the present to the oldest step and back, and stops at both ends", () => {
  const entries = sampleHistory();
  const seen: (number | undefined)[] = [];
  let at: number | undefined;
  for (let i = 0; i < entries.length + 2; i++) seen.push(at = walk(entries, at, -1));
  assertEquals(seen, [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1]);
  assertEquals(walk(entries, 8, 1), 9);
  assertEquals(walk(entries, 9, 1), undefined);
  assertEquals(walk(entries, undefined, 1), undefined);
  assertEquals(walk([], undefined, -1), undefined);
  // The step that was looked at fell out of the ring meanwhile: the oldest stands for it.
  assertEquals(walk(entries.slice(4), 2, 1), 6);
});

Deno.test("the history is in chapters by generation, the newest first", () => {
  const entries = sampleHistory();
  assertEquals(
    chapters(entries).map(({ generation, entries }) => [generation, entries.map((entry) => entry.n)]),
    [
      [2, [9, 8, 7, 6]],
      [1, [5, 4, 3, 2, 1]],
    ],
  );
});

Deno.test("the text to copy holds each step with its cause, way, outcome of every call and generation, a line each", () => {
  const detail = sampleDetail();
  const text = detailText(detail, NOW);
  for (const entry of detail.history.entries) {
    assertStringIncludes(text, entry.cause);
    for (const call of entry.calls) assertStringIncludes(text, `${call.to} ${call.verb}: ${call.outcome}`);
  }
  for (
    const part of [
      "sizeGb: wanted 40, observed 20 (differs)",
      "Synced=False Updating",
      "generation 2",
      "in 42 s",
      "(and 9 more like it)",
    ]
  ) {
    assertStringIncludes(text, part);
  }
  assertStringIncludes(
    text,
    "Available.idle > Available.deciding > Drifted.deciding > Drifted.modify after 58 s",
  );
});

Deno.test("nothing that a cloud says can add a line to the text, or turn it round", () => {
  const [entry] = sampleHistory();
  assert(entry);
  const evil = "a\nfake line\u202e\u0007";
  const text = historyText({
    namespace: "shop",
    name: "orders",
    uid: "u",
    dropped: 3,
    entries: [{
      ...entry,
      cause: evil,
      calls: [{ to: "cloud", verb: "read", outcome: "ok", detail: evil, at: entry.at, durationMs: 1 }],
    }],
  });
  assert(!text.split("\n").some((line) => line.startsWith("fake line")));
  assert(!text.includes("\u202e") && !text.includes("\u0007"));
  assertStringIncludes(text, "3 earlier steps are no longer held");
});
