/**
 * Validation of custom resources against their structural schema, in the server's words, with ratcheting: what was
 * already wrong and did not change is let through.
 *
 * @module
 */
import { type FieldError, invalidValue, requiredValue, tooLong, unsupportedValue } from "../status.ts";
import { isObject, type Json, jsonEqual, type JsonObject, type Schema } from "../types.ts";
import { formatFits } from "./formats.ts";

/** Where a rule or a value sits; the root is `<nil>` in messages. */
export function at(path: string): string {
  return path === "" ? "<nil>" : path;
}

/** Field errors that make the server skip the CEL rules. */
const BLOCKING = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** Whether CEL rules are skipped because of these errors. */
export function blocks(errors: readonly FieldError[]): boolean {
  return errors.some((error) => BLOCKING.has(error.type));
}

/** What the server adds when it skipped the rules. */
export const RULES_SKIPPED: FieldError = {
  type: "FieldValueInvalid",
  field: "<nil>",
  message:
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
};

/** Errors of a value; `old` is the value it replaces, where that is known. */
export function validate(value: Json, schema: Schema, path: string, old?: Json): FieldError[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  const errors: FieldError[] = [];
  if (value === null && schema.nullable === true) return errors;
  checkType(value, schema, path, errors);
  if (schema.enum !== undefined && !schema.enum.some((item) => jsonEqual(item, value))) {
    errors.push(unsupportedValue(at(path), value, schema.enum));
  }
  if (typeof value === "string") checkString(value, schema, path, errors);
  else if (typeof value === "number") checkNumber(value, schema, path, errors);
  else if (Array.isArray(value)) checkArray(value, schema, path, errors, old);
  else if (isObject(value)) checkObject(value, schema, path, errors, isObject(old) ? old : undefined);
  return errors;
}

/** Whether Go's decoder makes an int64 of a number: beyond its range it is a float, whatever its fraction. */
function isGoInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

function jsonType(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return isGoInteger(value) ? "integer" : "number";
  return typeof value;
}

function typeInvalid(path: string, wanted: string, found: string | Json): FieldError {
  const shown = JSON.stringify(found);
  return {
    type: "FieldValueTypeInvalid",
    field: at(path),
    message: `Invalid value: ${shown}: ${path} in body must be of type ${wanted}: ${shown}`,
  };
}

function checkType(value: Json, schema: Schema, path: string, errors: FieldError[]): void {
  const found = jsonType(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (found !== "integer" && found !== "string") errors.push(typeInvalid(path, "integer,string", found));
    return;
  }
  if (schema.type === undefined) return;
  if (schema.type === found || (schema.type === "number" && found === "integer")) return;
  // The server takes a list for a text that has a format: in Go it may be bytes.
  if (schema.format !== undefined && found === "array" && !["number", "integer"].includes(schema.type)) {
    return;
  }
  if (schema.type === "integer" && found === "number") {
    const format = schema.format;
    errors.push(typeInvalid(path, format ?? "integer", format === undefined ? "number" : "float64"));
    errors.push(notOfFormat(schema, path));
    return;
  }
  errors.push(typeInvalid(path, schema.type, found));
}

function notOfFormat(schema: Schema, path: string): FieldError {
  const form = schema.format === undefined ? "(default format)" : `with format ${schema.format}`;
  return {
    type: "FieldValueInvalid",
    field: "<nil>",
    message: `Invalid value: "": Checked value must be of type ${schema.type} ${form} in ${path}`,
  };
}

function checkString(value: string, schema: Schema, path: string, errors: FieldError[]): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    errors.push(tooLong(at(path), schema.maxLength));
  } else if (schema.minLength !== undefined && length < schema.minLength) {
    errors.push(
      invalidValue(at(path), value, `${path} in body should be at least ${schema.minLength} chars long`),
    );
  } else if (schema.pattern !== undefined && !compiled(schema.pattern).test(value)) {
    errors.push(invalidValue(at(path), value, `${path} in body should match '${schema.pattern}'`));
  }
  if (schema.type === "string" && schema.format !== undefined && !formatFits(schema.format, value)) {
    errors.push(typeInvalid(path, schema.format, value));
  }
}

const patterns = new Map<string, RegExp>();

/** A pattern of the schema, compiled once; throws where JavaScript cannot read it in either of its syntaxes. */
export function compiled(pattern: string): RegExp {
  let regExp = patterns.get(pattern);
  if (regExp === undefined) {
    try {
      regExp = new RegExp(pattern, "u");
    } catch {
      regExp = new RegExp(pattern); // RE2 allows escapes that the stricter syntax refuses
    }
    patterns.set(pattern, regExp);
  }
  return regExp;
}

