import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { seededRandom } from "../../src/core/random.ts";
import { retryDelayMs, StepError, type StepErrorClass } from "../../src/statechart/step_error.ts";
import { type Effect, EFFECTS } from "../../src/statechart/vocabulary.ts";

const least = { next: () => 0 };
const most = { next: () => 1 - 2 ** -30 };

/** The shortest and longest wait after each of many failures, rounded. */
function range(effect: Effect, errorClass: StepErrorClass, attempt: number): readonly [number, number] {
  return [
    Math.round(retryDelayMs(effect, errorClass, attempt, undefined, least)),
    Math.round(retryDelayMs(effect, errorClass, attempt, undefined, most)),
  ];
}

Deno.test("Back-off: reads and deletes grow from 1 s to 30 s, creates and changes to 60 s", () => {
  for (const effect of ["observe", "lookup", "confirm", "remove", "release", "report"] as const) {
    assertEquals(range(effect, "retryable", 1), [500, 1_000]);
    assertEquals(range(effect, "retryable", 2), [1_000, 2_000]);
    assertEquals(range(effect, "retryable", 50), [15_000, 30_000]);
  }
  for (const effect of ["create", "modify", "adopt"] as const) {
    assertEquals(range(effect, "unknown", 1), [500, 1_000]);
    assertEquals(range(effect, "unknown", 50), [30_000, 60_000]);
  }
});

Deno.test("Back-off: what needs a person is tried slowly, up to ten minutes", () => {
  for (const errorClass of ["rejected", "taken"] as const) {
    assertEquals(range("create", errorClass, 1), [7_500, 15_000]);
    assertEquals(range("remove", errorClass, 50), [300_000, 600_000]);
  }
});

Deno.test("Back-off: a write that met a newer object is tried again almost at once", () => {
  assertEquals(range("record", "conflict", 1), [25, 50]);
  assertEquals(range("record", "conflict", 50), [15_000, 30_000]);
});

Deno.test("L3: Retry-After is heeded, with jitter, and clamped to five minutes", () => {
  assertEquals(retryDelayMs("create", "throttled", 9, 40_000, least), 40_000);
  assert(retryDelayMs("create", "throttled", 9, 40_000, most) <= 44_000);
  assertEquals(retryDelayMs("create", "throttled", 1, 86_400_000, least), 300_000);
  assertEquals(retryDelayMs("create", "throttled", 1, -5, least), 0);
  assert(
    retryDelayMs("create", "throttled", 1, 0, most) > 200,
    "an answer of 0 s is not obeyed by all at once",
  );
});

Deno.test("S5: a cloud that asks for a second again and again is believed four times, then asked ever more slowly (found by simulation, seed 62235)", () => {
  const waits = [1, 4, 5, 8, 40].map((n) => retryDelayMs("create", "throttled", n, 1_000, least));
  assertEquals(waits, [1_000, 1_000, 1_000, 8_000, 30_000]);
  assertEquals(retryDelayMs("create", "throttled", 40, 90_000, least), 90_000);
});

Deno.test("Back-off: every wait is finite, positive and bounded, whatever failed how often", () => {
  const classes: StepErrorClass[] = [
    "absent",
    "throttled",
    "busy",
    "exists",
    "unauthorised",
    "retryable",
    "unknown",
    "rejected",
    "taken",
    "conflict",
    "kubernetes",
    "bug",
  ];
  fc.assert(fc.property(
    fc.constantFrom(...EFFECTS),
    fc.constantFrom(...classes),
    fc.integer({ min: 1, max: 1e9 }),
    fc.option(fc.double({ noNaN: true }), { nil: undefined }),
    fc.nat(),
    (effect, errorClass, attempt, retryAfter, seed) => {
      const ms = retryDelayMs(effect, errorClass, attempt, retryAfter, seededRandom(seed));
      assert(Number.isFinite(ms) && ms >= 0 && ms <= 660_000, `${ms}`);
      if (retryAfter === undefined) assert(ms > 0);
    },
  ));
});

Deno.test("A step's error keeps what was learned, its code and its cause", () => {
  const cause = new Error("below");
  const error = new StepError("busy", "not now", { code: "InvalidState", learned: { gone: true }, cause });
  assertEquals([error.errorClass, error.code, error.learned.gone, error.cause], [
    "busy",
    "InvalidState",
    true,
    cause,
  ]);
  assertEquals(new StepError("bug", "plain").learned, {});
});
