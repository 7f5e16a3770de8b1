import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { validateSpec } from "../../src/api/validate.ts";

const seed = { engine: "postgres", version: "14.2", sizeGb: 20 };

Deno.test("The original design's three fields are a whole spec", () => {
  assertEquals(validateSpec(seed), { ok: true, spec: seed });
});

Deno.test("A field that the schema does not know is dropped, not refused", () => {
  assertEquals(validateSpec({ ...seed, colour: "red" }), { ok: true, spec: seed });
});

for (
  const [value, message] of [
    [undefined, "spec is missing"],
    [null, "spec is null: expected object, received null"],
    [{ ...seed, engine: undefined }, "spec.engine is missing"],
    [{ ...seed, sizeGb: "20" }, 'spec.sizeGb is "20": expected number, received string'],
    [{ ...seed, sizeGb: 0 }, "spec.sizeGb is 0: Too small: expected number to be >=1"],
    [{ ...seed, sizeGb: 1.5 }, "spec.sizeGb is 1.5: expected int, received number"],
    [{ ...seed, engine: "" }, 'spec.engine is "": Too small: expected string to have >=1 characters'],
    [
      { ...seed, deletionPolicy: "Keep" },
      'spec.deletionPolicy is "Keep": expected one of "Delete"|"Retain"|"Snapshot"',
    ],
    [
      { ...seed, managementPolicy: "ObserveOnly" },
      "spec.providerId is missing, and managementPolicy ObserveOnly needs it",
    ],
    [
      { ...seed, managementPolicy: "Look", providerId: "db-1" },
      'spec.managementPolicy is "Look": expected one of "Full"|"ObserveOnly"',
    ],
    [
      { ...seed, pollInterval: "90d" },
      'spec.pollInterval is "90d": must be a duration from 10s to 24h, such as 30s, 5m or 1h30m',
    ],
  ] as const
) {
  Deno.test(`H2: a stored spec at fault is reported in one line: ${message}`, () => {
    assertEquals(validateSpec(value), { ok: false, message });
  });
}

for (
  const [pollInterval, ok] of [["10s", true], ["9s", false], ["24h", true], ["24h1s", false], ["1h30m", true]]
) {
  Deno.test(`H2: a poll interval of ${pollInterval} is ${ok ? "taken" : "refused"}`, () => {
    assertEquals(validateSpec({ ...seed, pollInterval }).ok, ok);
  });
}

Deno.test("Whatever is stored, the answer is a usable spec or one short line", () => {
  fc.assert(fc.property(fc.oneof(fc.anything(), fc.record({ ...seedArbitraries() })), (value) => {
    const result = validateSpec(value);
    if (result.ok) return typeof result.spec.engine === "string" && Number.isInteger(result.spec.sizeGb);
    return result.message.startsWith("spec") && !result.message.includes("\n") && result.message.length < 400;
  }));
});

function seedArbitraries() {
  return {
    engine: fc.oneof(fc.constant("postgres"), fc.anything()),
    version: fc.oneof(fc.constant("14.2"), fc.anything()),
    sizeGb: fc.oneof(fc.integer(), fc.anything()),
    pollInterval: fc.oneof(fc.constant("5m"), fc.constant(undefined), fc.string(), fc.anything()),
  };
}