function checkNumber(value: number, schema: Schema, path: string, errors: FieldError[]): void {
  if (
    isGoInteger(value) && schema.format === "int32" && Math.abs(value) > 2 ** 31 - 1 &&
    value !== -(2 ** 31)
  ) {
    errors.push(notOfFormat(schema, path));
  }
  const { maximum, minimum, multipleOf } = schema;
  const not = (detail: string) =>
    errors.push(invalidValue(at(path), value, `${path} in body should be ${detail}`));
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true ? value >= maximum : value > maximum) {
      not(`less than ${schema.exclusiveMaximum === true ? "" : "or equal to "}${maximum}`);
    }
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true ? value <= minimum : value < minimum) {
      not(`greater than ${schema.exclusiveMinimum === true ? "" : "or equal to "}${minimum}`);
    }
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) not(`a multiple of ${multipleOf}`);
}

function tooMany(path: string, found: number, max: number): FieldError {
  return {
    type: "FieldValueTooMany",
    field: at(path),
    message: `Too many: ${found}: must have at most ${max} items`,
  };
}

function checkArray(
  value: Json[],
  schema: Schema,
  path: string,
  errors: FieldError[],
  old: Json | undefined,
): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    errors.push(tooMany(path, value.length, schema.maxItems));
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    errors.push(
      invalidValue(at(path), value.length, `${path} in body should have at least ${schema.minItems} items`),
    );
  }
  const items = schema.items;
  if (items === undefined) return;
  value.forEach((item, i) =>
    errors.push(...validate(item, items, `${path}[${i}]`, oldItem(item, schema, old)))
  );
}

/** The old item that a new one replaces: by its keys in a list of type map, unknown in any other list. */
export function oldItem(item: Json, schema: Schema, old: Json | undefined): Json | undefined {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (!Array.isArray(old) || keys === undefined || !isObject(item)) return undefined;
  return old.find((other) => isObject(other) && keys.every((key) => jsonEqual(other[key], item[key])));
}

/** Errors of lists of type set and map: what stands in them twice. The server looks for them apart from the schema. */
export function listErrors(value: Json | undefined, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (Array.isArray(value)) {
    errors.push(...duplicates(value, schema, path));
    const { items } = schema;
    if (items !== undefined) {
      value.forEach((item, i) => errors.push(...listErrors(item, items, `${path}[${i}]`)));
    }
  } else if (isObject(value)) {
    const extra = isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined;
    for (const [key, item] of Object.entries(value)) {
      const property = schema.properties?.[key] ?? extra;
      if (property !== undefined) {
        errors.push(...listErrors(item, property, path === "" ? key : `${path}.${key}`));
      }
    }
  }
  return errors;
}

function duplicates(value: Json[], schema: Schema, path: string): FieldError[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return [];
  const odd = type === "map" ? value.findIndex((item) => item !== null && !isObject(item)) : -1;
  if (odd >= 0) {
    return [invalidValue(`${path}[${odd}]`, value[odd]!, "must be an object for an array of list-type map")];
  }
  const errors: FieldError[] = [];
  const times = new Map<string, number>();
  value.forEach((item, i) => {
    const text = JSON.stringify(type === "map" ? keysOf(item, schema) : item);
    const seen = times.get(text) ?? 0;
    times.set(text, seen + 1);
    if (seen !== 1) return; // each is told once, where it stands for the second time
    errors.push({ type: "FieldValueDuplicate", field: `${path}[${i}]`, message: `Duplicate value: ${text}` });
  });
  return errors;
}

function keysOf(item: Json, schema: Schema): JsonObject {
  const keys: JsonObject = {};
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const value = isObject(item) ? item[key] : undefined;
    if (value !== undefined) keys[key] = value;
  }
  return keys;
}

function checkObject(
  value: JsonObject,
  schema: Schema,
  path: string,
  errors: FieldError[],
  old: JsonObject | undefined,
): void {
  const size = Object.keys(value).length;
  if (schema.maxProperties !== undefined && size > schema.maxProperties) {
    errors.push(tooMany(path, size, schema.maxProperties));
  }
  if (schema.minProperties !== undefined && size < schema.minProperties) {
    const text = `${path} in body should have at least ${schema.minProperties} properties`;
    errors.push(invalidValue(at(path), size, text));
  }
  const child = (key: string) => path === "" ? key : `${path}.${key}`;
  for (const key of schema.required ?? []) {
    if (value[key] === undefined) errors.push(requiredValue(child(key)));
  }
  const extra = isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined;
  for (const [key, item] of Object.entries(value)) {
    const property = schema.properties?.[key] ?? extra;
    if (property !== undefined && item !== undefined) {
      errors.push(...validate(item, property, child(key), old?.[key]));
    }
  }
}
