/**
 * A table of decisions: what is known and seen → state, step and what the conditions say.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { decide } from "../../src/statechart/decide.ts";
import { type Decision, isEffect } from "../../src/statechart/decision.ts";
import type { Knowledge } from "../../src/statechart/knowledge.ts";
import { REASONS } from "../../src/statechart/vocabulary.ts";
import type { View } from "../../src/statechart/view.ts";
import { NOW, view } from "./support.ts";

/** One row: what is known and seen, and what comes of it. */
export interface Row {
  readonly k: Knowledge;
  readonly v?: Partial<View>;
  /** `state/step`. */
  readonly is: string;
  /** Reason of `Synced`. */
  readonly synced?: string;
  /** `status/reason` of `Ready`. */
  readonly ready?: string;
  readonly waitMs?: number | undefined;
  readonly message?: RegExp;
  readonly cause?: string;
  /** Id of the database that the step is about. */
  readonly id?: string;
}

/** A report that failed is tried again in so many milliseconds: longer than any rest. */
const FAR = 1e12;

/** Whatever the status says already, a rest is looked at and not the report before it. */
function decided(row: Row): Decision {
  const v = view(row.v);
  const first = decide(row.k, v);
  if (first.step !== "report") return first;
  const report = {
    effect: "report" as const,
    state: first.state,
    errorClass: "kubernetes",
    message: "",
    attempt: 1,
    until: NOW + FAR,
  };
  const rest = decide({ ...row.k, failures: { ...row.k.failures, report } }, v);
  return rest.waitMs === FAR ? { ...rest, waitMs: undefined } : rest;
}

/** One test a row. */
export function table(area: string, rows: Readonly<Record<string, Row>>): void {
  for (const [name, row] of Object.entries(rows)) {
    Deno.test(`decide, ${area}: ${name}`, () => {
      const d = decided(row);
      assertEquals(`${d.state}/${d.step}`, row.is);
      for (const type of ["Ready", "Synced"] as const) {
        const verdict = type === "Ready" ? d.ready : d.synced;
        const allowed: readonly string[] = REASONS[verdict.reason];
        if (!isEffect(d.step) && d.step !== "end") {
          assert(allowed.includes(type), `${verdict.reason} is no reason of ${type}`);
          assert(verdict.message.length > 0, "a condition says why");
        }
      }
      if (row.synced !== undefined) assertEquals(d.synced.reason, row.synced);
      if (row.ready !== undefined) assertEquals(`${d.ready.status}/${d.ready.reason}`, row.ready);
      if ("waitMs" in row) assertEquals(d.waitMs, row.waitMs);
      if (row.message !== undefined) assert(row.message.test(d.synced.message), d.synced.message);
      if (row.cause !== undefined) assertEquals(d.cause, row.cause);
      if (row.id !== undefined) assertEquals(d.database?.id, row.id);
    });
  }
}
