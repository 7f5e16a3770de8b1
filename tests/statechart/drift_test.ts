import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Change, describeChange, driftOf, isEmpty, quote } from "../../src/statechart/drift.ts";
import type { ExternalState } from "../../src/statechart/knowledge.ts";
import { cr, db } from "./support.ts";

const { spec } = cr();
const drift = (wanted: Partial<typeof spec>, found: Partial<ExternalState>) =>
  driftOf({ ...spec, ...wanted }, db(found));

const TABLE: readonly (readonly [
  words: string,
  wanted: Partial<typeof spec>,
  found: Partial<ExternalState>,
  Change,
  { pending?: boolean; engine?: boolean; irreparable?: number }?,
])[] = [
  ["nothing differs", {}, {}, {}],
  ["a larger size is wanted", { sizeGb: 50 }, {}, { sizeGb: 50 }],
  ["R2: the disk grew by itself", {}, { sizeGb: 35 }, {}],
  ["R2: it grew, and more is wanted", { sizeGb: 50 }, { sizeGb: 35 }, { sizeGb: 50 }],
  ["R2: it grew, and a version is wanted", { version: "15" }, { sizeGb: 35 }, { version: "15" }],
  ["both differ", { sizeGb: 50, version: "15" }, {}, { sizeGb: 50, version: "15" }],
  ["R3: a newer minor", {}, { version: "14.7" }, {}],
  ["R3: a newer major is never lowered", {}, { version: "16.1" }, {}, { irreparable: 1 }],
  ["R4: the size is pending", { sizeGb: 50 }, { pending: { sizeGb: 50 } }, {}, { pending: true }],
  ["R4: a larger size is pending", { sizeGb: 50 }, { pending: { sizeGb: 60 } }, {}, { pending: true }],
  ["R4: a smaller size is pending", { sizeGb: 50 }, { pending: { sizeGb: 40 } }, { sizeGb: 50 }],
  ["R4: the version is pending", { version: "15" }, { pending: { version: "15.2" } }, {}, { pending: true }],
  ["R4: another version is pending", { version: "15" }, { pending: { version: "14.9" } }, { version: "15" }],
  [
    "R4: one is pending, one is not",
    { version: "15", sizeGb: 50 },
    { pending: { version: "15" } },
    { sizeGb: 50 },
    { pending: true },
  ],
  ["R4: what is pending and not wanted is no matter", {}, { pending: { sizeGb: 99, version: "19" } }, {}],
  ["R5: the engine differs", {}, { engine: "mysql" }, {}, { engine: true, irreparable: 1 }],
  [
    "R5: the engine and the size",
    { sizeGb: 50 },
    { engine: "mysql" },
    { sizeGb: 50 },
    { engine: true, irreparable: 1 },
  ],
  ["R6: case and space", { engine: "Postgres" }, { engine: " POSTGRES " }, {}],
  ["R6: a version that is not a number is asked for", { version: "14-lts" }, {}, { version: "14-lts" }],
];

for (const [words, wanted, found, change, more = {}] of TABLE) {
  Deno.test(`drift: ${words}`, () => {
    const d = drift(wanted, found);
    assertEquals(d.change, change);
    assertEquals(d.pending, more.pending ?? false);
    assertEquals(d.engine, more.engine ?? false);
    assertEquals(d.irreparable.length, more.irreparable ?? 0);
    assertEquals(isEmpty(d.change), Object.keys(change).length === 0);
  });
}

Deno.test("drift: a change never shrinks a disk and never lowers a version, whatever is found", () => {
  const version = fc.tuple(fc.nat({ max: 20 }), fc.nat({ max: 20 })).map(([a, b]) => `${a}.${b}`);
  fc.assert(fc.property(
    version,
    version,
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 100 }),
    fc.option(fc.record({ sizeGb: fc.integer({ min: 1, max: 100 }) }), { nil: undefined }),
    (wanted, observed, want, have, pending) => {
      const d = drift({ version: wanted, sizeGb: want }, { version: observed, sizeGb: have, pending });
      if (d.change.sizeGb !== undefined) assert(d.change.sizeGb > have);
      if (d.change.version !== undefined) {
        const [a = 0, b = 0] = wanted.split(".").map(Number);
        const [x = 0, y = 0] = observed.split(".").map(Number);
        assert(a > x || (a === x && b > y), `${observed} → ${wanted}`);
      }
    },
  ));
});

Deno.test("drift: what was sent and took effect leaves nothing to send", () => {
  fc.assert(fc.property(
    fc.constantFrom("14", "14.2", "15.1", "16"),
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 100 }),
    (version, want, have) => {
      const found = db({ sizeGb: have });
      const { change } = driftOf({ ...spec, version, sizeGb: want }, found);
      const after = driftOf({ ...spec, version, sizeGb: want }, { ...found, ...change });
      assertEquals(after.change, {});
    },
  ));
});

Deno.test("drift: changes and values are told in words, cut where they are long", () => {
  assertEquals(
    describeChange({ sizeGb: 50, version: "15" }, db()),
    "sizeGb 20 → 50, version 14.2 → 15",
  );
  assertEquals(describeChange({}, db()), "");
  assertEquals(quote('a"b'), '"a\\"b"');
  assert(quote("x".repeat(200)).length < 90);
});
