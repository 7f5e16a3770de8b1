/**
 * Decoding against a structural schema: unknown fields are dropped and named, nulls that are not allowed are
 * dropped, defaults are filled in.
 *
 * @module
 */
import { isObject, type Json, type JsonObject, type Schema } from "../types.ts";

const NOTHING_KNOWN = {} as Schema;

/** Drops what the schema does not know, in place, and adds the path of each dropped field to `unknown`. */
export function prune(value: Json | undefined, schema: Schema, path: string, unknown: string[]): void {
  if (Array.isArray(value)) {
    if (schema.items === undefined && schema["x-kubernetes-preserve-unknown-fields"] === true) return;
    const items = schema.items ?? NOTHING_KNOWN; // of a list where none is expected
    value.forEach((item, i) => prune(item, items, `${path}[${i}]`, unknown));
    return;
  }
  if (!isObject(value)) return;
  const keep = schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema["x-kubernetes-int-or-string"] === true;
  const extra = isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined;
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  for (const key of Object.keys(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    const property = schema.properties?.[key];
    if (property !== undefined) prune(value[key], property, at, unknown);
    else if (extra !== undefined) prune(value[key], extra, at, unknown);
    else if (schema.additionalProperties === true || keep) continue;
    else if (embedded && (key === "apiVersion" || key === "kind" || key === "metadata")) continue;
    else {
      delete value[key];
      unknown.push(at);
    }
  }
}

/** Drops nulls of object members that are not nullable, in place, as the server does before it defaults. */
export function dropNulls(value: Json | undefined, schema: Schema): void {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items !== undefined) value.forEach((item) => dropNulls(item, items));
    return;
  }
  if (!isObject(value)) return;
  const extra = isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined;
  for (const key of Object.keys(value)) {
    const property = schema.properties?.[key] ?? extra;
    if (property === undefined) continue;
    if (value[key] === null && property.nullable !== true) delete value[key];
    else dropNulls(value[key], property);
  }
}

/** Fills in defaults, in place. */
export function applyDefaults(value: Json | undefined, schema: Schema): void {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items !== undefined) value.forEach((item) => applyDefaults(item, items));
    return;
  }
  if (!isObject(value)) return;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (value[key] === undefined && property.default !== undefined) {
      value[key] = structuredClone(property.default);
    }
    if (value[key] !== undefined) applyDefaults(value[key], property);
  }
  if (isObject(schema.additionalProperties)) {
    for (const key of Object.keys(value)) {
      if (schema.properties?.[key] === undefined) {
        applyDefaults(value[key], schema.additionalProperties as Schema);
      }
    }
  }
}

/** Go's word for a JSON value's type, as its JSON decoder names it. */
function goType(value: Json): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return typeof value === "boolean" ? "bool" : typeof value;
}

const GO_NAME: Readonly<Record<string, string>> = {
  string: "string",
  boolean: "bool",
  integer: "int32",
  object: "map[string]interface {}",
  array: "[]interface {}",
};

/**
 * What Go's decoder says of the first member that does not fit its struct, or `undefined`. `struct` is the name of
 * the Go type; built-in kinds and every object's metadata are decoded this way.
 */
export function goMismatch(
  value: Json | undefined,
  schema: Schema,
  struct: string,
  field = "",
): string | undefined {
  if (value === undefined || value === null) return undefined;
  const wanted = schema.type;
  const fits = wanted === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true ||
    (wanted === "integer"
      ? Number.isInteger(value)
      : wanted === "number"
      ? typeof value === "number"
      : goType(value) === goWord(wanted));
  if (!fits) {
    const name = GO_NAME[wanted] ?? wanted;
    return `json: cannot unmarshal ${goType(value)} into Go struct field ${struct}.${field} of type ${name}`;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      const error = schema.items && goMismatch(item, schema.items, struct, field);
      if (error !== undefined) return error;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const property = schema.properties?.[key];
    const extra = isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined;
    const at = property === undefined ? field : field === "" ? key : `${field}.${key}`;
    const error = property !== undefined
      ? goMismatch(item, property, struct, at)
      : extra && goMismatch(item, extra, struct, at);
    if (error !== undefined) return error;
  }
  return undefined;
}

function goWord(type: string): string {
  return type === "boolean" ? "bool" : type;
}

/** The schema of `metadata`. */
export const META_SCHEMA: Schema = {
  type: "object",
  properties: {
    name: { type: "string" },
    generateName: { type: "string" },
    namespace: { type: "string" },
    selfLink: { type: "string" },
    uid: { type: "string" },
    resourceVersion: { type: "string" },
    generation: { type: "integer" },
    creationTimestamp: { type: "string" },
    deletionTimestamp: { type: "string" },
    deletionGracePeriodSeconds: { type: "integer" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
    finalizers: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    ownerReferences: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      items: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        properties: {
          apiVersion: { type: "string" },
          kind: { type: "string" },
          name: { type: "string" },
          uid: { type: "string" },
          controller: { type: "boolean" },
          blockOwnerDeletion: { type: "boolean" },
        },
      },
    },
    managedFields: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  },
};

/** The schema of a whole object: the kind's own with `apiVersion`, `kind` and `metadata`. */
export function wholeSchema(own: Schema): Schema {
  return {
    ...own,
    type: "object",
    properties: {
      ...own.properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: META_SCHEMA,
    },
  };
}

/** Sets a member whatever its name: `__proto__` is a name like any other in JSON. */
export function setMember(object: JsonObject, key: string, value: Json): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** A deep copy; cheaper than `structuredClone` for JSON. */
export function cloneJson<T extends Json | undefined>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => cloneJson(item)) as T;
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (value[key] !== undefined) setMember(copy, key, cloneJson(value[key]));
  }
  return copy as T;
}
