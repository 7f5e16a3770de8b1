/**
 * CustomResourceDefinitions: the built-in resource that makes others.
 *
 * @module
 */
import { subdomainErrors } from "../names.ts";
import { type Resource, resourceDefaults } from "../resource.ts";
import { wholeSchema } from "../schema/decode.ts";
import { type FieldError, invalidValue, requiredValue } from "../status.ts";
import {
  isObject,
  type Json,
  jsonEqual,
  type JsonObject,
  type KubeObject,
  member,
  type Schema,
} from "../types.ts";
import { CREATED_COLUMN, NAME_COLUMN } from "./columns.ts";
import { schemaErrors } from "./crd_schema.ts";

/** Group of CustomResourceDefinitions. */
export const CRD_GROUP = "apiextensions.k8s.io";
/** Where they are kept. */
export const CRD_STORAGE = `${CRD_GROUP}/customresourcedefinitions`;
/** The finalizer under which the instances are deleted first. */
export const CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

const TEXT: Schema = { type: "string" };
const TEXTS: Schema = { type: "array", items: TEXT };
const FREE: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const NAMES: Schema = {
  type: "object",
  properties: {
    plural: TEXT,
    singular: TEXT,
    shortNames: TEXTS,
    kind: TEXT,
    listKind: TEXT,
    categories: TEXTS,
  },
};

/** `JSONSchemaProps`: the one schema here that holds itself. */
const PROPS: Schema = { type: "object" };
PROPS.properties = jsonSchemaProps(PROPS);

function jsonSchemaProps(self: Schema): Record<string, Schema> {
  const bool: Schema = { type: "boolean" };
  const number: Schema = { type: "number" };
  const any: Schema = { "x-kubernetes-preserve-unknown-fields": true };
  const rule: Schema = { type: "object", properties: {} };
  for (const key of ["rule", "message", "messageExpression", "reason", "fieldPath"]) {
    rule.properties![key] = TEXT;
  }
  rule.properties!["optionalOldSelf"] = bool;
  const kinds: readonly (readonly [Schema, readonly string[]])[] = [
    [{ type: "object", additionalProperties: self }, ["properties", "patternProperties", "definitions"]],
    [{ type: "array", items: self }, ["allOf", "oneOf", "anyOf"]],
    [self, ["items", "not"]],
    [any, ["additionalProperties", "additionalItems", "default", "example", "externalDocs", "dependencies"]],
    [TEXT, ["id", "$schema", "$ref", "description", "type", "format", "title", "pattern"]],
    [TEXT, ["x-kubernetes-list-type", "x-kubernetes-map-type"]],
    [number, ["maximum", "minimum", "multipleOf"]],
    [{ type: "integer" }, [
      "maxLength",
      "minLength",
      "maxItems",
      "minItems",
      "maxProperties",
      "minProperties",
    ]],
    [bool, ["exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"]],
    [
      bool,
      ["preserve-unknown-fields", "embedded-resource", "int-or-string"].map((key) => `x-kubernetes-${key}`),
    ],
    [TEXTS, ["required", "x-kubernetes-list-map-keys"]],
    [{ type: "array", items: any }, ["enum"]],
    [{ type: "array", items: rule }, ["x-kubernetes-validations"]],
  ];
  return Object.fromEntries(kinds.flatMap(([schema, keys]) => keys.map((key) => [key, schema])));
}

const VERSION: Schema = {
  type: "object",
  properties: {
    name: TEXT,
    served: { type: "boolean" },
    storage: { type: "boolean" },
    deprecated: { type: "boolean" },
    deprecationWarning: TEXT,
    schema: { type: "object", properties: { openAPIV3Schema: PROPS } },
    subresources: { type: "object", properties: { status: FREE, scale: FREE } },
    additionalPrinterColumns: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: TEXT,
          type: TEXT,
          format: TEXT,
          description: TEXT,
          priority: { type: "integer" },
          jsonPath: TEXT,
        }, // deno-fmt-ignore-line
      },
    },
    selectableFields: { type: "array", items: { type: "object", properties: { jsonPath: TEXT } } },
  },
};

/** Fills in the names that may be left out. */
function defaultNames(spec: JsonObject): void {
  const names = spec["names"];
  if (!isObject(names) || typeof names["kind"] !== "string") return;
  names["singular"] ??= names["kind"].toLowerCase();
  names["listKind"] ??= `${names["kind"]}List`;
  spec["conversion"] ??= { strategy: "None" };
}

