/**
 * The operator's mind by table: what is said before what is done.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { decide } from "../../src/statechart/decide.ts";
import { statusChange, statusOf } from "../../src/statechart/status.ts";
import { cr, db, deleting, inStep, known, NOW, seen, view } from "./support.ts";

const withId = (more: Parameters<typeof cr>[0] = {}) => cr({ status: inStep(), ...more });
const ours = { status: inStep() };
const dead = (more: Parameters<typeof cr>[0] = {}) => deleting({ ...ours, ...more });

Deno.test("rule 12: what is about to be removed is said first, so that a restart knows the absence that follows", () => {
  const failed = cr({ status: { providerId: "db-1", state: "Creating", observedGeneration: 1 } });
  for (
    const k of [
      known(dead(), { observation: seen() }),
      known(failed, { observation: seen(db({ state: "Failed" })) }),
    ]
  ) {
    const d = decide(k, view());
    assertEquals([d.step, d.removing, statusOf(k, d).removing], ["report", "db-1", "db-1"]);
    const said = { ...k, object: { ...k.object, status: statusOf(k, d) as typeof k.object.status } };
    assert(["remove", "discard"].includes(decide(said, view()).step));
  }
});

Deno.test("decide: a rest with news reports first, one without does not, and a failed report waits its time", () => {
  const k = known(withId(), { observation: seen() });
  assertEquals(decide(k, view()).step, "report"); // the old message says something else
  const failing = {
    ...k,
    failures: {
      report: {
        effect: "report" as const,
        state: "Available" as const,
        errorClass: "kubernetes",
        message: "500",
        attempt: 1,
        until: NOW + 700,
      },
    },
  };
  const waiting = decide(failing, view());
  assertEquals([waiting.state, waiting.step, waiting.waitMs], ["Available", "idle", 700]);
  assertEquals(decide(failing, view({ now: NOW + 700 })).step, "report");
});

Deno.test("decide: a status that the API server changed on its way in is written once, not for ever", () => {
  const k = known(withId(), { observation: seen() });
  const first = decide(k, view());
  assertEquals(first.step, "report");
  const text = statusChange(k.object.status, statusOf(k, first));
  const written = { ...k, reported: { text, resourceVersion: "100" } };
  assertEquals(decide(written, view()).step, "idle");
  const touched = { ...written, object: withId({ meta: { resourceVersion: "101" } }) };
  assertEquals(decide(touched, view()).step, "report");
});
