/**
 * Values made from a structural schema by fast-check: right ones, those at the limits, and wrong ones.
 *
 * @module
 */
import * as fc from "fast-check";

/** The part of a structural schema that is read here. */
export interface Schema {
  readonly type: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

/** Texts that break what does not escape: markup, control characters, quotes, templates, other directions, unpaired halves. */
export const HOSTILE: readonly string[] = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "&amp;&#60;",
  "a\nb",
  "a\r\nSet-Cookie: b=c",
  "\u0000",
  "\u001b[2J\u001b[31mred",
  "\u007f\u0085\u009b31m",
  "\u2028\u2029",
  "\u202egnp.exe",
  "\ufeff",
  "\u{1f4be}é\u0301漢字",
  "../../../etc/passwd",
  "%2e%2e%2f",
  "${jndi:ldap://x}{{7*7}}",
  "'; DROP TABLE databases; --",
  "__proto__",
  "constructor",
  "postgres://user:hunter2@host/db",
  " ",
  "",
];

/** Any text: hostile, random, or long. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary-ascii", maxLength: 12 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 5_000 }).map((n) => "x".repeat(n)) },
);

/** Any JSON value, nested up to `depth`. */
export function anyJson(depth = 3): fc.Arbitrary<unknown> {
  const leaf = fc.oneof(
    anyText,
    fc.integer(),
    fc.constantFrom(0, -1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e21),
    fc.boolean(),
    fc.constant(null),
  );
  if (depth === 0) return leaf;
  const inner = anyJson(depth - 1);
  const key = fc.constantFrom("a", "b", "engine", "__proto__", "x-y", "<b>");
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(inner, { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.dictionary(key, inner, { maxKeys: 3 }) },
  );
}

/** A value that the schema takes; rules beyond the schema (CEL) may refuse it. */
export function rightValue(schema: Schema): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case "boolean":
      return fc.boolean();
    case "integer": {
      const { minimum: min = -(2 ** 31), maximum: max = 2 ** 31 - 1 } = schema;
      return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max));
    }
    case "array":
      return fc.array(rightValue(schema.items!), { maxLength: Math.min(3, schema.maxItems ?? 3) });
    case "object":
      return fc.record(
        mapValues(schema.properties ?? {}, rightValue),
        { requiredKeys: [...schema.required ?? []] },
      );
    default:
      return rightText(schema);
  }
}

function rightText(schema: Schema): fc.Arbitrary<string> {
  const { minLength: min = 0, maxLength: max = 4_096 } = schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.format === "date-time") {
    return fc.constantFrom("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+02:00");
  }
  if (schema.pattern !== undefined) {
    const fits = (text: string) => text.length >= min && text.length <= max;
    const pattern = new RegExp(schema.pattern);
    return fc.oneof(
      fc.stringMatching(pattern).filter(fits),
      fc.constantFrom("a".repeat(Math.max(1, min)), "a".repeat(max)),
    );
  }
  return fc.oneof(
    anyText.filter((text) => [...text].length >= min && [...text].length <= max),
    fc.constant("x".repeat(Math.min(max, 2_000))),
  );
}

/** A value that the schema may refuse: another type, beyond a limit, null. */
export function wrongValue(schema: Schema): fc.Arbitrary<unknown> {
  const { minimum, maximum, minLength, maxLength } = schema;
  const limits: unknown[] = [null, "", 0, -1, 0.5, [], {}, true, "true", "20", 2 ** 31, 2 ** 53, 1e21];
  if (minimum !== undefined) limits.push(minimum - 1);
  if (maximum !== undefined) limits.push(maximum + 1, maximum + 0.5);
  if (minLength !== undefined && minLength > 0) limits.push("x".repeat(minLength - 1));
  if (maxLength !== undefined && maxLength < 5_000) {
    limits.push("x".repeat(maxLength + 1), "é".repeat(maxLength));
  }
  return fc.oneof(fc.constantFrom(...limits), anyText, anyJson(2));
}

/** An object of the schema with right and wrong fields, fields left out, and fields that nobody knows. */
export function mixedObject(schema: Schema, wrong = 1): fc.Arbitrary<Record<string, unknown>> {
  const field = (s: Schema): fc.Arbitrary<unknown> => {
    const mixed = s.type === "object" ? mixedObject(s, wrong) : rightValue(s);
    return fc.oneof({ weight: 9, arbitrary: mixed }, { weight: wrong, arbitrary: wrongValue(s) });
  };
  const required = schema.required ?? [];
  const known = fc.record(mapValues(schema.properties ?? {}, field), { requiredKeys: [...required] });
  const dropped = fc.oneof({ weight: 19, arbitrary: fc.constant(undefined) }, {
    weight: wrong,
    arbitrary: fc.constantFrom(undefined, ...required),
  });
  const unknown = fc.oneof({ weight: 14, arbitrary: fc.constant({}) }, {
    weight: wrong,
    arbitrary: fc.dictionary(fc.constantFrom("colour", "Engine", "size_gb", "<b>"), anyJson(4), {
      maxKeys: 2,
    }),
  });
  return fc.tuple(known, dropped, unknown).map(([fields, drop, more]) => {
    const all: Record<string, unknown> = { ...(fields as Record<string, unknown>), ...more };
    if (drop !== undefined) delete all[drop];
    return all;
  });
}

function mapValues<A, B>(from: Readonly<Record<string, A>>, make: (a: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, make(value)]));
}