function validateCrd(next: KubeObject, old: KubeObject | undefined): FieldError[] {
  const spec = isObject(next["spec"]) ? next["spec"] : {};
  const names = isObject(spec["names"]) ? spec["names"] : {};
  const errors: FieldError[] = [];
  if (next.metadata.name !== `${names["plural"] ?? ""}.${spec["group"] ?? ""}`) {
    errors.push(
      invalidValue("metadata.name", next.metadata.name, 'must be spec.names.plural+"."+spec.group'),
    );
  }
  for (const key of ["group", "scope"]) if (!spec[key]) errors.push(requiredValue(`spec.${key}`));
  const versions = (Array.isArray(spec["versions"]) ? spec["versions"] : []).filter(isObject);
  if (versions.filter((version) => version["storage"] === true).length !== 1) {
    errors.push(
      invalidValue(
        "spec.versions",
        spec["versions"] ?? null,
        "must have exactly one version marked as storage version",
      ),
    );
  }
  versions.forEach((version, i) => {
    const path = versions.length === 1
      ? "spec.validation.openAPIV3Schema"
      : `spec.versions[${i}].schema.openAPIV3Schema`;
    const schema = member(version["schema"], "openAPIV3Schema");
    if (!isObject(schema)) errors.push(requiredValue(`spec.versions[${i}].schema.openAPIV3Schema`));
    else errors.push(...schemaErrors(schema as Schema, path));
  });
  for (const key of ["plural", "singular", "kind", "listKind"]) {
    if (!names[key]) errors.push(requiredValue(`spec.names.${key}`));
  }
  if (versions.length === 0) {
    errors.push(invalidValue("status.storedVersions", null, "must have at least one stored version"));
  }
  if (old !== undefined) {
    for (const [path, get] of IMMUTABLE) {
      const value = get(next);
      if (!jsonEqual(value, get(old))) errors.push(invalidValue(path, value ?? "", "field is immutable"));
    }
  }
  return errors;
}

const IMMUTABLE: readonly (readonly [string, (crd: KubeObject) => Json | undefined])[] = [
  ["spec.group", (crd) => member(crd["spec"], "group")],
  ["spec.scope", (crd) => member(crd["spec"], "scope")],
  ["spec.names.kind", (crd) => member(member(crd["spec"], "names"), "kind")],
  ["spec.names.plural", (crd) => member(member(crd["spec"], "names"), "plural")],
];

/** One condition of a CRD. */
export function crdCondition(
  type: string,
  status: string,
  time: string,
  reason: string,
  message: string,
): JsonObject {
  return { type, status, lastTransitionTime: time, reason, message };
}

/** customresourcedefinitions.apiextensions.k8s.io/v1. */
export const customResourceDefinitions: Resource = {
  ...resourceDefaults(CRD_GROUP, "v1", "customresourcedefinitions"),
  singular: "customresourcedefinition",
  kind: "CustomResourceDefinition",
  listKind: "CustomResourceDefinitionList",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  unconditionalUpdate: false,
  returnsDeleted: true,
  skeleton: { spec: {} },
  schema: wholeSchema({
    properties: {
      spec: {
        type: "object",
        properties: {
          group: TEXT,
          names: NAMES,
          scope: TEXT,
          versions: { type: "array", items: VERSION },
          conversion: { type: "object", properties: { strategy: TEXT, webhook: FREE } },
          preserveUnknownFields: { type: "boolean" },
        },
      },
      status: FREE,
    },
  }),
  columns: [
    NAME_COLUMN,
    { name: "Scope", type: "string", description: "Cluster/Namespaced" },
    { name: "Versions", type: "string", description: "Served versions" },
    CREATED_COLUMN,
    { name: "Group", type: "string", description: "API group", priority: 1 },
    { name: "Kind", type: "string", description: "CustomResource kind", priority: 1 },
    { name: "ShortNames", type: "string", description: "Short names", priority: 1 },
    { name: "Established", type: "boolean", description: "Established status", priority: 1 },
  ],
  row(crd) {
    const spec = isObject(crd["spec"]) ? crd["spec"] : {};
    const versions = (Array.isArray(spec["versions"]) ? spec["versions"] : []).filter(isObject);
    const conditions = member(crd["status"], "conditions");
    const short = member(spec["names"], "shortNames");
    return [
      crd.metadata.name,
      spec["scope"] ?? "",
      versions.filter((version) => version["served"] === true || version["storage"] === true)
        .map((version) => `${version["name"]}${version["storage"] === true ? "(storage)" : ""}`).join(","),
      crd.metadata.creationTimestamp,
      spec["group"] ?? "",
      member(spec["names"], "kind") ?? "",
      Array.isArray(short) ? short.join(",") : "",
      Array.isArray(conditions) &&
      conditions.some((item) => member(item, "type") === "Established" && member(item, "status") === "True"),
    ];
  },
  selectableFields: ["metadata.name"],
  fieldsOf: (crd) => ({ "metadata.name": crd.metadata.name }),
  nameErrors: subdomainErrors,
  prepare(next, old, { now }) {
    const spec = next["spec"];
    if (isObject(spec)) defaultNames(spec);
    if (old !== undefined) return;
    const names = isObject(spec) && isObject(spec["names"]) ? spec["names"] : {};
    const versions = isObject(spec) && Array.isArray(spec["versions"]) ? spec["versions"] : [];
    next["status"] = {
      conditions: [
        crdCondition("NamesAccepted", "True", now, "NoConflicts", "no conflicts found"),
        crdCondition(
          "Established",
          "True",
          now,
          "InitialNamesAccepted",
          "the initial names have been accepted",
        ),
      ],
      acceptedNames: names,
      storedVersions: versions.filter((version) => member(version, "storage") === true).map((version) =>
        member(version, "name") ?? ""
      ),
    };
  },
  validate: validateCrd,
};
