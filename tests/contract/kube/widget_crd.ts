/**
 * A custom resource that uses all that the API server checks: the contract's own, so that it says nothing of the
 * operator's.
 *
 * @module
 */

/** A CRD as plain JSON. */
// deno-lint-ignore no-explicit-any -- a manifest that tests change at any depth
export type Manifest = any;

/** Version `v1` of `widgets` in a group. */
export function widgetCrd(group: string): Manifest {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets", shortNames: ["wd"], categories: ["things"] },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        selectableFields: [{ jsonPath: ".spec.color" }],
        additionalPrinterColumns: [
          { name: "Size", type: "integer", jsonPath: ".spec.size" },
          { name: "State", type: "string", jsonPath: ".status.state", description: "Where it is" },
          { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: { openAPIV3Schema: schema() },
      }],
    },
  };
}

function text(extra: Manifest = {}): Manifest {
  return { type: "string", ...extra };
}

function schema(): Manifest {
  return {
    type: "object",
    description: "A widget.",
    required: ["spec"],
    "x-kubernetes-validations": [
      {
        rule: "self.spec.size >= oldSelf.spec.size",
        messageExpression:
          "has(oldSelf.spec.code) ? 'size of ' + oldSelf.spec.code + ' cannot shrink' : 'size cannot shrink'",
        fieldPath: ".spec.size",
        reason: "FieldValueForbidden",
      },
      {
        rule:
          "!has(self.status) || !has(self.status.locked) || !self.status.locked || self.spec.size == oldSelf.spec.size",
        message: "locked",
      },
    ],
    properties: {
      apiVersion: text(),
      kind: text(),
      metadata: { type: "object" },
      spec: {
        type: "object",
        description: "What is wanted.",
        required: ["size"],
        "x-kubernetes-validations": [
          { rule: "!has(self.period) || self.size > 1", message: "a period needs a size above 1" },
        ],
        properties: {
          size: { type: "integer", format: "int32", minimum: 1, maximum: 100, description: "How big." },
          color: text({ enum: ["red", "green", "blue"] }),
          code: text({ minLength: 2, maxLength: 5, pattern: "^[a-z]+$" }),
          period: text({
            maxLength: 32,
            "x-kubernetes-validations": [
              { rule: "duration(self) >= duration('10s')", message: "period must be at least 10s" },
            ],
          }),
          engine: text({
            maxLength: 20,
            "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "engine is immutable" }],
          }),
          replicas: { type: "integer", default: 3 },
          ratio: { type: "number" },
          on: { type: "boolean" },
          port: { "x-kubernetes-int-or-string": true },
          nullable: text({ nullable: true }),
          when: text({ format: "date-time" }),
          mult: { type: "integer", multipleOf: 3 },
          excl: { type: "integer", minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true },
          free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          labels: { type: "object", maxProperties: 3, additionalProperties: { type: "string" } },
          counts: {
            type: "object",
            maxProperties: 3,
            additionalProperties: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 3" }] },
          },
          tags: { type: "array", minItems: 1, maxItems: 3, "x-kubernetes-list-type": "set", items: text() },
          index: {
            type: "array",
            maxItems: 3,
            items: text({ maxLength: 3 }),
            "x-kubernetes-validations": [{ rule: "self[1] == 'b'" }],
          },
          ratioOf: {
            type: "integer",
            "x-kubernetes-validations": [{ rule: "10 / self > 3", message: "divides" }],
          },
          parts: {
            type: "array",
            maxItems: 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            items: {
              type: "object",
              required: ["name"],
              properties: { name: text({ maxLength: 20 }), count: { type: "integer", default: 1 } },
            },
          },
          nested: {
            type: "object",
            default: {},
            properties: { mode: text({ default: "auto" }), opt: text() },
          },
        },
      },
      status: {
        type: "object",
        default: {},
        properties: {
          state: text(),
          providerId: text(),
          locked: { type: "boolean" },
          conditions: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            items: {
              type: "object",
              required: ["type", "status"],
              properties: {
                type: text(),
                status: text({ enum: ["True", "False", "Unknown"] }),
                reason: text(),
              },
            },
          },
        },
      },
    },
  };
}
