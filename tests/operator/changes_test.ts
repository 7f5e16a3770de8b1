/**
 * One change of a database at a time, whoever asks (rules 8 and 14).
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { type ChangeKind, Changes } from "../../src/operator/changes.ts";
import { ProviderError } from "../../src/providers/port.ts";
import { ManualClock } from "../support/manual_clock.ts";

const BOUND_MS = 30_000;
const lost = new ProviderError("unknown", "no answer");

function onClock() {
  const clock = new ManualClock();
  const changes = new Changes(clock, () => BOUND_MS);
  const may = (id: string, kind: ChangeKind) => {
    const turn = changes.turn(id, kind);
    try {
      turn.take();
    } catch {
      return false;
    }
    turn.end();
    return true;
  };
  return { clock, changes, may };
}

Deno.test("rule 14: a change waits for the one that is under way, of its own database alone", () => {
  const { changes, may } = onClock();
  const first = changes.turn("db-1", "marks");
  first.take();
  first.take(); // asked again as it is sent
  const error = assertThrows(() => changes.turn("db-1", "delete").take(), ProviderError);
  assertEquals([error.errorClass, may("db-2", "values")], ["retryable", true]);
  first.end();
  assertEquals(may("db-1", "delete"), true);
});

Deno.test("rule 8: after values of unknown outcome no values are sent within the effect bound; tags and a delete are", async () => {
  const { clock, changes, may } = onClock();
  const first = changes.turn("db-1", "values");
  first.take();
  first.end(lost);
  const now = () => ["values", "marks", "delete"].map((kind) => may("db-1", kind as ChangeKind));
  assertEquals([now(), may("db-2", "values")], [[false, true, true], true]);
  await clock.advance(BOUND_MS - 1);
  assertEquals(now(), [false, true, true]);
  await clock.advance(1);
  assertEquals(now(), [true, true, true]);
});

Deno.test("S3: after tags of unknown outcome neither values nor a delete are sent within the effect bound: it may be another's", async () => {
  const { clock, changes, may } = onClock();
  const first = changes.turn("db-1", "marks", { tags: true });
  first.take();
  first.end(lost);
  await clock.advance(1); // whoever asks now read it after that
  const now = () => ["values", "marks", "delete"].map((kind) => may("db-1", kind as ChangeKind));
  assertEquals([now(), may("db-2", "delete")], [[false, true, false], true]);
  await clock.advance(BOUND_MS - 2);
  assertEquals(now(), [false, true, false]);
  await clock.advance(1);
  assertEquals(now(), [true, true, true]);
});

for (
  const [what, kind, error] of [
    ["an answer", "values", undefined],
    ["a definite refusal", "values", new ProviderError("rejected", "no")],
    ["protection of unknown outcome", "marks", lost],
  ] as const
) {
  Deno.test(`rule 8: nothing waits after ${what}`, () => {
    const { changes, may } = onClock();
    const first = changes.turn("db-1", kind);
    first.take();
    first.end(error);
    assertEquals(may("db-1", "values"), true);
  });
}

Deno.test("rule 8: what was sent and ended otherwise than by an answer is of unknown outcome; what was not sent is nothing", () => {
  const { changes, may } = onClock();
  changes.turn("db-1", "values").end(new Error("aborted while it waited"));
  assertEquals(may("db-1", "values"), true);
  const sent = changes.turn("db-1", "values");
  sent.take();
  sent.end(new Error("aborted"));
  assertEquals(may("db-1", "values"), false);
});
