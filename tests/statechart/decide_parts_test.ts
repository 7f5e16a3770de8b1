/** Pieces that several decisions share, each alone. */
import { assertEquals } from "@std/assert";
import { TAG } from "../../src/api/constants.ts";
import { lookAgain } from "../../src/statechart/decide_account.ts";
import { decideStray } from "../../src/statechart/decide_conflict.ts";
import { every } from "../../src/statechart/decide_removal.ts";
import { no } from "../../src/statechart/verdicts.ts";
import { ACCOUNT_WAIT_MS } from "../../src/statechart/view.ts";
import { absent, cr, db, inStep, known, NOW, seen, tags, view } from "./support.ts";

const verdict = no("Deleting", "It goes");
const said = { state: "Deleting", ready: verdict, synced: verdict } as const;

Deno.test("A2: what was seen is looked at again once the account has said its name since, and what is said stays", () => {
  const k = known(cr({ status: inStep() }), { observation: absent() });
  assertEquals(lookAgain(k, view({ accountAt: NOW }), NOW, said), { ...said, step: "confirm" });
  assertEquals(lookAgain(k, view({ accountAt: NOW }), NOW, said, "lookup"), { ...said, step: "lookup" });
  assertEquals(lookAgain(k, view({ accountAt: NOW - 1 }), NOW, said), {
    ...said,
    step: "wait",
    waitMs: ACCOUNT_WAIT_MS,
  });
});

Deno.test("L4: a lookup that failed beside another's database is tried again in its time", () => {
  const stray = db({ tags: tags({ [TAG.uid]: "another" }) });
  const failed = (until: number) => ({
    lookup: {
      effect: "lookup",
      state: "Drifted",
      errorClass: "busy",
      message: "no",
      attempt: 1,
      until,
    } as const,
  });
  const of = (until: number, looked?: number) =>
    decideStray(
      known(cr({ status: inStep() }), {
        observation: seen(stray, 100),
        failures: failed(until),
        ...(looked === undefined ? {} : { lookup: { sentAt: looked, found: [] } }),
      }),
      view(),
      stray,
    );
  assertEquals([of(NOW + 5_000).step, of(NOW + 5_000).waitMs], ["idle", 5_000]);
  assertEquals([of(NOW).step, of(NOW, NOW).step, of(NOW, NOW).waitMs], ["lookup", "idle", undefined]);
});

Deno.test("rule 5: a step is repeated in its time, once more when the settle window ends, and only that is settling", () => {
  const step = (last: number | undefined, settled: number | undefined) =>
    every(last, 2_000, settled, view(), said, "lookup");
  assertEquals(step(undefined, undefined), { ...said, step: "lookup" });
  assertEquals(step(NOW - 2_000, undefined), { ...said, step: "lookup" });
  const rests = (waitMs: number, settling: boolean) => ({ ...said, step: "wait" as const, waitMs, settling });
  assertEquals(step(NOW - 1_999, undefined), rests(1, false));
  assertEquals(step(NOW - 500, NOW + 10_000), rests(1_500, true));
  assertEquals(step(NOW - 500, NOW + 300), rests(300, true));
  assertEquals(step(NOW - 500, NOW), { ...said, step: "lookup" }, "the window has ended since the last");
  assertEquals(step(NOW - 500, NOW - 500), rests(1_500, true), "the last was past the window");
});
