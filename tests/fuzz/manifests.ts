/**
 * Whole ExternalDatabases made by fast-check from the CRD's own schema.
 *
 * @module
 */
import * as fc from "fast-check";
import { ANNOTATION, API_VERSION, KIND } from "../../src/api/constants.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { anyJson, anyText, HOSTILE, mixedObject, rightValue, type Schema } from "./values.ts";

// deno-lint-ignore no-explicit-any
const root = (customResourceDefinition() as any).spec.versions[0].schema.openAPIV3Schema as Schema;
/** Schema of `spec`. */
export const SPEC: Schema = root.properties!["spec"]!;
/** Schema of `status`. */
export const STATUS: Schema = root.properties!["status"]!;

const ANNOTATIONS_LIMIT = 262_144;

/** A duration: right, at the limits, and wrong. */
const duration = fc.oneof(
  fc.constantFrom(
    "10s",
    "9s",
    "24h",
    "24h1s",
    "1h30m",
    "86400s",
    "86401s",
    "99999h",
    "0s",
    "500ms",
    "1.5h",
    "-10s",
  ),
  fc.constantFrom("", "10", "s", "10s ", "١٠s", "100000s", "10s".repeat(10), "00010s", "5m5m5m"),
);

/** A spec that the API server takes: every optional field set or not. */
export const rightSpec: fc.Arbitrary<Record<string, unknown>> = fc.tuple(
  rightValue(SPEC) as fc.Arbitrary<Record<string, unknown>>,
  fc.option(fc.constantFrom("10s", "24h", "1h30m", "86400s", "5m"), { nil: undefined }),
  fc.integer({ min: 0, max: 7 }),
).map(([spec, pollInterval, chance]) => {
  const { pollInterval: _, className, ...others } = spec;
  // A class that is not there keeps all else from being looked at: few name one.
  const rest = className === undefined || chance > 0 ? others : { ...others, className };
  return pollInterval === undefined ? rest : { ...rest, pollInterval };
});

/** A spec that may be wrong. */
export const mixedSpec: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: rightSpec },
  {
    weight: 6,
    arbitrary: fc.tuple(mixedObject(SPEC), fc.option(duration, { nil: undefined })).map((
      [spec, pollInterval],
    ) => pollInterval === undefined ? spec : { ...spec, pollInterval }),
  },
  { weight: 1, arbitrary: anyJson(2) },
);

const name = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...[
        "a".repeat(63),
        "a".repeat(64),
        "a".repeat(253),
        "a".repeat(254),
        "a.b",
        "a..b",
        "-a",
        "a-",
        "A",
        "0",
        "a_b",
      ],
      ...["ａ", "é", "a/b", "a%2fb", "..", "."],
    ),
  },
  { weight: 1, arbitrary: anyText },
);

const annotations = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.dictionary(
      fc.constantFrom(ANNOTATION.reconcile, ANNOTATION.adoptFrom, "example.com/note", "note"),
      anyText,
      { maxKeys: 3 },
    ),
  },
  { weight: 1, arbitrary: fc.dictionary(anyText, anyText, { maxKeys: 2 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(-1, 0, 1).map((over) => ({ note: "x".repeat(ANNOTATIONS_LIMIT - 4 + over) })),
  },
  { weight: 1, arbitrary: fc.constantFrom(null, [], "text", { a: 1 }, { a: null }) },
);

const labels = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.dictionary(
      fc.constantFrom("app", "example.com/a"),
      fc.constantFrom("", "x", "a".repeat(63)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.oneof(anyText, fc.constantFrom("a/b/c", "/a", "a/", "A_b")), anyText, {
      maxKeys: 2,
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom(null, "text", { a: 1 }, { a: "a".repeat(64) }) },
);

const finalizers = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["example.com/keep"]) },
  { weight: 1, arbitrary: fc.constantFrom([], null, ["nodomain"], ["a/b/c"], [""], "x", [1]) },
);

/** The metadata of a manifest; most of it is left out most of the time. */
export const metadata: fc.Arbitrary<Record<string, unknown>> = fc.tuple(
  name,
  fc.option(annotations, { freq: 1, nil: undefined }),
  fc.option(labels, { freq: 1, nil: undefined }),
  fc.option(finalizers, { freq: 1, nil: undefined }),
  fc.integer({ min: 0, max: 19 }),
).map(([name, annotations, labels, finalizers, rare]) => ({
  name,
  ...(annotations === undefined ? {} : { annotations }),
  ...(labels === undefined ? {} : { labels }),
  ...(finalizers === undefined ? {} : { finalizers }),
  ...(RARE[rare] ?? {}),
}));

/** What users should not set and do. */
const RARE: readonly Record<string, unknown>[] = [
  { uid: "11111111-2222-3333-4444-555555555555" },
  { resourceVersion: "1" },
  { generation: 7 },
  { deletionTimestamp: "2026-01-02T03:04:05Z" },
  { creationTimestamp: "yesterday" },
  { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "" }] },
  { colour: "red" },
  { managedFields: [{ manager: "x", operation: "Update" }] },
];

/** A manifest; some are wrong in one place, some in many. */
export const manifest: fc.Arbitrary<Record<string, unknown>> = fc.tuple(
  metadata,
  mixedSpec,
  fc.option(mixedObject(STATUS), { freq: 1, nil: undefined }),
  fc.integer({ min: 0, max: 29 }),
).map(([metadata, spec, status, odd]) => {
  const object: Record<string, unknown> = { apiVersion: API_VERSION, kind: KIND, metadata, spec };
  if (status !== undefined) object["status"] = status;
  if (odd === 0) delete object["spec"];
  // Of another kind and another shape at once is what no client sends, and the double does not know CEL's words for it.
  if (odd === 1 && typeof spec === "object" && !Array.isArray(spec)) object["kind"] = "externaldatabase";
  if (odd === 2) object["apiVersion"] = "crd.my.domain/v2";
  if (odd === 3) object["extra"] = { deep: { deeper: [HOSTILE[0]] } };
  if (odd === 4) object["spec"] = null;
  return object;
});

/** A merge patch of the main resource. */
export const mergePatch: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  mixedObject({ ...SPEC, required: [] }).map((spec) => ({ spec })),
  fc.tuple(annotations, labels).map(([annotations, labels]) => ({ metadata: { annotations, labels } })),
  finalizers.map((finalizers) => ({ metadata: { finalizers } })),
  fc.constantFrom({ spec: null }, { spec: { engine: null } }, { metadata: null }, {
    status: { state: "Pending" },
  }, {}),
);

/** A merge patch of the status. */
export const statusPatch: fc.Arbitrary<Record<string, unknown>> = mixedObject({ ...STATUS, required: [] })
  .map((status) => ({ status }));

/** A batch of resources, half of them right. */
export const resources: fc.Arbitrary<Record<string, unknown>[]> = fc.array(
  fc.tuple(manifest, rightSpec, fc.boolean(), fc.uuid()).map(([object, spec, right, name]) =>
    right ? { apiVersion: API_VERSION, kind: KIND, metadata: { name: `r-${name}` }, spec } : object
  ),
  { minLength: 1, maxLength: 60, size: "max" },
);

/** What users change in a batch. */
export const patches: fc.Arbitrary<Record<string, unknown>[]> = fc.array(mergePatch, {
  maxLength: 30,
  size: "max",
});
