import { assert, assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import { classResourceDefinition, customResourceDefinition, structuralSchema } from "../../src/api/crd.ts";
import { RULES, SPEC_RULES } from "../../src/api/rules.ts";
import { CRD_FILES } from "../../tools/crds.ts";

Deno.test("The CRDs in crds/ and in the Helm chart are those that the schemas make", async () => {
  for (const { file, yaml } of CRD_FILES) {
    assertEquals(await Deno.readTextFile(file), yaml(), 'run "deno task crds"');
  }
});

for (
  const [what, schema, message] of [
    ["a union", z.object({ a: z.union([z.string(), z.number()]) }), '".a" has no single type'],
    [
      "a strict object",
      z.object({ a: z.strictObject({ b: z.string() }) }),
      '".a" uses "additionalProperties"',
    ],
    ["a loose object", z.object({ a: z.looseObject({ b: z.string() }) }), '".a" uses "additionalProperties"'],
    ["an untyped value", z.object({ a: z.any() }), '".a" has no single type'],
    ["an untyped list entry", z.object({ a: z.array(z.unknown()) }), '".a[]" has no single type'],
    ["two patterns", z.object({ a: z.string().regex(/a/).regex(/b/) }), '".a" uses "allOf"'],
    ["a lookahead", z.object({ a: z.string().regex(/^(?!x)/) }), '".a" has the pattern ^(?!x)'],
    ["a back reference", z.object({ a: z.string().regex(/(a)\1/) }), '".a" has the pattern (a)\\1'],
    ["a read-only field", z.object({ a: z.string().readonly() }), '".a" uses "readOnly"'],
    ["an example", z.object({ a: z.string().meta({ examples: ["x"] }) }), '".a" uses "examples"'],
    ["a deprecated field", z.object({ a: z.string().meta({ deprecated: true }) }), '".a" uses "deprecated"'],
    ["an id", z.object({ a: z.string().meta({ id: "shared" }) }), '".a" has no single type'],
    ["a tuple", z.object({ a: z.tuple([z.string()]) }), ".a"],
  ] as const
) {
  Deno.test(`The generator refuses ${what}, which an API server would refuse`, () => {
    assertThrows(() => structuralSchema(schema), Error, message);
  });
}

Deno.test("The generator drops bounds that every integer keeps, and keeps the others", () => {
  assertEquals(structuralSchema(z.object({ a: z.int(), b: z.int32(), c: z.int32().min(1).max(9) })), {
    type: "object",
    properties: {
      a: { type: "integer" },
      b: { type: "integer", format: "int32" },
      c: { type: "integer", minimum: 1, maximum: 9 },
    },
    required: ["a", "b", "c"],
  });
});

Deno.test("A map of strings passes, and what is Kubernetes' own passes through", () => {
  assertEquals(
    structuralSchema(
      z.object({ m: z.record(z.string(), z.string()).meta({ "x-kubernetes-map-type": "atomic" }) }),
    ),
    {
      type: "object",
      properties: {
        m: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
      },
      required: ["m"],
    },
  );
});

Deno.test("Every rule names its field in the message and at its path", () => {
  for (const rule of [...RULES, ...SPEC_RULES.map((r) => ({ ...r, fieldPath: `.spec${r.fieldPath}` }))]) {
    assertEquals(rule.message.startsWith(rule.fieldPath.slice(1)), true, rule.message);
    const expression = rule.messageExpression ?? `'${rule.message}'`;
    assertEquals(expression.startsWith(`'${rule.fieldPath.slice(1)} `), true, expression);
  }
});

Deno.test("every field of both kinds is described in a sentence, so that kubectl explain has something to say of each", () => {
  interface Schema {
    readonly description?: string;
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
    readonly additionalProperties?: Schema | boolean;
  }
  const wrong: string[] = [];
  let fields = 0;
  const look = (path: string, schema: Schema) => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const at = `${path}.${name}`;
      if (/^\w+\.(apiVersion|kind|metadata)$/.test(at)) continue; // described by the API server
      fields++;
      if (!/^[A-Zh].{8,}[.]$/s.test(field.description ?? "")) wrong.push(`${at}: ${field.description}`);
      look(at, field);
      if (field.items !== undefined) look(at, field.items);
      if (typeof field.additionalProperties === "object") look(at, field.additionalProperties);
    }
  };
  for (const crd of [customResourceDefinition(), classResourceDefinition()]) {
    const { names, versions } = crd.spec as {
      readonly names: { readonly kind: string };
      readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
    };
    for (const { schema } of versions) look(names.kind, schema.openAPIV3Schema);
  }
  assert(fields > 50, `${fields} fields`);
  assertEquals(wrong, []);
});
