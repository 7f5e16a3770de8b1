import { assertEquals } from "@std/assert";
import { ANNOTATION } from "../../src/api/constants.ts";
import type { Repair } from "../../src/api/schema.ts";
import {
  countRepairs,
  MAX_REPAIRS,
  pendingRepairs,
  permitted,
  REPAIR_AGAIN_MS,
} from "../../src/statechart/repair.ts";
import { cr, inStep, known, view, WALL } from "./support.ts";

const at = (ms: number) => new Date(WALL + ms).toISOString();
const size = (attempts: number, lastMs = -1_000, wanted = "50"): Repair => ({
  field: "sizeGb",
  wanted,
  attempts,
  lastAttemptTime: at(lastMs),
});
const k = (repair: readonly Repair[], more: Parameters<typeof cr>[0] = {}) =>
  known(cr({ status: inStep(), ...more }), { repair });

Deno.test("R6: the first three repairs of a field are permitted, the fourth waits for hours", () => {
  for (let n = 0; n < MAX_REPAIRS; n++) {
    assertEquals(permitted(k(n === 0 ? [] : [size(n)]), view(), { sizeGb: 50 }), {
      change: { sizeGb: 50 },
      againMs: undefined,
    });
  }
  assertEquals(permitted(k([size(MAX_REPAIRS)]), view(), { sizeGb: 50 }), {
    change: {},
    againMs: REPAIR_AGAIN_MS - 1_000,
  });
});

Deno.test("R6: each field is counted by itself", () => {
  const both = { sizeGb: 50, version: "15" };
  assertEquals(permitted(k([size(3)]), view(), both).change, { version: "15" });
  const version: Repair = { field: "version", wanted: "15", attempts: 3, lastAttemptTime: at(-60_000) };
  assertEquals(permitted(k([version]), view(), both).change, { sizeGb: 50 });
  assertEquals(permitted(k([version, size(3)]), view(), both), {
    change: {},
    againMs: REPAIR_AGAIN_MS - 60_000, // the sooner of the two
  });
});

Deno.test("R6: hours, an edit, an annotation or another wanted value bring another try", () => {
  const tries = (repair: readonly Repair[], more: Parameters<typeof cr>[0] = {}) =>
    permitted(k(repair, more), view(), { sizeGb: 50 }).change.sizeGb;
  assertEquals(tries([size(3, -REPAIR_AGAIN_MS)]), 50);
  assertEquals(tries([size(3, 1 - REPAIR_AGAIN_MS)]), undefined);
  assertEquals(tries([size(3)], { meta: { generation: 2 } }), 50);
  assertEquals(tries([size(3)], { meta: { annotations: { [ANNOTATION.reconcile]: "x" } } }), 50);
  assertEquals(
    tries([size(3)], {
      meta: { annotations: { [ANNOTATION.reconcile]: "x" } },
      status: inStep({ lastHandledReconcile: "x" }),
    }),
    undefined,
  );
  assertEquals(tries([size(3)], { meta: { annotations: { other: "x" } } }), undefined);
  assertEquals(tries([size(3, -1_000, "49")]), 50);
});

Deno.test("R6: a wall clock that was set back, or a time that is none, does not stop repairs for years", () => {
  const tries = (repair: Repair) => permitted(k([repair]), view(), { sizeGb: 50 });
  assertEquals(tries(size(3, 365 * 86_400_000)).change, { sizeGb: 50 });
  assertEquals(tries({ ...size(3), lastAttemptTime: "yesterday" }).change, { sizeGb: 50 });
});

Deno.test("R6: an accepted change is counted, and one with another value starts anew", () => {
  const once = countRepairs([], { sizeGb: 50, version: "15" }, at(0));
  assertEquals(once.map((r) => [r.field, r.wanted, r.attempts]), [["version", "15", 1], ["sizeGb", "50", 1]]);
  const twice = countRepairs(once, { sizeGb: 50 }, at(1_000));
  assertEquals(twice.map((r) => [r.field, r.attempts, r.lastAttemptTime]), [
    ["version", 1, at(0)],
    ["sizeGb", 2, at(1_000)],
  ]);
  assertEquals(countRepairs(twice, { sizeGb: 60 }, at(2_000)).at(-1)?.attempts, 1);
});

Deno.test("R6: a field that is in step, or asks for another value, keeps no count in the status", () => {
  assertEquals(pendingRepairs([size(2)], { sizeGb: 50 }), [size(2)]);
  assertEquals(pendingRepairs([size(2)], {}), []);
  assertEquals(pendingRepairs([size(2)], { sizeGb: 60 }), []);
  assertEquals(pendingRepairs([size(2)], { version: "50" }), []);
});

Deno.test("R6: a change of one field counts for that field alone", () => {
  const fields = (change: { version?: string; sizeGb?: number }) =>
    countRepairs([], change, at(0)).map((r) => `${r.field} ${r.wanted} ${r.attempts}`);
  assertEquals(fields({ version: "15" }), ["version 15 1"]);
  assertEquals(fields({ sizeGb: 50 }), ["sizeGb 50 1"]);
});
